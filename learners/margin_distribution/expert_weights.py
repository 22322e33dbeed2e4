"""Weights of experts from their losses: exponentially weighted averages and their learning rates.

Weights are recomputed from cumulative losses in logarithms, since products of weights would underflow.
"""

import math

from driftway.learners.contract import Array, fragment
from driftway.learners.numeric.elementary.exponential import exp
from driftway.learners.numeric.elementary.logarithm import log

RATES = ("anytime", "doubling", "adahedge")
ANYTIME, DOUBLING, ADAHEDGE, HORIZON = range(4)
FIRST_GAP = 1e-12
"""Initial cumulative gap of AdaHedge, whose rate is ln N / gap."""

FIRST_BLOCK = 64
"""Rows in the first block of the doubling trick."""


@fragment
def exponential_weights(log_prior: Array, loss: Array, rate: float, beta: Array, n: int) -> None:
    """beta_i = p_i exp(-rate loss_i), divided by their sum, over the first n experts.

    Shapes: log_prior f8[N], loss f8[N], beta f8[N].
    """
    largest = -math.inf
    for i in range(n):
        beta[i] = log_prior[i] - rate * loss[i]
        largest = max(largest, beta[i])
    total = 0.0
    for i in range(n):
        beta[i] = exp(beta[i] - largest)
        total += beta[i]
    for i in range(n):
        beta[i] /= total


@fragment
def add_losses(f: Array, loss: Array, n: int) -> None:
    """Add a row's losses, then subtract those of the best expert: only differences matter, and they stay small.

    Shapes: f f8[N], loss f8[N].
    """
    least = math.inf
    for i in range(n):
        loss[i] += f[i]
        least = min(least, loss[i])
    for i in range(n):
        loss[i] -= least


@fragment
def mixability_gap(beta: Array, f: Array, eta: float, n: int) -> float:
    """AdaHedge's gap: the mean loss minus the mix loss, -ln(sum of beta_i exp(-eta f_i)) / eta.

    Shapes: beta f8[N], f f8[N].
    """
    least = math.inf
    for i in range(n):
        least = min(least, f[i])
    mean, mixed = 0.0, 0.0
    for i in range(n):
        mean += beta[i] * (f[i] - least)
        mixed += beta[i] * exp(-eta * (f[i] - least))
    return max(0.0, mean + log(mixed) / eta) if mixed > 0.0 else mean


@fragment
def clip_to_median(f: Array, most: float, ordered: Array, n: int) -> None:
    """Clip losses to `most` times the row's median, so that one outlier does not set the scale for all experts.

    Shapes: f f8[N], ordered f8[N] scratch.
    """
    for i in range(n):
        place = i
        while place > 0 and ordered[place - 1] > f[i]:
            ordered[place] = ordered[place - 1]
            place -= 1
        ordered[place] = f[i]
    bound = most * 0.5 * (ordered[(n - 1) // 2] + ordered[n // 2])
    for i in range(n):
        f[i] = min(f[i], bound)


@fragment
def block_length(t: int) -> int:
    """Length of the block that contains row t (from 0); blocks of 64, 128, 256 .. rows begin at rows 0, 64, 192 .."""
    length = FIRST_BLOCK
    while t >= 2 * length - FIRST_BLOCK:
        length *= 2
    return length


@fragment
def learning_rate(rate: int, n: int, t: int, horizon: int, scale: float, gap: float) -> float:
    """Learning rate of the weights after t rows: epsilon / C, where epsilon = sqrt(8 ln N / T).

    T is the horizon, the block's length or t itself. For AdaHedge it is ln N / gap with N >= 2.
    """
    if rate == ADAHEDGE:
        return log(float(max(n, 2))) / gap
    rows = t
    if rate == HORIZON:
        rows = horizon
    elif rate == DOUBLING:
        rows = block_length(t)
    return math.sqrt(8.0 * log(float(n)) / rows) / scale if scale > 0.0 else 0.0


@fragment
def largest_of(f: Array, n: int) -> float:
    """The largest of the first n losses. Shapes: f f8[N]."""
    largest = 0.0
    for i in range(n):
        largest = max(largest, f[i])
    return largest
