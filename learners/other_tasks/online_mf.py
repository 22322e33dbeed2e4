"""Predicted ratings of items by users, from factors or clusters of both."""

import math
from typing import NamedTuple

import numpy as np

from driftway.learners.contract import (
    Array,
    Counts,
    Learner,
    ParameterError,
    Parameters,
    UpdateRule,
    choice,
    field,
    fragment,
    integer,
    kernel,
    number,
)
from driftway.learners.engine.parameters import TooFewFeatures
from driftway.learners.numeric.random import Words, normal, seed
from driftway.learners.numeric.vectors import dot, euclidean_norm, multiply
from driftway.learners.other_tasks.clusters import Clusters, rate, regroup
from driftway.learners.other_tasks.ids import index_of

FACTORS, COCLUSTER = "factors", "cocluster"
DEVIATION = 0.1
"""Standard deviation of the initial factors; from zeros nothing would ever be learned."""


class OnlineMF(Learner):
    """Predicts how a user rates an item, from nothing but the two ids and the ratings before.

    A row is [user, item], whole numbers below `max_users` and `max_items`; the target is the rating. ``factors``: the
    mean of all ratings, a bias of the user, one of the item, and the product of `rank` factors of each, all but the
    mean by gradient descent. ``cocluster``: users are in one of G clusters, items in one of H; the mean rating of the
    pair of clusters, corrected by the deviations of the user's and the item's means from those of their clusters. Every
    `every` ratings a user or an item moves to the cluster that fits its last `hist` ratings best.

    Cost
    ----
    Factors: O(rank) per row, 8 (rank + 1) (max_users + max_items) + 24 bytes. Cocluster: O(1) per row, with
    O((G + H) hist) for every tenth, 8 (2 hist + 3) (max_users + max_items) + 16 (G + H + G H) + 24 bytes.

    Source
    ------
    George and Merugu, ICDM 2005 (cocluster); factors as they are trained since the Netflix Prize.
    docs/algorithms/other_tasks.md#online_mf. Differs: clusters are assigned online; the norm of factors is at most
    1 / sqrt(eta), above which steps of eta would diverge.
    """

    name = "online_mf"
    tasks = ("regression",)
    standardizable = False

    class Params(Parameters):
        mode: str = choice(FACTORS, (FACTORS, COCLUSTER), "`factors` or `cocluster`.")
        rank: int = integer(10, "`factors`: number per user and item.", at_least=1, at_most=1000)
        eta: float = number(0.05, "`factors`: step size.", above=0.0)
        reg: float = number(0.02, "`factors`: shrinkage of factors and biases towards 0.", at_least=0.0)
        seed: int = integer(1, "`factors`: seed of the initial ones.", at_least=0, at_most=2**53)
        max_users: int = integer(10_000, "Users are 0 to max_users - 1.", at_least=1, at_most=10_000_000)
        max_items: int = integer(10_000, "Items are 0 to max_items - 1.", at_least=1, at_most=10_000_000)
        G: int = integer(3, "`cocluster`: number of clusters of users.", at_least=1, at_most=1000)
        H: int = integer(3, "`cocluster`: number of clusters of items.", at_least=1, at_most=1000)
        hist: int = integer(20, "`cocluster`: number of last ratings kept of each.", at_least=1, at_most=1000)
        every: int = integer(10, "`cocluster`: ratings between two choices of a cluster.", at_least=1)

    def rule(self) -> UpdateRule:
        p = self.parameters
        if self.n_features != 2:
            message = f"{self.name} reads two columns, user and item, got {self.n_features}"
            raise TooFewFeatures(message, 2) if self.n_features < 2 else ParameterError(message)
        sizes = {"users": p.max_users, "items": p.max_items}
        if p.mode == FACTORS:
            return UpdateRule(multiply_factors, learn_factors, p.numbers(), OnlineMFState, {**sizes, "rank": p.rank})
        return UpdateRule(rate, regroup, p.numbers(), Clusters, {**sizes, "G": p.G, "H": p.H, "hist": p.hist})

    def initialise(self) -> None:
        if self.parameters.mode == FACTORS:
            generator = np.empty(4, np.uint64)
            seed(generator, np.uint64(self.parameters.seed))
            for name in ("U", "V"):
                begin_factors(generator, self.state[name].reshape(-1))


class OnlineMFState(NamedTuple):
    """State of ``factors``."""

    U: Array = field("f8[users, rank]", "factors of the users, normal with deviation 0.1 at first")
    V: Array = field("f8[items, rank]", "factors of the items, likewise")
    of_user: Array = field("f8[users]", "biases of the users")
    of_item: Array = field("f8[items]", "biases of the items")
    mean: Array = field("f8[1]", "mean of all ratings")
    learned: Counts = field("i8[1]", "ratings so far")
    skipped: Counts = field("i8[1]", "ratings by or of an unknown id, or without a finite step")


@kernel
def begin_factors(generator: Words, factors: Array) -> None:
    """Draw the first factors. Shapes: generator u8[4], factors f8[n]."""
    for i in range(factors.shape[0]):
        factors[i] = DEVIATION * normal(generator)


@fragment
def multiply_factors(x: Array, _p: OnlineMF.Params, memory: OnlineMFState) -> float:
    """The predicted rating, or the mean if one of the ids is unknown. Shapes: x f8[2]."""
    u, i = index_of(x[0], memory.U.shape[0]), index_of(x[1], memory.V.shape[0])
    s = memory.mean[0]
    if u >= 0 and i >= 0:
        s += memory.of_user[u] + memory.of_item[i] + dot(memory.U[u], memory.V[i])
    return s


@fragment
def learn_factors(x: Array, y: float, _omega: float, s: float, p: OnlineMF.Params, memory: OnlineMFState) -> None:
    """Step down the squared error in both biases and all factors, from their old values, then update the mean.

    Shapes: x f8[2]. docs/algorithms/other_tasks.md#online_mf. A row that would overflow changes nothing.
    """
    u, i = index_of(x[0], memory.U.shape[0]), index_of(x[1], memory.V.shape[0])
    if u < 0 or i < 0:
        memory.skipped[0] += 1
        return
    U, V, error = memory.U[u], memory.V[i], y - s
    of_user = memory.of_user[u] + p.eta * (error - p.reg * memory.of_user[u])
    of_item = memory.of_item[i] + p.eta * (error - p.reg * memory.of_item[i])
    mean = memory.mean[0] + (y - memory.mean[0]) / (memory.learned[0] + 1.0)
    overflows = not math.isfinite(of_user + of_item + mean)
    for k in range(U.shape[0]):
        moved = U[k] + p.eta * (error * V[k] - p.reg * U[k]), V[k] + p.eta * (error * U[k] - p.reg * V[k])
        overflows |= not (math.isfinite(moved[0]) and math.isfinite(moved[1]))
    if overflows:
        memory.skipped[0] += 1
        return
    for k in range(U.shape[0]):
        a, b = U[k], V[k]
        U[k] = a + p.eta * (error * b - p.reg * a)
        V[k] = b + p.eta * (error * a - p.reg * b)
    memory.of_user[u], memory.of_item[i], memory.mean[0] = of_user, of_item, mean
    memory.learned[0] += 1
    hold(U, p.eta)
    hold(V, p.eta)


@fragment
def hold(factors: Array, eta: float) -> None:
    """Scale factors back to the norm above which steps would diverge. Shapes: factors f8[rank]."""
    most, size = 1.0 / math.sqrt(eta), euclidean_norm(factors)
    if size > most:
        multiply(factors, most / size)
