"""Adaptive regularisation of weight matrices (AROWA), for pairs of items."""

import math
from typing import NamedTuple

from driftway.learners.contract import (
    Array,
    Counts,
    Learner,
    ParameterError,
    Parameters,
    UpdateRule,
    choice,
    field,
    flag,
    fragment,
    integer,
    number,
    scratch,
)
from driftway.learners.multiclass.weight_matrix import inflate_factors, matrix_sizes, start_matrix, step_by_factors
from driftway.learners.numeric.vectors import dot
from driftway.learners.second_order.covariance import (
    COLLAPSED,
    VARIANCE_FLOOR,
    drift,
    inflate_diagonal,
    start_variance,
)


class AROWAPair(Learner):
    """Adaptive regularisation of a weight matrix that says whether the two items of a row belong together.

    The first d1 columns of a row describe item p, the others item z; class 1 means that they match. The score is
    p'W z, with a weight for every pair of features of the two. `arowa` is the same for several classes.

    With m = y p'W z, a row with m < 1 gives

    - diagonal: v = sum_ij V_ij p_i^2 z_j^2, W += (1 - m) / (v + r) y V o (p z'), V^-1 += (p z')^2 / r, o and ^2 by
      entry,
    - factored: v = vp vz with vp = p'R p and vz = z'F z, W += (1 - m) / (v + r) y (R p)(F z)',
      R^-1 += vz / (r d2) p p' and F^-1 += vp / (r d1) z z'.

    Cost
    ----
    Diagonal: O(d1 d2) per row, 16 d1 d2 + 8 bytes. Factored: O((d1 + d2)^2) per row, 8 (d1^2 + d2^2 + d1 d2) + 8 bytes.

    Source
    ------
    Crammer and Chechik, ICML 2012. docs/algorithms/multiclass.md#arowa-arowa_pair. Differs: the step of the
    factors is derived independently, drift q of docs/algorithms/conventions.md#drift-of-the-covariance, intercepts.
    """

    name = "arowa_pair"
    tasks = ("binary",)

    class Params(Parameters):
        r: float = number(1.0, "Regularisation, unit of a squared feature squared. Larger = slower.", above=0.0)
        a: float = start_variance()
        form: str = choice(
            "diag",
            ("diag", "factored"),
            "`diag`: a variance per weight; `factored`: a matrix for each of the two items.",
        )
        d1: int = integer(0, "Columns of the first item; 0 = half of them, the larger one of odd halves.", at_least=0)
        q: float = drift()
        intercept: bool = flag(True, "Append a constant 1 to both items, so that each also counts for itself.")

    @property
    def first(self) -> int:
        """Columns of the first item, without the intercept."""
        return int(self.parameters.d1) or (self.n_features + 1) // 2

    def rule(self) -> UpdateRule:
        d1, d2 = self.first + self._intercept, self.width - self.first
        if self.first > self.n_features or d2 < 1:
            raise ParameterError(f"d1 = {self.first} of {self.n_features} columns leave none for the second item")
        p = self.parameters
        learn = learn_entries if p.form == "diag" else learn_factors
        given = AROWAPairNumbers(self.first, p.r, p.a, p.q)
        return UpdateRule(match, learn, given, AROWAPairState, matrix_sizes(p.form, d1, d2), uses_weight=True)

    def initialise(self) -> None:
        start_matrix(self.state, self.parameters.a)


class AROWAPairNumbers(NamedTuple):
    """Parameters of `arowa_pair`."""

    first: int
    """Columns of the first item, without the intercept."""
    r: float
    a: float
    q: float


class AROWAPairState(NamedTuple):
    """State of `arowa_pair`; the covariance form that is not used is empty, f8[0, 0]."""

    weight: Array = field("f8[d1, d2]", "mean W of the weights, d1 and d2 with the intercepts")
    variance: Array = field("f8[entries]", "V, of every weight, [d1, d2]")
    of_rows: Array = field("f8[rows, rows]", "R, factor of item p, [d1, d1], bitwise symmetric, starts at a I")
    of_columns: Array = field("f8[columns, columns]", "F, of item z, [d2, d2], bitwise symmetric, starts at I")
    skipped: Counts = field("i8[1]", "labelled rows without a finite step, or whose variance is nil")
    p: Array = scratch("f8[d1]", "the first item of the row that was scored")
    kp: Array = scratch("f8[d1]", "R p")
    kz: Array = scratch("f8[d2]", "F z")


@fragment
def match(x: Array, given: AROWAPairNumbers, memory: AROWAPairState) -> float:
    """The score p'W z. Shapes: x f8[first + d2]; leaves the first item, with its intercept, in memory."""
    p, z = memory.p, x[given.first :]
    for i in range(p.shape[0]):
        p[i] = x[i] if i < given.first else 1.0
    s = 0.0
    for i in range(p.shape[0]):
        s += p[i] * dot(memory.weight[i], z)
    return s


@fragment
def learn_entries(x: Array, y: float, omega: float, s: float, given: AROWAPairNumbers, memory: AROWAPairState) -> None:
    """Condition each weight on the pair having margin 1 with noise r / omega.

    Shapes: x f8[first + d2]. docs/algorithms/multiclass.md#arowa-arowa_pair.
    """
    variance, p, z = memory.variance, memory.p, x[given.first :]
    d1, d2 = variance.shape
    finite = math.isfinite(s)
    if not (finite and y * s >= 1.0):
        r = given.r / omega
        kappa = 1.0 / r
        v = 0.0
        for i in range(d1):
            for j in range(d2):
                u = p[i] * z[j]
                v += variance[i, j] * u * u
        step = y * (1.0 - y * s) / (v + r)
        able = finite and COLLAPSED < v < math.inf and kappa < math.inf
        if able and step_by_entry(memory.weight, variance, p, z, step):
            for i in range(d1):
                for j in range(d2):
                    u = p[i] * z[j]
                    variance[i, j] = max(VARIANCE_FLOOR, 1.0 / (1.0 / variance[i, j] + kappa * u * u))
        else:
            memory.skipped[0] += 1
    if given.q > 0.0:
        for i in range(d1):
            inflate_diagonal(variance[i], given.q, given.a)


@fragment
def learn_factors(x: Array, y: float, omega: float, s: float, given: AROWAPairNumbers, memory: AROWAPairState) -> None:
    """As `learn_entries`, with a covariance of the features of each item. Shapes: x f8[first + d2]."""
    finite = math.isfinite(s)
    if not (finite and y * s >= 1.0):
        gap = y * (1.0 - y * s)
        if not (finite and step_by_factors(x[given.first :], gap, given.r / omega, memory)):
            memory.skipped[0] += 1
    if given.q > 0.0:
        inflate_factors(given.q, given.a, memory)


@fragment
def step_by_entry(weight: Array, variance: Array, p: Array, z: Array, step: float) -> bool:
    """Add step * variance o (p z') to `weight` unless a weight would overflow; return whether it was added.

    Shapes: weight f8[d1, d2], variance f8[d1, d2], p f8[d1], z f8[d2].
    """
    overflows = False
    for i in range(p.shape[0]):
        for j in range(z.shape[0]):
            moved = weight[i, j] + step * (variance[i, j] * (p[i] * z[j]))
            overflows |= moved - moved != 0.0
    if overflows:
        return False
    for i in range(p.shape[0]):
        for j in range(z.shape[0]):
            weight[i, j] += step * (variance[i, j] * (p[i] * z[j]))
    return True
