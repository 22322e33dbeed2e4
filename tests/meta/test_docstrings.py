"""Docstrings match the code: parameters, state, shapes of kernels; and files have names and sizes for readers."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import re
from functools import cache

import pytest

from driftway.learners.engine.state_layout import field_specs
from driftway.learners.learner import Learner
from driftway.learners.metrics.classification import ClassificationMetricsState
from driftway.learners.metrics.regression import RegressionMetricsState
from driftway.learners.metrics.rolling import create_metrics
from driftway.learners.preprocessing.standardizer import Statistics
from driftway.learners.registry import LEARNERS, find
from tests.conformance.table import Case, cases
from tests.meta.sources import KERNELS, PACKAGES, ROOT, files, nodes, place, text, tree

MAX_LINES = 400
MAX_ARGUMENTS = 6
BANNED_NAMES = {"utils", "util", "helpers", "helper", "common", "base", "core", "manager", "misc"}


def sections(docstring: str) -> dict[str, str]:
    """Section title -> body of a numpydoc docstring."""
    parts = re.split(r"^(\w+)\n-+$", inspect.cleandoc(docstring), flags=re.MULTILINE)
    return {title: body.strip("\n") for title, body in zip(parts[1::2], parts[2::2], strict=True)}


def entries(body: str) -> list[str]:
    """Names in `name : type` lines at the left margin; `a, b : int` has two."""
    lines = re.findall(r"^([\w.]+(?:, [\w.]+)*) : \S", body, flags=re.MULTILINE)
    return [name for line in lines for name in line.split(", ")]


def documented(cls: type) -> dict[str, str]:
    assert cls.__doc__, cls
    return sections(cls.__doc__)


@cache
def plain_cases() -> dict[str, list[Case]]:
    """Learner -> its cases without the standardiser."""
    found: dict[str, list[Case]] = {name: [] for name in LEARNERS}
    for case in cases():
        if not case.standardize:
            found[case.row.name].append(case)
    return found


@pytest.mark.parametrize("name", LEARNERS)
def test_each_learner_is_documented(name):
    """The class docstring has cost and source; each parameter and each array of the memory has a description."""
    cls = find(name)
    doc = documented(cls)
    assert set(doc) == {"Cost", "Source"}
    assert all(body.strip() for body in doc.values())
    for field in dataclasses.fields(cls.Params):
        text = field.metadata["bounds"].text
        assert re.fullmatch(r"[^\s].*\.", text), f"{field.name} does not say what it means: {text!r}"
    for case in plain_cases()[name]:
        assert all(one.text for one in field_specs(case.make(3).rule().memory).values()), case.label


def test_the_state_of_standardizer_and_metrics_is_documented():
    for made, memory in (
        (create_metrics("classification", 3, 3), ClassificationMetricsState),
        (create_metrics("regression", 0, 1), RegressionMetricsState),
    ):
        assert all(one.text for one in field_specs(memory).values())
        signature = [p for p in inspect.signature(type(made)).parameters if p != "self"]
        assert entries(documented(type(made))["Parameters"]) == signature
    assert all(one.text for one in field_specs(Statistics).values())


def functions(path):
    """(function, class or None) of all functions at a file's top level and in its classes."""
    for node in tree(path).body:
        if isinstance(node, ast.FunctionDef):
            yield node, None
        elif isinstance(node, ast.ClassDef):
            yield from ((f, node) for f in node.body if isinstance(f, ast.FunctionDef))


def test_kernels_state_their_shapes():
    missing = []
    for path in files("learners"):
        for node, _ in functions(path):
            if not any(getattr(d, "id", "") in KERNELS for d in node.decorator_list):
                continue
            docstring = ast.get_docstring(node) or ""
            arrays = [a.arg for a in node.args.args if "Array" in ast.unparse(a.annotation or ast.Pass())]
            if not docstring or (arrays and "hapes:" not in docstring and len(arrays) > 1):
                missing.append(f"{place(path)}:{node.lineno} {node.name}")
    assert missing == []


def test_no_kernel_takes_many_arguments():
    """Arguments that belong together are passed as one NamedTuple, as long argument lists are unreadable."""
    many = {
        f"{place(path)}:{node.lineno} {node.name}": len(node.args.args)
        for path in files("learners")
        for node, _ in functions(path)
        if {getattr(d, "id", "") for d in node.decorator_list} & {"kernel"} and len(node.args.args) > MAX_ARGUMENTS
    }
    assert many == {}


def listed(docstring: str) -> list[str]:
    """Names in a section *Parameters*, also those without a type: `settings, deadline` has two."""
    lines = re.findall(r"^(\*{0,2}\w.*?)(?: : .*)?$", sections(docstring).get("Parameters", ""), flags=re.MULTILINE)
    return [name.strip("* ") for line in lines for name in line.split(",")]


def parameters(node):
    """Parameters of a function, or of what makes an object of a class; None if a base class has them."""
    if isinstance(node, ast.ClassDef):
        made = [one for one in node.body if isinstance(one, ast.FunctionDef) and one.name == "__init__"]
        if not made:
            inherits = node.bases and ast.unparse(node.bases[0]) != "NamedTuple"
            return None if inherits else [one.target.id for one in node.body if isinstance(one, ast.AnnAssign)]
        (node,) = made
    given = node.args
    every = [*given.posonlyargs, *given.args, given.vararg, *given.kwonlyargs, given.kwarg]
    return [one.arg for one in every if one is not None and one.arg not in ("self", "cls")]


def test_documented_parameters_exist_and_functions_document_all():
    wrong = []
    for path in [*files(), *sorted((ROOT / "tests").rglob("*.py"))]:
        for node in nodes(path) if "Parameters\n" in text(path) else ():
            documented = isinstance(node, ast.FunctionDef | ast.ClassDef) and ast.get_docstring(node, clean=False)
            if not documented or "Parameters\n" not in documented or (known := parameters(node)) is None:
                continue
            names = listed(documented)
            if set(names) - set(known) or (isinstance(node, ast.FunctionDef) and set(names) != set(known)):
                wrong.append(f"{place(path)}:{node.lineno} {node.name} {sorted(set(names) ^ set(known))}")
    assert wrong == []


@pytest.mark.parametrize("package", PACKAGES)
def test_public_things_are_documented(package):
    contract = set(vars(Learner))
    missing = []
    for path in files(package):
        if not ast.get_docstring(tree(path), clean=False):
            missing.append(place(path))
        for node, owner in functions(path):
            inherited = owner is not None and (owner.bases or node.name in contract)
            public = not node.name.startswith("_") and not (owner and owner.name.startswith("_"))
            if public and not inherited and not ast.get_docstring(node, clean=False):
                missing.append(f"{place(path)}:{node.lineno} {node.name}")
    assert missing == []


def test_no_file_is_too_long():
    everything = [*files(), *sorted((ROOT / "tests").rglob("*.py"))]
    counts = {place(p): len(p.read_text(encoding="utf-8").splitlines()) for p in everything}
    assert {path: n for path, n in counts.items() if n > MAX_LINES} == {}


def test_no_module_has_a_catch_all_name():
    # Paths relative to the project, as the clone may be in a folder of any name.
    assert [place(p) for p in files() if {*place(p).removesuffix(".py").split("/")} & BANNED_NAMES] == []
