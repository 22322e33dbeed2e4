"""No kernel or generator uses exp, log, sin or powers of the C library or numpy: docs/decisions/0021."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import pytest

from tests.meta.sources import files, nodes, place

LIBRARIES = ("math", "cmath", "np", "numpy")
FUNCTIONS = (
    "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "logaddexp", "logaddexp2", "sin", "cos", "tan", "sinc",
    "sinh", "cosh", "tanh", "asin", "acos", "atan", "atan2", "asinh", "acosh", "atanh", "arcsin", "arccos", "arctan",
    "arctan2", "arcsinh", "arccosh", "arctanh", "pow", "power", "float_power", "cbrt", "hypot", "erf", "erfc", "gamma",
    "lgamma", "dist", "emath", "einsum", "dot", "matmul", "vdot", "inner", "tensordot",
)  # fmt: skip
"""Transcendental functions, and products whose summation order or fused operations depend on the machine."""

REPORTS = {
    "learners/hindsight/comparators.py": "batch solvers for regret: BLAS, with a proven gap of 1e-6",
    "learners/hindsight/regret.py": "the costs of such solutions",
    "learners/hindsight/odm_batch.py": "a batch comparator, solved to a tolerance by BLAS",
    "producers/sinks/latency.py": "a histogram of measured times",
    "producers/load_profiles.py": "when rows leave, not what is in them",
}
"""File -> why it is exempt: it computes no score, state or row."""


def whole_number(node: ast.expr) -> bool:
    """Whether an exponent is a small integer constant, which numba expands to multiplications."""
    return isinstance(node, ast.Constant) and isinstance(node.value, int) and 0 <= node.value <= 4


def constant(node: ast.expr) -> bool:
    """Whether an exponent is an integer constant, as in 2**53 or 2.0**-53."""
    exponent = node.operand if isinstance(node, ast.UnaryOp) else node
    return isinstance(exponent, ast.Constant) and isinstance(exponent.value, int)


def foreign(module: Iterable[ast.AST]) -> list[str]:
    """`line name` of each use of FUNCTIONS, of `**` except exact cases, and of `@`."""
    found = []
    for node in module:
        if isinstance(node, ast.Attribute) and getattr(node.value, "id", "") in LIBRARIES and node.attr in FUNCTIONS:
            found.append(f"{node.lineno} {node.attr}")
        if isinstance(node, ast.ImportFrom) and node.module in ("math", "cmath", "numpy"):
            found += [f"{node.lineno} {alias.name}" for alias in node.names if alias.name in FUNCTIONS]
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow):
            literal = isinstance(node.left, ast.Constant) and (
                constant(node.right) or (isinstance(node.left.value, int) and not isinstance(node.right, ast.Constant))
            )
            if not literal and not whole_number(node.right):
                found.append(f"{node.lineno} **")
        if isinstance(node, ast.BinOp | ast.AugAssign) and isinstance(node.op, ast.MatMult):
            found.append(f"{node.lineno} @")
        if isinstance(node, ast.Name) and node.id == "pow":
            found.append(f"{node.lineno} pow")
    return found


@cache
def used(path: Path) -> list[str]:
    return foreign(nodes(path))


def test_kernels_and_generators_use_the_own_functions() -> None:
    found = [
        f"{place(path)}:{what}"
        for path in files("learners", "producers")
        if place(path) not in REPORTS
        for what in used(path)
    ]
    assert found == []


def test_every_exception_is_still_needed() -> None:
    needed = {place(path) for path in files("learners", "producers") if used(path)}
    assert needed == set(REPORTS)


@pytest.mark.parametrize(
    "text",
    [
        "math.exp(x)", "np.log(x)", "numpy.sin(x)", "from math import erfc", "x ** 0.5", "x ** p", "2.0 ** x",
        "pow(x, p)", "a @ b", "a @= b", "np.dot(a, b)", "np.einsum('i,i', a, b)", "f = math.tanh", "x ** -1",
        "0.5 ** k",
    ],
)  # fmt: skip
def test_the_check_finds_forbidden_functions(text: str) -> None:
    assert foreign(ast.walk(ast.parse(text)))


@pytest.mark.parametrize("text", ["math.sqrt(x)", "exp(x)", "power(x, p)", "x ** 2", "2**64", "2.0**-53", "2**i"])
def test_the_check_accepts_allowed_expressions(text: str) -> None:
    assert not foreign(ast.walk(ast.parse(text)))
