"""Bootstrap particle filter over the weights of a logistic model."""

import math
from typing import Any, NamedTuple

import numpy as np

from driftway.learners.contract import (
    Array,
    Counts,
    Learner,
    Parameters,
    UpdateRule,
    field,
    fragment,
    integer,
    intercept,
    kernel,
    number,
    scratch,
)
from driftway.learners.engine.state import State
from driftway.learners.numeric.elementary.exponential import exp
from driftway.learners.numeric.elementary.logarithm import log, log1p
from driftway.learners.numeric.random import Words, normal, seed, uniform
from driftway.learners.numeric.vectors import dot
from driftway.learners.second_order.covariance import start_variance

MOST = 27.63102111592755
"""ln((1 - 1e-12) / 1e-12), bound of the score: no class gets a probability below 1e-12."""

FAR = 700.0
"""Bound of a particle's margin: exp overflows from 710 on."""


class ParticleFilterParameters(Parameters):
    """Parameters of `particle_filter` and `ossl_gap`."""

    prior_var: float = start_variance()
    q: float = number(
        0.001,
        "Drift: variance that every weight gains per learned row. With 0 no new weights appear.",
        at_least=0.0,
    )
    seed: int = integer(1, "Seed of the particles.", at_least=0, at_most=2**53)
    intercept: bool = intercept()


class ParticleFilter(Learner):
    """Tracks randomly walking weights by a swarm of particles, weighted by how well they explained the labels.

    The posterior may have any shape: after an abrupt drift some particles are already near the new weights. Expensive,
    and useful for up to about 20 features only, since the particles become too sparse with more.

    With v = the particles' weights, softmax of their log-likelihoods, the class is 1 with probability
    p = sum of v_i / (1 + exp(-w_i.x)), kept within 1e-12 and 1 - 1e-12, and s = ln(p / (1 - p)). After a label:

    - each log-likelihood loses ln(1 + exp(-y w_i.x)),
    - if 1 / sum of v_i^2 < N / 2: N particles are resampled from v, systematically,
    - each w_i gains sqrt(q) times a standard normal vector.

    Cost
    ----
    O(N d) per row, d normal numbers per particle; 8 N (d + 1) + 40 bytes.

    Source
    ------
    Gordon, Salmond and Smith, IEE Proc. F 140, 1993; Huang, Online Learning, state-space table, non-linear row.
    docs/algorithms/bayesian.md#particle_filter: logistic labels, random walk, systematic resampling below N / 2
    effective particles.
    """

    name = "particle_filter"
    tasks = ("binary",)
    link = "logistic"

    class Params(ParticleFilterParameters):
        particles: int = integer(200, "N, number of particles.", at_least=1)

    def rule(self) -> UpdateRule:
        p = self.parameters
        return UpdateRule(score, learn, p.numbers(), ParticleFilterState, {"N": p.particles})

    def initialise(self) -> None:
        scatter_first(self.parameters, self.state)


class ParticleFilterState(NamedTuple):
    """State of `particle_filter` and `ossl_gap`."""

    particle: Array = field("f8[N, d]", "guesses of the weights, d with the intercept")
    log_likelihood: Array = field("f8[N]", "of each since the last drawing, the largest 0")
    generator: Words = field("u8[4]", "of the random numbers")
    skipped: Counts = field("i8[1]", "rows to learn from on which some particle's score was not finite")
    margin: Array = scratch("f8[N]", "w_i.x, of `particle_filter` within -FAR and FAR")
    odds: Array = scratch("f8[N]", "exp(-|margin|), of `particle_filter` only")
    drawn: Array = scratch("f8[N, d]", "the particles of a drawing")


def scatter_first(p: Any, state: State) -> None:
    """Draw the initial particles of a learner whose parameters are `ParticleFilterParameters`."""
    seed(state["generator"], np.uint64(p.seed))
    scatter(state["particle"], math.sqrt(p.prior_var), state["generator"])


@fragment
def score(x: Array, _parameters: Any, memory: ParticleFilterState) -> float:
    """Return the weighted vote of all particles, or NaN if the score of one is not finite. Shapes: x f8[d]."""
    margin, odds = memory.margin, memory.odds
    finite, zeros, ones = True, 0.0, 0.0  # separate sums of p and 1 - p, because 1 - p cancels
    for i in range(margin.shape[0]):
        m = dot(memory.particle[i], x)
        finite &= math.isfinite(m)
        margin[i] = min(max(m, -FAR), FAR)
        odds[i] = exp(-abs(margin[i]))
        likely = exp(memory.log_likelihood[i]) / (1.0 + odds[i])
        ones += likely if margin[i] >= 0.0 else likely * odds[i]
        zeros += likely * odds[i] if margin[i] >= 0.0 else likely
    return min(max(log(ones / zeros), -MOST), MOST) if finite else math.nan


@fragment
def learn(_x: Array, y: float, _omega: float, s: float, p: ParticleFilter.Params, memory: ParticleFilterState) -> None:
    """Weight the particles by the label, resample if few of them matter, and move them.

    docs/algorithms/bayesian.md#particle_filter. Uses the margins that `score` left in scratch. The largest
    log-likelihood is 0.
    """
    if not math.isfinite(s):
        memory.skipped[0] += 1
        return
    weigh(y, memory)  # step 1
    move(memory.particle, memory.log_likelihood, p.q, memory.generator, memory.drawn)


@fragment
def weigh(label: float, memory: ParticleFilterState) -> None:
    """Subtract each particle's logistic loss from its log-likelihood."""
    for i in range(memory.log_likelihood.shape[0]):
        memory.log_likelihood[i] -= max(-label * memory.margin[i], 0.0) + log1p(memory.odds[i])


@kernel
def move(particle: Array, log_likelihood: Array, q: float, generator: Words, drawn: Array) -> None:
    """Subtract the largest log-likelihood from all, resample if few particles matter, and move all of them.

    Shapes: particle f8[N, d], log_likelihood f8[N], generator u8[4], drawn f8[N, d] scratch.
    docs/algorithms/bayesian.md#particle_filter.
    """
    n = log_likelihood.shape[0]
    largest = -math.inf
    for i in range(n):
        largest = max(largest, log_likelihood[i])
    for i in range(n):
        log_likelihood[i] -= largest
    if effective(log_likelihood) < 0.5 * n:  # step 2
        draw(particle, log_likelihood, uniform(generator), drawn)
    if q > 0.0:  # step 3
        scatter(particle, math.sqrt(q), generator)


@fragment
def effective(log_likelihood: Array) -> float:
    """Effective number of particles, 1 / sum of the squared weights. Shapes: log_likelihood f8[N]."""
    total, squares = 0.0, 0.0
    for i in range(log_likelihood.shape[0]):
        trust = exp(log_likelihood[i])
        total += trust
        squares += trust * trust
    return total * total / squares


@kernel
def draw(particle: Array, log_likelihood: Array, u: float, drawn: Array) -> None:
    """Resample the particles in proportion to their weights (systematic: points (u + i) / N).

    Shapes: particle f8[N, d], log_likelihood f8[N], drawn f8[N, d] scratch.
    """
    n, d = particle.shape
    total = 0.0
    for i in range(n):
        total += exp(log_likelihood[i])
    last, below = 0, exp(log_likelihood[0]) / total
    for i in range(n):
        while below < (u + i) / n and last < n - 1:
            last += 1
            below += exp(log_likelihood[last]) / total
        for j in range(d):
            drawn[i, j] = particle[last, j]
    for i in range(n):
        log_likelihood[i] = 0.0
        for j in range(d):
            particle[i, j] = drawn[i, j]


@kernel
def scatter(particle: Array, deviation: float, generator: Words) -> None:
    """Add noise to every weight of every particle, in memory order.

    Shapes: particle f8[N, d], generator u8[4].
    """
    for i in range(particle.shape[0]):
        for j in range(particle.shape[1]):
            particle[i, j] += deviation * normal(generator)
