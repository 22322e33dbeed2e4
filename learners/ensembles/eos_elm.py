"""Ensemble of online sequential extreme learning machines (EOS-ELM)."""

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
    number,
    part,
    scratch,
)
from driftway.learners.engine.jit import kernel, member
from driftway.learners.least_squares.recursion import absorb
from driftway.learners.numeric.elementary.exponential import exp
from driftway.learners.numeric.random import Words, seed, uniform
from driftway.learners.numeric.symmetric import matvec
from driftway.learners.numeric.vectors import dot


class EOSELM(Learner):
    """The mean of networks with random hidden units, whose output weights are least squares on all rows so far.

    Learns nonlinear relations as fast as `rls` learns linear ones, and like it weights all rows equally for ever.
    Inputs should be about within -1 and 1, beyond which the units saturate. phi = 1 / (1 + exp(-(A x + b))), A uniform
    on -1 to 1 and b on 0 to 1; s = mean of beta_i.phi_i, or for the first rows the mean of the targets so far.

    Cost
    ----
    O(M L (d + L)) per row; 8 M L (d + L + 2) + 24 bytes, M = n, L = hidden, d with the intercept.

    Source
    ------
    Lan, Soh and Huang, Neurocomputing 72, 2009; named in Zhao and Zhou, Distribution-Free One-Pass Learning, suppl.
    docs/algorithms/ensembles.md#eos_elm. Differs: the first block is learned row by row from P = I / ridge, which gives
    the same P.
    """

    name = "eos_elm"
    tasks = ("binary", "regression")

    class Params(Parameters):
        n: int = integer(5, "M, number of networks.", at_least=1)
        hidden: int = integer(20, "L, hidden units of each network.", at_least=1)
        init_block: int = integer(0, "Labelled rows before the networks are used; 0 = 2 hidden.", at_least=0)
        ridge: float = number(1e-3, "Ridge of the least squares.", above=0.0)
        seed: int = integer(1, "Seed of the hidden units.", at_least=0, at_most=2**53)
        intercept: bool = intercept()

    def rule(self) -> UpdateRule:
        p = self.parameters
        return UpdateRule(
            score, learn, EOSELMNumbers(p.init_block or 2 * p.hidden), EOSELMState, {"M": p.n, "L": p.hidden}
        )

    def initialise(self) -> None:
        p, s = self.parameters, self.state
        generator = np.zeros(4, np.uint64)
        seed(generator, np.uint64(p.seed))
        scatter(s["A"], s["b"], generator)
        s["output.P"][:] = np.eye(p.hidden) / p.ridge


class EOSELMNumbers(NamedTuple):
    """Parameters of `eos_elm`."""

    rows: int
    """Labelled rows before the networks are used."""


class Output(NamedTuple):
    """Least squares of each network, as in `driftway.learners.least_squares.recursion` with an additional axis."""

    weight: Array = field("f8[M, L]", "beta, what its units weigh")
    P: Array = field("f8[M, L, L]", "inverse of the ridge and the sum of phi phi'; bitwise symmetric")
    k: Array = scratch("f8[M, L]", "P phi")


class EOSELMState(NamedTuple):
    """State of `eos_elm`."""

    output: Any = part(Output, "least squares on the units")
    A: Array = field("f8[M, L, d]", "input weights of the units, d with the intercept")
    b: Array = field("f8[M, L]", "biases of the units")
    mean: Array = field("f8[1]", "of the targets so far")
    learned: Counts = field("i8[1]", "labelled rows so far")
    skipped: Counts = field("i8[1]", "labelled rows that some network could not learn, times networks")
    phi: Array = scratch("f8[M, L]", "the units of the row")
    s: Array = scratch("f8[M]", "what each network says")


@kernel
def scatter(A: Array, b: Array, generator: Words) -> None:
    """Draw the units network by network, A before b. Shapes: A f8[M, L, d], b f8[M, L], generator u8[4]."""
    for i in range(A.shape[0]):
        for unit in range(A.shape[1]):
            for j in range(A.shape[2]):
                A[i, unit, j] = 2.0 * uniform(generator) - 1.0
        for unit in range(A.shape[1]):
            b[i, unit] = uniform(generator)


@fragment
def score(x: Array, p: EOSELMNumbers, memory: EOSELMState) -> float:
    """Return the mean of the networks, or first that of the targets. Shapes: x f8[d]."""
    total = 0.0
    for i in range(memory.s.shape[0]):
        A, b, phi = memory.A[i], memory.b[i], memory.phi[i]
        for unit in range(phi.shape[0]):
            phi[unit] = 1.0 / (1.0 + exp(-(dot(A[unit], x) + b[unit])))
        memory.s[i] = dot(memory.output.weight[i], phi)
        total += memory.s[i]
    return memory.mean[0] if memory.learned[0] < p.rows else total / memory.s.shape[0]


@fragment
def learn(_x: Array, y: float, _omega: float, _score: float, _p: EOSELMNumbers, memory: EOSELMState) -> None:
    """Update the least squares of each network, with the units that `score` left in scratch."""
    memory.learned[0] += 1
    memory.mean[0] += (y - memory.mean[0]) / memory.learned[0]
    for i in range(memory.s.shape[0]):
        one = member(memory.output, i)
        v = matvec(one.P, memory.phi[i], one.k)
        if not absorb(v, y - memory.s[i], 1.0, 1.0, math.inf, one):
            memory.skipped[0] += 1
