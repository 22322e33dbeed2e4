"""Dynamic optimal margin distribution machine (D-ODM)."""

import math
from typing import Any, NamedTuple

from driftway.learners.contract import (
    Array,
    Counts,
    Learner,
    ParameterError,
    UpdateRule,
    choice,
    field,
    fragment,
    integer,
    number,
    scratch,
)
from driftway.learners.margin_distribution.expert_weights import (
    ADAHEDGE,
    DOUBLING,
    FIRST_BLOCK,
    FIRST_GAP,
    HORIZON,
    RATES,
    add_losses,
    block_length,
    clip_to_median,
    exponential_weights,
    largest_of,
    learning_rate,
    mixability_gap,
)
from driftway.learners.margin_distribution.loss import MarginLoss, longest_safe_step, odm_loss, odm_step
from driftway.learners.numeric.elementary.logarithm import log, log1p, log2
from driftway.learners.numeric.vectors import dot

MAX_CANDIDATES = 48
"""Most candidates without a horizon: the last one starts at row 2^46, after 22 years at 100 000 rows per second."""

NEVER = 0
"""Epoch length that never restarts: rows of an epoch are counted from 1, so none has this number."""

LONGEST_EPOCH = 2.0**62
MOST_LOSS = 1e280
"""Cap of a loss; a sum of 1e27 such losses is finite."""


def epochs_of(horizon: int, C: float, V_T: float) -> list[int]:
    """The paper's set P: geometric epochs up to sqrt(T / V_T), or up to T if V_T is unknown (0).

    Sizes are rounded up to whole rows; there are N = ceil(log2(2 C T / V_T) / 2) + 1 before duplicates are removed.
    """
    longest = log2(2.0 * C) / 2.0 + ((log2(float(horizon)) - log2(V_T)) / 2.0 if V_T > 0.0 else log2(float(horizon)))
    size, sizes = math.sqrt(1.0 / (2.0 * C)), []
    for _ in range(max(1, math.ceil(longest) + 1)):
        sizes.append(max(1, math.ceil(min(size, LONGEST_EPOCH))))
        size *= 2.0
    return list(dict.fromkeys(sizes))


class DODM(Learner):
    """Online ODMs that restart after 1, 2, 4, 8 .. rows and one that never does, weighted by their losses so far.

    However fast the concept drifts, some candidate's memory is about as long as it should be: for losses that vary by V
    over T rows the regret grows as sqrt(T V), with V unknown. Choose it if nothing is known about the drift.

    Cost
    ----
    O(N d) per row with N <= log2(t) + 2; 48 (8 d + 40) + 40 bytes, or the grid's N in place of 48.

    Source
    ------
    Zhang, Zhao and Jin, AAAI 2020, Algorithms 1 and 2; the anytime rate is Cesa-Bianchi and Lugosi's, 2006, section
    2.3, AdaHedge de Rooij, van Erven, Grunwald and Koolen's, JMLR 2014. docs/algorithms/margin_distribution.md#d_odm.
    Differs: without a horizon N grows by forking; losses are divided by C, as the paper's Lemma 2 requires; candidates
    start from zero weights.
    """

    name = "d_odm"
    tasks = ("binary",)

    class Params(MarginLoss):
        rate: str = choice(
            "anytime",
            RATES,
            "Learning rate of the weights: `anytime` sqrt(8 ln N / t) / C with C the largest loss so far; `doubling`, "
            "constant in blocks of 64, 128 .. rows that forget earlier losses; `adahedge`, by how well the weights do, "
            "without C.",
        )
        meta_loss: str = choice(
            "f", ("f", "zero_one"), "Loss that sets the weights: `f` as in the paper, or mistakes, `zero_one`."
        )
        f_clip: float = number(
            0.0,
            "Losses count up to f_clip times the row's median loss; 0 = no bound. 100 keeps one outlier from making C "
            "huge; `zero_one` mistakes are bounded already, and f_clip has no effect on them.",
            at_least=0.0,
        )
        horizon: int = integer(
            0,
            "T, labelled rows of the whole stream, for the paper's own grid of epochs and its rate; 0 = unknown, the "
            "stream may be endless.",
            at_least=0,
        )
        C: float = number(100.0, "With a horizon: bound on the losses, larger ones count as C; C >= lam.", above=0.0)
        V_T: float = number(0.0, "With a horizon: total variation of the losses; 0 = unknown.", at_least=0.0)

        def __post_init__(self) -> None:
            super().__post_init__()
            if self.horizon > 0 and self.lam > self.C:
                raise ParameterError(f"C must be >= lam = {self.lam:g}, the loss of zero weights, got {self.C}")
            if self.horizon > 0 and self.rate != "anytime":
                raise ParameterError(f"rate must be anytime with a horizon, which sets its own, got {self.rate!r}")

    @property
    def _grid(self) -> list[int]:
        """Epochs of the initial candidates; without a horizon, one that never restarts."""
        p = self.parameters
        return epochs_of(p.horizon, p.C, p.V_T) if p.horizon > 0 else [NEVER]

    @property
    def _first_scale(self) -> float:
        """Initial C: 1 for mistakes, and 0 without a horizon, since it is then measured."""
        p = self.parameters
        if p.meta_loss == "zero_one":
            return 1.0
        return float(p.C) if p.horizon > 0 else 0.0

    def rule(self) -> UpdateRule:
        p = self.parameters
        n = len(self._grid) if p.horizon > 0 else MAX_CANDIDATES
        given = DODMNumbers(
            p.lam,
            p.mu,
            p.theta,
            HORIZON if p.horizon > 0 else RATES.index(p.rate),
            p.horizon,
            p.meta_loss == "zero_one",
            p.f_clip,
            p.C if p.horizon > 0 else MOST_LOSS,
            self._first_scale,
        )
        return UpdateRule(score, learn, given, DODMState, {"N": n})

    def initialise(self) -> None:
        s, grid = self.state, self._grid
        n = len(grid)
        s["candidates"][0] = n
        s["epoch"][:n] = grid
        s["log_prior"][:n] = -log1p(n - 1.0)
        s["beta"][:n] = 1.0 / n  # Algorithm 2, line 1
        s["scale"][0] = self._first_scale


class DODMNumbers(NamedTuple):
    """Parameters of `d_odm`."""

    lam: float
    mu: float
    theta: float
    rate: int
    """Learning rate, one of the four in `expert_weights`."""
    horizon: int
    zero_one: bool
    """Whether candidates are weighted by their mistakes instead of by f."""
    f_clip: float
    most: float
    """Cap of a loss."""
    first_scale: float
    """Initial C."""


class DODMState(NamedTuple):
    """State of `d_odm`. Invariant between rows: age < epoch or epoch = NEVER; beta of those in use sums to 1."""

    weight: Array = field("f8[N, d]", "a candidate's weights per row, d with the intercept; `candidates` in use")
    epoch: Counts = field("i8[N]", "rows between a candidate's restarts, Delta_i; 0 = never")
    age: Counts = field("i8[N]", "labelled rows since its last restart")
    log_prior: Array = field("f8[N]", "ln of its weight before any loss")
    loss: Array = field("f8[N]", "its cumulated loss, beyond that of the best")
    beta: Array = field("f8[N]", "its weight now, 0 if not in use")
    scale: Array = field("f8[1]", "C, or the largest loss so far")
    gap: Array = field("f8[1]", "AdaHedge's cumulated mixability gap", start=FIRST_GAP)
    candidates: Counts = field("i8[1]", "N so far", largest="N")
    learned: Counts = field("i8[1]", "t, labelled rows so far")
    skipped: Counts = field("i8[1]", "labelled rows whose square overflowed")
    s: Array = scratch("f8[N]", "the candidates' scores")
    f: Array = scratch("f8[N]", "the candidates' losses of the row")
    ordered: Array = scratch("f8[N]", "the same by size")


@fragment
def score(x: Array, _parameters: Any, memory: DODMState) -> float:
    """The weighted sum of the candidates' scores. Shapes: x f8[d]."""
    combined = 0.0
    for i in range(memory.candidates[0]):
        memory.s[i] = dot(memory.weight[i], x)  # Algorithm 2, line 3
        combined += memory.beta[i] * memory.s[i]  # line 4
    return combined


@fragment
def learn(x: Array, y: float, _omega: float, _combined: float, p: DODMNumbers, memory: DODMState) -> None:
    """Update each candidate, recompute their weights, then fork and restart those due.

    Shapes: x f8[d]. A row that would overflow counts for t and changes neither candidates nor losses.
    """
    n, t = memory.candidates[0], memory.learned[0]
    safe = longest_safe_step(dot(x, x), p.lam, p.theta)
    if safe > 0.0:
        descend(x, y, safe, p, memory)
        if p.f_clip > 0.0 and not p.zero_one:
            clip_to_median(memory.f, p.f_clip, memory.ordered, n)
        if p.rate == ADAHEDGE:
            # If the previous row forked a candidate, beta was computed with the rate for one candidate fewer.
            weighed = n - 1 if n > 1 and memory.epoch[n - 2] == t else n
            memory.gap[0] += mixability_gap(memory.beta, memory.f, rate_after(t, weighed, p, memory), n)
        memory.scale[0] = max(memory.scale[0], largest_of(memory.f, n))
        add_losses(memory.f, memory.loss, n)
    else:
        memory.skipped[0] += 1
    t += 1
    memory.learned[0] = t
    if p.rate == DOUBLING and t == block_length(t) - FIRST_BLOCK:
        memory.loss[:] = 0.0
        memory.scale[0] = p.first_scale
    # Algorithm 2, line 5.
    exponential_weights(memory.log_prior, memory.loss, rate_after(t, n, p, memory), memory.beta, n)
    for i in range(n):
        memory.age[i] += 1
    if memory.epoch[n - 1] == NEVER and t == 1 << (n - 1) and n < memory.beta.shape[0]:
        fork(t, memory)
    restart(memory)


@fragment
def descend(x: Array, y: float, safe: float, p: DODMNumbers, memory: DODMState) -> None:
    """Record each candidate's loss, then step it against the gradient of its f. Shapes: x f8[d]."""
    for i in range(memory.candidates[0]):
        weight, s = memory.weight[i], memory.s[i]
        memory.f[i] = loss_of(y * s, dot(weight, weight), p)
        odm_step(weight, x, y, s, min(1.0 / (memory.age[i] + 1), safe), True, p.lam, p)


@fragment
def loss_of(margin: float, squared: float, p: DODMNumbers) -> float:
    """The loss that weights a candidate with |w|^2 = squared: its f, at most `most`, or whether it was wrong."""
    if p.zero_one:
        return 1.0 if margin < 0.0 else 0.5 if margin == 0.0 else 0.0
    f = 0.5 * squared + p.lam * odm_loss(margin, p)
    return f if f < p.most else p.most


@fragment
def rate_after(t: int, n: int, p: DODMNumbers, memory: DODMState) -> float:
    """The learning rate of the weights of n candidates after t rows."""
    return learning_rate(p.rate, n, t, p.horizon, memory.scale[0], memory.gap[0])


@fragment
def fork(t: int, memory: DODMState) -> None:
    """Copy the candidate that never restarts, and give the original epochs of t rows.

    Until its first restart a candidate equals the one that never restarts. So the result is the same as with the grid
    1, 2, 4 .. from the start, whose k-th candidate has prior 1 / (k (k + 1)).
    """
    k = memory.candidates[0]
    top = k - 1
    for j in range(memory.weight.shape[1]):
        memory.weight[k, j] = memory.weight[top, j]
    memory.age[k], memory.loss[k] = memory.age[top], memory.loss[top]
    memory.epoch[top], memory.epoch[k] = t, NEVER
    memory.log_prior[k] = memory.log_prior[top] + log(k / (k + 1.0))
    memory.log_prior[top] -= log(k + 1.0)
    memory.beta[k] = memory.beta[top] * (k / (k + 1.0))
    memory.beta[top] /= k + 1.0
    memory.candidates[0] = k + 1


@fragment
def restart(memory: DODMState) -> None:
    """Algorithm 1, lines 2 to 4: candidates at the end of an epoch begin the next one with zero weights."""
    for i in range(memory.candidates[0]):
        if memory.age[i] == memory.epoch[i]:
            memory.weight[i, :] = 0.0
            memory.age[i] = 0
