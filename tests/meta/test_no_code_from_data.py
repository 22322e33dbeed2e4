"""Data is never executed: no pickle or similar modules, no evaluation of text, no shell."""

from __future__ import annotations

import ast
from collections.abc import Iterable

import pytest

from tests.meta.sources import files, imports, nodes, place, within

MODULES = (
    "pickle", "_pickle", "cPickle", "dill", "cloudpickle", "joblib", "marshal", "shelve", "dbm", "yaml", "copyreg",
    "runpy", "code", "codeop", "jsonpickle",
)  # fmt: skip
"""Modules that must not be imported, as they can execute the data they read."""
NAMES = ("eval", "exec", "compile", "__import__", "execfile")
"""Functions that must not be called, neither directly nor through `builtins`."""
METHODS = ("os.system", "os.popen", "yaml.load", "yaml.unsafe_load", "pd.read_pickle", "pandas.read_pickle")
FLAGS = ("allow_pickle", "shell")
"""Keyword arguments that must be the constant False if given."""


def dotted(node: ast.expr) -> str:
    """`a.b.c` of a name or an attribute; empty for anything else."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        return f"{dotted(node.value)}.{node.attr}"
    return ""


def dangerous(call: ast.Call) -> str:
    """Why a call is forbidden; empty if it is allowed."""
    name = dotted(call.func)
    if name in NAMES or name in METHODS or name.removeprefix("builtins.") in NAMES:
        return name
    for keyword in call.keywords:
        off = isinstance(keyword.value, ast.Constant) and keyword.value.value is False
        if keyword.arg in FLAGS and not off:
            return f"{name}({keyword.arg}=...)"
        if keyword.arg == "dtype" and isinstance(keyword.value, ast.Name) and keyword.value.id == "object":
            return f"{name}(dtype=object)"
    return ""


def calls(found: Iterable[ast.AST]) -> list[ast.Call]:
    return [node for node in found if isinstance(node, ast.Call)]


def test_no_module_that_deserializes_objects_is_imported() -> None:
    """Only the cache of machine code does it, which is executed anyhow, from a private folder."""
    found = [f"{place(p)} {name}" for p in files() for _, name in imports(p) if within(name, MODULES)]
    assert found == ["learners/engine/kernel_cache.py pickle"]


def test_no_call_executes_data() -> None:
    found = [f"{place(p)}:{c.lineno} {dangerous(c)}" for p in files() for c in calls(nodes(p)) if dangerous(c)]
    assert found == []


@pytest.mark.parametrize(
    "text",
    [
        "eval('1')", "exec(x)", "builtins.eval(x)", "compile(x, '', 'exec')", "__import__('os')", "yaml.load(f)",
        "np.load(f, allow_pickle=True)", "numpy.load(f, allow_pickle=flag)", "subprocess.run(x, shell=True)",
        "os.system(x)", "np.frombuffer(b, dtype=object)",
    ],
)  # fmt: skip
def test_the_check_finds_forbidden_calls(text: str) -> None:
    (call, *_) = calls(ast.walk(ast.parse(text)))
    assert dangerous(call)


@pytest.mark.parametrize("text", ["np.load(f)", "np.load(f, allow_pickle=False)", "re.compile(x)", "model.eval(x)"])
def test_the_check_accepts_allowed_calls(text: str) -> None:
    (call, *_) = calls(ast.walk(ast.parse(text)))
    assert not dangerous(call)
