"""A kernel machine that is smooth among nearby rows, including rows without a label."""

from typing import NamedTuple

from driftway.learners.contract import (
    Array,
    Counts,
    Learner,
    ParameterError,
    Parameters,
    UpdateRule,
    check_decay,
    field,
    fragment,
    integer,
    kernel,
    number,
    part,
    scratch,
)
from driftway.learners.numeric.symmetric import matvec
from driftway.learners.windows.gaussian import GaussianRing, append_row, usable, weigh_near
from driftway.learners.windows.ring import rows_in, slot_of_next

STEEPEST = 0.25
"""Largest eta lam2: beyond it a step may overshoot the mean of the neighbours, and coefficients grow."""


class OMR(Learner):
    """Rows that lie close together should have scores close together, whether or not their labels ever come.

    The score is the sum of a_i k(x_i, x) over the last `tau` rows, k(x, z) = exp(-gamma |x - z|^2). Each learned
    row multiplies all a by 1 - eta lam1 and is added with a = eta y if it has a label and y s < 1, else 0. Then each
    pair is pulled together with the graph weights g = k^10 and the previous scores f_i and s: with
    delta = 2 eta lam2 / n (f_i - s) g(x_i, x), a_i loses delta and the row gains it. Experimental: rows without a label
    hardly ever help, and labels older than tau rows of either kind are forgotten.

    Cost
    ----
    O(tau d + tau^2) per row learned, O(tau d) per score; 8 tau (tau + d + 3) + 16 bytes.

    Source
    ------
    Goldberg, Li and Zhu, Online Manifold Regularization, PKDD 2008. docs/algorithms/other_tasks.md#omr. Differs: the
    sum over the buffer is divided by its number of rows n, else coefficients would grow for ever; a labelled row is not
    weighted by T / l. A row without a label is one whose wait for a label has timed out (`--label-wait`), not a row of
    a third class; it is learned then, and other rows without a label are only predicted.
    """

    name = "omr"
    tasks = ("binary",)

    class Params(Parameters):
        tau: int = integer(300, "Number of stored rows.", at_least=1, at_most=5000)
        gamma: float = number(0.0, "Coefficient of the kernel; 0 = 1 / number of features.", at_least=0.0)
        eta: float = number(0.1, "Step size.", above=0.0)
        lam1: float = number(0.01, "Decay, eta lam1 < 1.", at_least=0.0)
        lam2: float = number(1.0, "Pull between neighbours, eta lam2 <= 0.25; 0: only labels count.", at_least=0.0)

        def __post_init__(self) -> None:
            super().__post_init__()
            check_decay(self, "eta", "lam1")
            if not self.eta * self.lam2 <= STEEPEST:
                raise ParameterError(f"lam2 must be <= 0.25/eta = {STEEPEST / self.eta:g}, got {self.lam2}")

    def rule(self) -> UpdateRule:
        p = self.parameters
        given = OMRNumbers(p.gamma or 1.0 / self.n_features, False, p.eta, 1.0 - p.eta * p.lam1, 2.0 * p.eta * p.lam2)
        return UpdateRule(score, learn, given, OMRState, {"R": p.tau}, learn_unlabelled=learn_unlabelled)


class OMRNumbers(NamedTuple):
    """Parameters of the kernel."""

    gamma: float
    intercept: bool
    """Whether k has a constant; always False."""
    eta: float
    keep: float
    """1 - eta lam1, the factor by which a row shrinks the coefficients."""
    pull: float
    """2 eta lam2."""


class OMRState(NamedTuple):
    """State of `omr`."""

    coefficient: Array = field("f8[R]", "a of each row in the ring")
    ring: GaussianRing = part(GaussianRing, "the last rows; Y is 0 of those without a label")
    skipped: Counts = field("i8[1]", "rows to learn from whose squared length was not finite")
    value: Array = scratch("f8[R]", "f_i, the score of each row in the ring")


@fragment
def score(x: Array, p: OMRNumbers, memory: OMRState) -> float:
    """The sum of a_i k(x_i, x); leaves the kernel values. Shapes: x f8[d]."""
    n, total = weigh_near(x, p, memory.ring), 0.0
    for i in range(n):
        total += memory.coefficient[i] * memory.ring.near[i]
    return total


@fragment
def learn(x: Array, y: float, _omega: float, s: float, p: OMRNumbers, memory: OMRState) -> None:
    """Learn a labelled row. Shapes: x f8[d]."""
    smooth(x, y, s, p.eta * y if y * s < 1.0 else 0.0, p, memory)


@fragment
def learn_unlabelled(x: Array, s: float, p: OMRNumbers, memory: OMRState) -> None:
    """Learn a row without a label. Shapes: x f8[d]."""
    smooth(x, 0.0, s, 0.0, p, memory)


@kernel
def smooth(x: Array, y: float, s: float, own: float, p: OMRNumbers, memory: OMRState) -> None:
    """Pull the scores of the row and its neighbours together, and store the row in place of the oldest.

    Shapes: x f8[d]. docs/algorithms/other_tasks.md#omr; uses the kernel values left by `score`. Empty slots have
    coefficient 0.
    """
    coefficient, ring, value = memory.coefficient, memory.ring, memory.value
    if not usable(x):
        memory.skipped[0] += 1
        return
    n = rows_in(ring)
    matvec(ring.block, coefficient, value)
    for i in range(n):
        squared = ring.near[i] * ring.near[i]
        fourth = squared * squared
        delta = p.pull / n * (value[i] - s) * (fourth * fourth * squared)
        coefficient[i] = p.keep * coefficient[i] - delta
        own += delta
    slot = slot_of_next(ring)
    append_row(x, y, p, ring)
    coefficient[slot] = own
