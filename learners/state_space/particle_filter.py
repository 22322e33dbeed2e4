"""Bootstrap particle filter over the weights of a logistic model."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from learners.elementary.exponential import exp
from learners.elementary.logarithm import log, log1p
from learners.jit import bare_kernel, fragment, kernel
from learners.learner import Array, Learner
from learners.parameters import Parameters, flag, integer, number
from learners.random import Words, normal, seed, uniform
from learners.state import Fields
from learners.vectors import dot

MOST = 27.63102111592755
"""ln((1 - 1e-12) / 1e-12), bound of the score: no class is ever given a probability below 1e-12."""

FAR = 700.0
"""Margin beyond which a particle is as wrong as can be: exp overflows from 710 on."""


class ParticleFilter(Learner):
    """Tracks weights that walk at random by a swarm of guesses, each trusted by how well it explained the labels.

    The posterior may have any shape: after an abrupt drift some guesses lie near the new weights already. Expensive,
    and sensible for up to about 20 features only: a swarm is too thin for more.

    With v = the particles' weights, softmax of their log-likelihoods, the class is 1 with probability
    p = sum of v_i / (1 + exp(-w_i.x)), kept within 1e-12 and 1 - 1e-12, and s = ln(p / (1 - p)). After a label:

    - each log-likelihood loses ln(1 + exp(-y w_i.x)),
    - if 1 / sum of v_i^2 < N / 2: N particles are drawn anew from v, systematically,
    - each w_i gains sqrt(q) times a standard normal vector.

    Parameters
    ----------
    particles : int
        N, particles >= 1. Default 200.
    prior_var : float
        Variance of every weight at the start, prior_var > 0. Default 1.0.
    q : float
        Drift, q >= 0: variance that every weight gains per labelled row. With 0 no new guesses appear. Default 0.001.
    seed : int
        Of the generator of guesses, 0 <= seed <= 2^53. Default 1.
    intercept : bool
        Append a constant 1 to every row. Default true.

    State
    -----
    particle : f8[N, d]         guesses of the weights, d with the intercept
    log_likelihood : f8[N]      of each since the last drawing, the largest 0
    generator : u8[4]           of the random numbers
    skipped : i8[1]             labelled rows on which some particle's score was not finite

    Cost
    ----
    O(N d) per row, d normal numbers per particle; 8 N (d + 1) + 40 bytes.

    Raises
    ------
    ParameterError
        A parameter outside its bounds, or a task other than two classes.

    Source
    ------
    Gordon, Salmond and Smith, IEE Proc. F 140, 1993; Huang, Online Learning, state-space table, non-linear row.
    ALGORITHMS.md 6: logistic labels, random walk, systematic drawing below half of N effective particles.
    """

    name = "particle_filter"
    tasks = ("binary",)
    link = "logistic"

    @dataclass(frozen=True)
    class Params(Parameters):
        particles: int = integer(200, at_least=1)
        prior_var: float = number(1.0, above=0.0)
        q: float = number(1e-3, at_least=0.0)
        seed: int = integer(1, at_least=0, at_most=2**53)
        intercept: bool = flag(True)

    def fields(self) -> Fields:
        n = self.parameters.particles
        return {
            "particle": ("f8", (n, self.width)),
            "log_likelihood": ("f8", (n,)),
            "generator": ("u8", (4,)),
            "skipped": ("i8", (1,)),
        }

    def initialise(self) -> None:
        p, s = self.parameters, self.state
        seed(s["generator"], np.uint64(p.seed))
        scatter(s["particle"], math.sqrt(p.prior_var), s["generator"])

    def _run(self, rows: Array, y: Array, score: Array) -> None:
        s = self.state
        particle, log_likelihood = s["particle"], s["log_likelihood"]
        margin, odds, drawn = np.empty_like(log_likelihood), np.empty_like(log_likelihood), np.empty_like(particle)
        views = particle, log_likelihood, s["generator"], s["skipped"], margin, odds, drawn
        particle_filter(rows, y, score, math.sqrt(self.parameters.q), *views)


@kernel
def scatter(particle: Array, deviation: float, generator: Words) -> None:
    """Add noise to every weight of every particle, in the order of memory.

    Shapes: particle f8[N, d], generator u8[4].
    """
    for i in range(particle.shape[0]):
        for j in range(particle.shape[1]):
            particle[i, j] += deviation * normal(generator)


@bare_kernel
def particle_filter(
    rows: Array,
    y: Array,
    score: Array,
    deviation: float,
    particle: Array,
    log_likelihood: Array,
    generator: Words,
    skipped: NDArray[np.int64],
    margin: Array,
    odds: Array,
    drawn: Array,
) -> None:
    """Predict by the weighted vote of all particles, then weigh them by the label, draw anew if few matter, and move.

    Shapes: rows f8[n, d], y f8[n], score f8[n, 1], particle f8[N, d], log_likelihood f8[N], generator u8[4],
    skipped i8[1]; margin f8[N], odds f8[N], drawn f8[N, d] scratch. ALGORITHMS.md 6. The largest log-likelihood is 0.
    """
    n = particle.shape[0]
    for t in range(rows.shape[0]):
        x = rows[t]
        finite, zeros, ones = True, 0.0, 0.0  # of p and 1 - p apart, because 1 - p cancels
        for i in range(n):
            m = dot(particle[i], x)
            finite &= math.isfinite(m)
            margin[i] = min(max(m, -FAR), FAR)
            odds[i] = exp(-abs(margin[i]))
            likely = exp(log_likelihood[i]) / (1.0 + odds[i])
            ones += likely if margin[i] >= 0.0 else likely * odds[i]
            zeros += likely * odds[i] if margin[i] >= 0.0 else likely
        score[t, 0] = min(max(log(ones / zeros), -MOST), MOST) if finite else 0.0
        if math.isnan(y[t]):
            continue
        if not finite:
            skipped[0] += 1
            continue
        weigh(2.0 * y[t] - 1.0, log_likelihood, margin, odds)  # step 1
        if effective(log_likelihood) < 0.5 * n:  # step 2
            draw(particle, log_likelihood, uniform(generator), drawn)
        if deviation > 0.0:  # step 3
            scatter(particle, deviation, generator)


@fragment
def weigh(label: float, log_likelihood: Array, margin: Array, odds: Array) -> None:
    """Subtract each particle's logistic loss, and the largest log-likelihood from all.

    Shapes: log_likelihood f8[N], margin f8[N], odds f8[N], exp(-|margin|).
    """
    largest = -math.inf
    for i in range(margin.shape[0]):
        log_likelihood[i] -= max(-label * margin[i], 0.0) + log1p(odds[i])
        largest = max(largest, log_likelihood[i])
    for i in range(margin.shape[0]):
        log_likelihood[i] -= largest


@fragment
def effective(log_likelihood: Array) -> float:
    """How many equal particles would tell as much: 1 / sum of the squared weights. Shapes: log_likelihood f8[N]."""
    total, squares = 0.0, 0.0
    for i in range(log_likelihood.shape[0]):
        trust = exp(log_likelihood[i])
        total += trust
        squares += trust * trust
    return total * total / squares


@bare_kernel
def draw(particle: Array, log_likelihood: Array, u: float, drawn: Array) -> None:
    """Replace the particles by as many, each as often as it is trusted (systematic: points (u + i) / N).

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
