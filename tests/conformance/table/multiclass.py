"""Rows of multiclass learners; accuracies on streams of several classes are in `test_multiclass_accuracy`."""

from __future__ import annotations

from tests.conformance.table.row import Row
from tests.support.oracle import multiclass as oracle

CONST = {"schedule": "const", "eta": 0.1}
LARGE = {"schedule": "const", "eta": 1.0}
"""With smaller steps the last rows of `one_class_only` are still wrong: see DESCENT in the table of linear learners."""

FAR = {"one_class_only": "errs once more within the last rows, on one far from those before it"}
"""`test_multiclass` shows that the next passes over the same rows make no error."""

ROWS: tuple[Row, ...] = (
    Row(
        "mc_perceptron_max",
        oracle.PerceptronMax,
        variants=({}, {"intercept": False}),
        exact=True,
        adapts=(({}, 75.0),),
        opt_out=FAR,
    ),
    Row(
        "mc_perceptron_uniform",
        oracle.PerceptronUniform,
        variants=({}, {"intercept": False}),
        exact=True,
        adapts=(({}, 75.0),),
        opt_out=FAR,
    ),
    Row(
        "mc_perceptron_sim",
        oracle.PerceptronSim,
        variants=({}, {"intercept": False}),
        exact=True,
        adapts=(({}, 75.0),),
        opt_out=FAR,
    ),
    Row(
        "mc_ogd",
        oracle.OGD,
        variants=(CONST, {"intercept": False}, {"schedule": "inv_t", "eta": 3.0, "intercept": False}),
        exact=True,
        invalid={"eta": (0.0, -0.1)},
        adapts=((CONST, 85.0),),
    ),
    Row(
        "mc_softmax",
        oracle.Softmax,
        variants=(LARGE, {"intercept": False}, {**CONST, "intercept": False}),
        invalid={"eta": (0.0, -0.1)},
        adapts=((CONST, 85.0),),
    ),
    Row(
        "mc_pa",
        oracle.PA,
        variants=({}, {"intercept": False}),
        exact=True,
        adapts=(({}, 75.0),),
    ),
    Row(
        "mc_pa1",
        oracle.PA1,
        variants=({}, {"C": 2.5}, {"intercept": False}),
        exact=True,
        invalid={"C": (0.0, -0.1)},
        adapts=(({}, 80.0),),
    ),
    Row(
        "mc_pa2",
        oracle.PA2,
        variants=({"C": 0.1}, {"intercept": False}, {"C": 2.0}),
        exact=True,
        invalid={"C": (0.0, -0.1)},
        adapts=(({}, 85.0),),
    ),
    Row(
        "mc_romma",
        oracle.ROMMA,
        variants=({}, {"intercept": False}),
        exact=True,
        adapts=(({}, 75.0),),
        opt_out=FAR,
    ),
    Row(
        "mc_aromma",
        oracle.AROMMA,
        variants=({}, {"intercept": False}),
        exact=True,
        adapts=(({}, 75.0),),
    ),
)
