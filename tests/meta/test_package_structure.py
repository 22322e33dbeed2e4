"""Package structure: allowed imports within the worker, no import cycles at any level, no overfull folders."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path

from tests.meta.sources import PACKAGES, ROOT, files, imports, module

MAX_ENTRIES = {"driftway.worker": 12, "driftway.workbench": 12}
"""Package -> maximum number of entries per folder."""
MAX_AT_THE_TOP_OF_LEARNERS = 32
"""Maximum number of entries, README included; folders of families have a file per learner, so no limit."""

MAY_IMPORT = {
    "errors": set(),
    "processes": {"errors"},
    "wire": {"errors"},
    "warm_start": {"errors", "wire"},
    "kafka": {"errors", "wire"},
    "plots": {"errors"},
    "settings": {"errors", "wire", "warm_start", "kafka"},
    "state": {"errors", "wire", "warm_start", "kafka", "settings"},
    "stream": {"errors", "processes", "wire", "kafka", "settings", "state"},
    "cli": {"errors", "wire", "warm_start", "kafka", "settings", "state", "stream"},
    "evaluation": {"errors", "processes", "wire", "warm_start", "kafka", "settings", "state", "plots", "cli"},
    "admin": {"errors", "wire", "warm_start", "kafka", "settings", "state", "stream", "plots", "cli", "evaluation"},
}
"""Top-level folder or module of the worker -> those it may import, also lazily or for type checking."""


@cache
def modules() -> dict[str, Path]:
    """Dotted name -> file, for all modules of the four packages."""
    return {module(path): path for path in files(*PACKAGES)}


def arrows(imported: Mapping[str, Iterable[tuple[int, str]]]) -> set[tuple[str, str]]:
    """(module, imported module), of module -> (line, name); `from a import b` means a.b if that is a module, else a."""
    found = set()
    for here, wanted in imported.items():
        for line, name in wanted:
            if any(other.startswith(f"{name}.") for at, other in wanted if at == line):
                continue
            there = name if name in imported else name.rpartition(".")[0]
            if there in imported and there != here:
                found.add((here, there))
    return found


@cache
def all_arrows() -> frozenset[tuple[str, str]]:
    return frozenset(arrows({name: imports(path) for name, path in modules().items()}))


def within_folder(folder: str, found: Iterable[tuple[str, str]]) -> dict[str, set[str]]:
    """Entry of a folder -> other entries imported by it or anything in it; `__init__` counts as an entry."""

    def entry(name: str) -> str | None:
        if name == folder:
            return "__init__"
        return name.removeprefix(f"{folder}.").partition(".")[0] if name.startswith(f"{folder}.") else None

    graph: dict[str, set[str]] = {}
    for here, there in found:
        a, b = entry(here), entry(there)
        if a and b and a != b:
            graph.setdefault(a, set()).add(b)
            graph.setdefault(b, set())
    return graph


def circle(graph: Mapping[str, set[str]]) -> list[str]:
    """Entries left after repeatedly removing those that import no remaining entry; empty without cycles."""
    left = dict(graph)
    while leaves := {name for name, imported in left.items() if not imported & left.keys()}:
        left = {name: imported for name, imported in left.items() if name not in leaves}
    return sorted(left)


def folders(names: Iterable[str]) -> list[str]:
    """Dotted names of all folders."""
    return sorted({name.rpartition(".")[0] for name in names if "." in name})


def entries(folder: str, names: Iterable[str]) -> set[str]:
    return {name.removeprefix(f"{folder}.").partition(".")[0] for name in names if name.startswith(f"{folder}.")}


def forbidden(found: Iterable[tuple[str, str]]) -> list[str]:
    wrong = []
    for here, there in found:
        if not (here.startswith("driftway.worker.") and there.startswith("driftway.worker.")):
            continue
        a, b = (name.removeprefix("driftway.worker.").partition(".")[0] for name in (here, there))
        if a != b and b not in MAY_IMPORT.get(a, set()):
            wrong.append(f"{here} imports {there}")
    return sorted(wrong)


def test_imports_between_folders_are_those_of_the_table() -> None:
    assert forbidden(all_arrows()) == []


def test_the_table_has_every_folder_and_no_cycle() -> None:
    assert entries("driftway.worker", modules()) == set(MAY_IMPORT)
    assert circle(MAY_IMPORT) == []


def test_the_table_allows_only_imports_that_exist() -> None:
    used = within_folder("driftway.worker", all_arrows())
    assert {folder: spare for folder, allowed in MAY_IMPORT.items() if (spare := allowed - used[folder])} == {}


def test_no_folder_has_an_import_cycle() -> None:
    # At every level, so that modules have no cycle either: it would show in their common folder.
    found = {folder: circle(within_folder(folder, all_arrows())) for folder in folders(modules())}
    assert {folder: names for folder, names in found.items() if names} == {}


def test_no_folder_has_too_many_entries() -> None:
    full = {folder: len(entries(folder, modules())) for folder in folders(modules())}
    most = {folder: MAX_ENTRIES.get(".".join(folder.split(".")[:2]), 1000) for folder in full}
    assert {folder: n for folder, n in full.items() if n > most[folder]} == {}


def test_the_top_of_the_learners_shows_the_contract_and_the_families() -> None:
    top = [entry for entry in (ROOT / "learners").iterdir() if entry.name != "__pycache__"]
    assert len(top) <= MAX_AT_THE_TOP_OF_LEARNERS


def test_the_checks_find_violations() -> None:
    names = (
        "driftway.worker",
        "driftway.worker.wire",
        "driftway.worker.wire.codec",
        "driftway.worker.wire.events",
        "driftway.worker.stream",
        "driftway.worker.stream.worker",
    )
    found = arrows(
        {name: [] for name in names}
        | {
            "driftway.worker.wire.codec": [
                (1, "driftway.worker.stream.worker"),
                (1, "driftway.worker.stream.worker.Worker"),
                (2, "driftway.worker.wire.events"),
            ],
            "driftway.worker.wire.events": [(1, "driftway.worker.wire"), (1, "driftway.worker.wire.codec")],
            "driftway.worker.stream.worker": [(1, "driftway.worker.wire.codec.encode"), (2, "json")],
        }
    )
    assert ("driftway.worker.wire.events", "driftway.worker.wire") not in found
    assert forbidden(found) == ["driftway.worker.wire.codec imports driftway.worker.stream.worker"]
    assert circle(within_folder("driftway.worker", found)) == ["stream", "wire"]
    assert circle(within_folder("driftway.worker.wire", found)) == ["codec", "events"]
    assert circle({"a": {"b"}, "b": {"c"}, "c": set()}) == []
    assert (
        len(entries("driftway.worker.wire", [f"driftway.worker.wire.m{i}" for i in range(13)]))
        > MAX_ENTRIES["driftway.worker"]
    )


def test_every_kind_of_import_is_found() -> None:
    found = all_arrows()
    assert ("driftway.worker.stream.worker", "driftway.worker.stream.task.task") in found
    # Under TYPE_CHECKING, and nowhere else.
    assert ("driftway.worker.stream.observability.health", "driftway.worker.stream.task.task") in found
    assert ("driftway.worker.cli.worker", "driftway.worker.stream.worker") in found  # inside a function
    assert (ROOT / "worker").is_dir()
