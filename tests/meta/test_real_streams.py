"""Tests find real streams only through `tests.support.real_streams`, and use no other files outside the checkout.

A folder beside the checkout exists on the developers' machines only; tests that need it fail everywhere else.
"""

from __future__ import annotations

import ast
import re

import pytest

from tests.meta.sources import ROOT, files, place, text, tree

ONE_WAY = "tests/support/real_streams.py", "tests/conftest.py", "tests/meta/test_real_streams.py"
"""Exempt files: the fixture, the check of DRIFTWAY_DATA, and the examples below."""
ENVIRONMENT = re.compile(r"\b(environ\b|getenv\()")
VARIABLE = re.compile(rf"{ENVIRONMENT.pattern}.*(DRIFTWAY_DATA|DATA_VARIABLE)")
WORDS = re.compile(r"data_folder|find_file|folder_files|shared|\.\./|parents|ROOT\.parent|DRIFTWAY_DATA|DATA_VARIABLE")
"""One of them stands in every file that `other_ways` finds something in; others need not be parsed."""
LOOKED_UP_BY = {"data_folder", "find_file", "folder_files"}
"""Functions of `driftway.producers.streams.files` that search the folder named by DRIFTWAY_DATA."""


def above(node: ast.AST, depth: int) -> bool:
    """Whether an expression is a folder above the checkout, in a file `depth` folders below its root."""
    if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Attribute) and node.value.attr == "parents":
        steps = node.slice.value if isinstance(node.slice, ast.Constant) else 0
        return "__file__" in ast.unparse(node.value) and isinstance(steps, int) and steps > depth
    return isinstance(node, ast.Attribute) and node.attr == "parent" and ast.unparse(node.value) == "ROOT"


def is_environment(node: ast.AST) -> bool:
    """Whether a node names the environment."""
    return {getattr(node, "attr", ""), getattr(node, "id", "")} & {"environ", "getenv"} != set()


def other_ways(module: ast.Module, depth: int) -> list[str]:
    """Expressions of a file that lead to real streams or out of the checkout."""
    everything = list(ast.walk(module))
    found, asks_environment = [], any(map(is_environment, everything))
    for node in everything:
        if isinstance(node, ast.ImportFrom):
            found += [alias.name for alias in node.names if alias.name in LOOKED_UP_BY]
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            if re.search(r"(^|/)shared(/|$)|\.\./", node.value):
                found.append(node.value)
        elif above(node, depth) or (
            asks_environment
            and isinstance(node, ast.Call | ast.Subscript)
            and VARIABLE.search(ast.unparse(node)) is not None
        ):
            found.append(ast.unparse(node))
    return found


def test_no_test_looks_for_real_streams_by_itself() -> None:
    looked = [path for path in files("tests") if place(path) not in ONE_WAY]
    assert len(looked) > 300
    suspects = [path for path in looked if WORDS.search(text(path))]
    found = {place(path): other_ways(tree(path), len(path.relative_to(ROOT).parents) - 1) for path in suspects}
    assert {path: ways for path, ways in found.items() if ways} == {}


@pytest.mark.parametrize(
    "line",
    [
        'DATA = os.environ.get("DRIFTWAY_DATA", str(Path(__file__).parents[3] / "shared" / "data"))',
        'DATA = Path(__file__).resolve().parents[3] / "data"',
        "DATA = Path(os.environ[DATA_VARIABLE])",
        'open_stream("../shared/data/sea.csv.gz")',
        "from driftway.producers.streams.files import find_file",
        'DATA = ROOT.parent / "streams"',
    ],
)
def test_the_check_finds_every_other_way(line: str) -> None:
    assert WORDS.search(line)
    assert other_ways(ast.parse(line), depth=2) != []


@pytest.mark.parametrize(
    "line",
    [
        "ROOT = Path(__file__).parents[2]",
        'CliRunner(env={"DRIFTWAY_DATA": None})',
        'monkeypatch.delenv("DRIFTWAY_DATA", raising=False)',
        '"a shared topic"',
    ],
)
def test_the_check_accepts_paths_inside_the_checkout(line: str) -> None:
    assert other_ways(ast.parse(line), depth=2) == []
