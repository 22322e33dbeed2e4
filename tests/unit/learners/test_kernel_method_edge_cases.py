"""Kernel learners equal their oracles with parameters that learn too little for the conformance table."""

from __future__ import annotations

import numpy as np
import pytest

from driftway import learners
from tests.conformance.checks import scores
from tests.conformance.rows import rows
from tests.conformance.table import kernel_methods
from tests.support.oracle.protocol import run

POLY = {"kernel": "poly", "budget": 15}
ORACLES = {row.name: row.oracle for row in kernel_methods.ROWS}


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("kernel_norma", {"budget": 25, "alpha": 2.0, "lam": 0.4}),  # the scale falls below its bound
        ("mc_norma", {"budget": 25, "alpha": 2.0, "lam": 0.4}),
        ("kernel_alma", {"budget": 8, "B": 1.0, "rho": 1.0}),  # the norm is recomputed
        ("kernel_alma", {**POLY, "c0": 0.0, "degree": 3}),
        ("budget_perceptron", {**POLY, "rho": 0.5}),
        ("forgetron", POLY),
        ("tvm", {**POLY, "buf": 0.2}),
        ("bogd_pp", {**POLY, "degree": 3}),
        ("bpa_s", {**POLY, "C": 0.02}),
        ("nogd", {**POLY, "rank": 5, "eta": 0.005}),
        ("duol", {**POLY, "rho": 0.0}),
    ],
)
def test_equals_its_oracle(name, parameters):
    X, y = rows("binary", 300, 4, unlabelled=0.1)
    X *= 0.5
    oracle = ORACLES[name](4, 2, "binary", **parameters)
    expected = run(oracle, X.tolist(), y.tolist())
    np.testing.assert_allclose(scores(learners.create(name, 4, **parameters), X, y), expected, rtol=1e-9, atol=1e-9)
