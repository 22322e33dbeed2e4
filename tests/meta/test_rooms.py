"""The rooms of the worker: who may look into which, no circle at any level, and no room over a dozen entries."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path

import pytest

from tests.meta.sources import ROOT, files, imports, module

MOST_ENTRIES = 12

MAY_LOOK_INTO = {
    "errors": set(),
    "processes": {"errors"},
    "wire": {"errors"},
    "warm_start": {"errors", "wire"},
    "kafka": {"errors", "wire"},
    "drawing": {"errors"},
    "settings": {"errors", "wire", "warm_start", "kafka"},
    "state": {"errors", "wire", "warm_start", "kafka", "settings"},
    "runtime": {"errors", "processes", "wire", "kafka", "settings", "state"},
    "cli": {"errors", "wire", "warm_start", "kafka", "settings", "state", "runtime"},
    "lab": {"errors", "processes", "wire", "warm_start", "kafka", "settings", "state", "drawing", "cli"},
    "tools": {"errors", "wire", "warm_start", "kafka", "settings", "state", "runtime", "drawing", "cli"},
}
"""Room, or module at the worker's top -> what of the worker it may import, lazily and for type checks too."""


@cache
def modules() -> dict[str, Path]:
    """Dotted name -> file, of everything in the worker."""
    return {module(path): path for path in files("worker")}


def arrows(imported: Mapping[str, Iterable[tuple[int, str]]]) -> set[tuple[str, str]]:
    """(module, module that it imports), of module -> (line, name); `from a import b` names a on the way to b."""
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
def of_the_worker() -> frozenset[tuple[str, str]]:
    return frozenset(arrows({name: imports(path) for name, path in modules().items()}))


def within_room(room: str, found: Iterable[tuple[str, str]]) -> dict[str, set[str]]:
    """Entry of a room -> the others that it, or anything in it, imports; a room's own `__init__` is an entry too."""

    def entry(name: str) -> str | None:
        if name == room:
            return "__init__"
        return name.removeprefix(f"{room}.").partition(".")[0] if name.startswith(f"{room}.") else None

    graph: dict[str, set[str]] = {}
    for here, there in found:
        a, b = entry(here), entry(there)
        if a and b and a != b:
            graph.setdefault(a, set()).add(b)
            graph.setdefault(b, set())
    return graph


def circle(graph: Mapping[str, set[str]]) -> list[str]:
    """The entries that are left when everything that imports nothing left is taken away, again and again."""
    left = dict(graph)
    while gone := {name for name, wanted in left.items() if not wanted & left.keys()}:
        left = {name: wanted for name, wanted in left.items() if name not in gone}
    return sorted(left)


def rooms(names: Iterable[str]) -> list[str]:
    """Every folder of the worker, by its dotted name."""
    return sorted({name.rpartition(".")[0] for name in names if "." in name})


def entries(room: str, names: Iterable[str]) -> set[str]:
    return {name.removeprefix(f"{room}.").partition(".")[0] for name in names if name.startswith(f"{room}.")}


def forbidden(found: Iterable[tuple[str, str]]) -> list[str]:
    wrong = []
    for here, there in found:
        a, b = (name.removeprefix("worker.").partition(".")[0] for name in (here, there))
        if here != "worker" and a != b and b not in MAY_LOOK_INTO.get(a, set()):
            wrong.append(f"{here} imports {there}")
    return sorted(wrong)


def test_arrows_between_rooms_are_those_of_the_table() -> None:
    assert forbidden(of_the_worker()) == []


def test_the_table_names_every_room_and_has_no_circle() -> None:
    assert entries("worker", modules()) == set(MAY_LOOK_INTO)
    assert circle(MAY_LOOK_INTO) == []


def test_the_table_allows_nothing_that_nobody_needs() -> None:
    used = within_room("worker", of_the_worker())
    assert {room: spare for room, allowed in MAY_LOOK_INTO.items() if (spare := allowed - used[room])} == {}


@pytest.mark.parametrize("room", rooms(modules()))
def test_no_circle_inside_a_room(room: str) -> None:
    # At every level, so that there is none between modules either: the folder where two ways part has it.
    assert circle(within_room(room, of_the_worker())) == []


@pytest.mark.parametrize("room", rooms(modules()))
def test_no_room_over_a_dozen_entries(room: str) -> None:
    assert len(entries(room, modules())) <= MOST_ENTRIES


def test_the_checks_can_fail() -> None:
    names = (
        "worker",
        "worker.wire",
        "worker.wire.codec",
        "worker.wire.events",
        "worker.runtime",
        "worker.runtime.loop",
    )
    found = arrows(
        {name: [] for name in names}
        | {
            "worker.wire.codec": [
                (1, "worker.runtime.loop"),
                (1, "worker.runtime.loop.Worker"),
                (2, "worker.wire.events"),
            ],
            "worker.wire.events": [(1, "worker.wire"), (1, "worker.wire.codec")],
            "worker.runtime.loop": [(1, "worker.wire.codec.encode"), (2, "json")],
        }
    )
    assert ("worker.wire.events", "worker.wire") not in found
    assert forbidden(found) == ["worker.wire.codec imports worker.runtime.loop"]
    assert circle(within_room("worker", found)) == ["runtime", "wire"]
    assert circle(within_room("worker.wire", found)) == ["codec", "events"]
    assert circle({"a": {"b"}, "b": {"c"}, "c": set()}) == []
    assert len(entries("worker.wire", [f"worker.wire.m{i}" for i in range(13)])) > MOST_ENTRIES


def test_the_walk_sees_every_kind_of_import() -> None:
    found = of_the_worker()
    assert ("worker.runtime.loop", "worker.runtime.partition.task") in found
    assert ("worker.wire.events", "worker.wire.scanner") in found  # for type checks only
    assert ("worker.cli.worker", "worker.runtime.loop") in found  # inside a function
    assert (ROOT / "worker").is_dir()
