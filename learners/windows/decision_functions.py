"""Support vector machines that predict while their successor is trained, linear or with the Gaussian kernel."""

from typing import Any, NamedTuple

from driftway.learners.contract import Array, Counts, field, fragment, part
from driftway.learners.engine.update_loop import Fragment
from driftway.learners.linear.weights import product
from driftway.learners.numeric.random import Words
from driftway.learners.windows import gaussian, ring
from driftway.learners.windows.coordinate_descent import DualVariables, Value, by_values, by_weights
from driftway.learners.windows.gaussian import GaussianRing, weigh_near
from driftway.learners.windows.incremental_training import IncrementalTraining
from driftway.learners.windows.ring import Ring


class DecisionFunction(NamedTuple):
    """The memory of a machine, and the fragments that depend on its form."""

    memory: type[Any]
    score: Fragment
    usable: Fragment
    """``usable(x)``: whether the row can be learned from"""
    append_row: Fragment
    """``append_row(x, y, p, ring)``"""
    dual: Fragment
    """``dual(memory)``: the problem of the machine in training"""
    value: Value
    keep: Fragment
    """``keep(memory)``: store the machine in training as the best so far"""
    adopt: Fragment
    """``adopt(memory)``: predict with the best so far from now on"""


class LinearSVMState(NamedTuple):
    """Memory without a kernel."""

    weight: Array = field("f8[d]", "of the machine that predicts, d with the intercept")
    kept: Array = field("f8[d]", "of the best that was trained at the last batch's end")
    candidate: Array = field("f8[d]", "of the machine in training")
    alpha: Array = field("f8[R]", "its coefficients")
    course: IncrementalTraining = part(IncrementalTraining, "its training")
    ring: Ring = part(Ring, "the rows")
    generator: Words = field("u8[4]", "of the order of rows")
    skipped: Counts = field("i8[1]", "labelled rows whose squared length was 0 or not finite")


@fragment
def linear_dual(memory: LinearSVMState) -> DualVariables:
    """Return the problem whose vector is the candidate's weights."""
    rows = memory.ring
    return DualVariables(memory.candidate, rows.X, memory.alpha, rows.Y, rows.squared)


@fragment
def keep_weights(memory: LinearSVMState) -> None:
    """Copy the candidate's weights."""
    for j in range(memory.kept.shape[0]):
        memory.kept[j] = memory.candidate[j]


@fragment
def adopt_weights(memory: LinearSVMState) -> None:
    """Predict with the kept weights from now on."""
    for j in range(memory.kept.shape[0]):
        memory.weight[j] = memory.kept[j]


class GaussianSVMState(NamedTuple):
    """Memory with the Gaussian kernel. The ring keeps the rows of the predicting machine until it is replaced."""

    coefficient: Array = field("f8[R]", "alpha y of each row in the machine that predicts")
    kept: Array = field("f8[R]", "alpha y in the best that was trained at the last batch's end")
    value: Array = field("f8[R]", "of the machine in training at each row")
    alpha: Array = field("f8[R]", "its coefficients")
    course: IncrementalTraining = part(IncrementalTraining, "its training")
    ring: GaussianRing = part(GaussianRing, "the rows")
    generator: Words = field("u8[4]", "of the order of rows")
    skipped: Counts = field("i8[1]", "labelled rows whose squared length was not finite")


@fragment
def kernel_score(x: Array, p: Any, memory: GaussianSVMState) -> float:
    """Return the score, the sum of alpha_i y_i k(x_i, x) over the slots. Shapes: x f8[d]."""
    n = weigh_near(x, p, memory.ring)
    total = 0.0
    for i in range(n):
        total += memory.coefficient[i] * memory.ring.near[i]
    return total


@fragment
def gaussian_dual(memory: GaussianSVMState) -> DualVariables:
    """Return the problem whose vector is the candidate's values."""
    rows = memory.ring
    return DualVariables(memory.value, rows.block, memory.alpha, rows.Y, rows.squared)


@fragment
def keep_coefficients(memory: GaussianSVMState) -> None:
    """Copy the candidate's coefficients."""
    for i in range(memory.kept.shape[0]):
        memory.kept[i] = memory.alpha[i] * memory.ring.Y[i]


@fragment
def adopt_coefficients(memory: GaussianSVMState) -> None:
    """Predict with the kept coefficients from now on."""
    for i in range(memory.kept.shape[0]):
        memory.coefficient[i] = memory.kept[i]


LINEAR = DecisionFunction(
    LinearSVMState, product, ring.usable, ring.append_row, linear_dual, by_weights, keep_weights, adopt_weights
)
GAUSSIAN = DecisionFunction(
    GaussianSVMState,
    kernel_score,
    gaussian.usable,
    gaussian.append_row,
    gaussian_dual,
    by_values,
    keep_coefficients,
    adopt_coefficients,
)
FORMS = {"linear": LINEAR, "gaussian": GAUSSIAN}
