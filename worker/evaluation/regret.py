"""`driftway evaluate --regret`: compare each learner's losses with those of linear models chosen in hindsight.

Unlike everything else in evaluation it keeps all rows in memory, 8 (d + 1) bytes each, because hindsight needs them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from driftway.learners.engine.parameters import ParameterError, Parameters, choice, integer, number
from driftway.learners.engine.state import State
from driftway.learners.hindsight.comparators import HINGE, LOGISTIC, LOSSES, SQUARE, NoConvergence, row_loss
from driftway.learners.hindsight.regret import Switching, best_switching, segment_costs
from driftway.learners.preprocessing.maps import create_maps
from driftway.learners.preprocessing.standardizer import standardize, statistics, statistics_in
from driftway.learners.spec import Spec
from driftway.worker.errors import Failure, UsageFailure
from driftway.worker.wire.events import Target

Array = NDArray[np.float64]

AUTO = "auto"
DEFAULT_BLOCKS = 20
MAX_BLOCKS = 200
"""Maximum number of blocks of rows between which the comparator may switch; m blocks take m (m + 1) / 2 fits."""


class Hindsight(Parameters):
    """The comparators that regret is measured against; see docs/algorithms/hindsight.md#regret.

    Parameters
    ----------
    loss : str
        Loss of the score: ``hinge``, ``logistic``, ``square``; ``auto`` is logistic, or square in regression.
    k : int
        Maximum number of switches of the switching comparator, k >= 0.
    window : int
        Rows between points where it may switch, besides the stream's known drift points; 0: a twentieth of the rows.
    ball : float
        Maximum norm of the comparators' weights, including their constant; 0: unbounded.
    """

    loss: str = choice(AUTO, (AUTO, *LOSSES))
    k: int = integer(3, at_least=0)
    window: int = integer(0, at_least=0)
    ball: float = number(0.0, at_least=0.0)


def parse_hindsight(text: str, target: Target) -> Hindsight:
    """Read ``LOSS`` or ``LOSS:k=..,window=..,ball=..``.

    Raises
    ------
    UsageFailure
        The text has another form, a value is out of bounds, or the loss does not fit the target.
    """
    if target.n_classes > 2:
        raise UsageFailure(f"--regret compares with linear models for two classes or a number, not {target.n_classes}")
    try:
        spec = Spec.parse(text)
        asked: Hindsight = Hindsight.build({"loss": spec.name, **dict(spec.parameters)})
    except ParameterError as error:
        raise UsageFailure(f"--regret {text}: {error}") from None
    regression = target.n_classes == 0
    if regression and asked.loss in (HINGE, LOGISTIC):
        raise UsageFailure(f"--regret {text}: the {asked.loss} loss is for classes, not for numbers; choose {SQUARE}")
    loss = (SQUARE if regression else LOGISTIC) if asked.loss == AUTO else asked.loss
    return Hindsight(loss, asked.k, asked.window, asked.ball)


@dataclass
class _PartitionLosses:
    """A partition's labelled rows, in stream order, and every learner's losses on them."""

    rows: list[Array] = field(default_factory=list)
    labels: list[Array] = field(default_factory=list)
    numbers: list[NDArray[np.int64]] = field(default_factory=list)
    losses: dict[str, float] = field(default_factory=dict)


class Regret:
    """The losses of several learners on one stream, and those of the best linear models in hindsight.

    The models get the same input as a learner with an intercept: the rows, mapped and scaled online as for the learner,
    and a constant 1.

    Parameters
    ----------
    asked : Hindsight
        The comparators; the loss is not ``auto``.
    target : Target
        What is predicted.
    standardize : bool
        Whether the learners get standardised rows.
    partitions : int
        Number of partitions; row i belongs to partition i mod partitions, and each has its own regret.
    drift_points : tuple of int
        Rows of the stream at which a new concept is known to begin.
    maps : tuple of Spec
        Feature maps in front of the learners.
    """

    def __init__(
        self,
        asked: Hindsight,
        target: Target,
        standardize: bool = True,
        partitions: int = 1,
        drift_points: tuple[int, ...] = (),
        maps: tuple[Spec, ...] = (),
    ) -> None:
        self.asked, self.target, self.standardize = asked, target, standardize
        self.drift_points, self.maps = drift_points, maps
        self.parts = [_PartitionLosses() for _ in range(partitions)]
        self._solved: list[tuple[float, Switching, list[int]] | None] = [None] * partitions
        self._first: str | None = None

    def observe(self, learner: str, first: int, X: Array, y: Array, score: Array, usable: NDArray[np.bool_]) -> None:
        """Add a block starting at row `first`, with `Evaluation.step`'s results; every learner sees every block."""
        labels = self.target.indices(y)[0]
        if self.target.n_classes:
            labels = 2.0 * labels - 1.0
        numbers = np.arange(first, first + len(X))
        self._first = self._first or learner
        for p, part in enumerate(self.parts):
            mine = usable & ~np.isnan(labels) & (numbers % len(self.parts) == p)
            loss = float(row_loss(self.asked.loss, score[mine, 0], labels[mine]).sum())
            part.losses[learner] = part.losses.get(learner, 0.0) + loss
            if learner == self._first:
                part.rows.append(X[mine])
                part.labels.append(labels[mine])
                part.numbers.append(numbers[mine])

    def result(self, learner: str, partition: int) -> dict[str, Any]:
        """The regret of a learner; None if no row had a label.

        Raises
        ------
        Failure, UsageFailure
            No comparator was found, or `window` makes too many blocks.
        """
        part, asked = self.parts[partition], self.asked
        n = sum(map(len, part.labels))
        loss = part.losses.get(learner, 0.0)
        if n == 0:
            return dict.fromkeys(("regret", "regret_per_row", "switching_regret", "switching_regret_per_row"))
        fixed, best, rows = self._solved[partition] or self._solve(partition)
        self._solved[partition] = fixed, best, rows
        return {
            "regret": loss - fixed,
            "regret_per_row": (loss - fixed) / n,
            "switching_regret": loss - best.loss,
            "switching_regret_per_row": (loss - best.loss) / n,
            "regret_against": {
                "loss": asked.loss,
                "cumulative_loss": loss,
                "fixed_loss": fixed,
                "switching_loss": best.loss,
                "k": asked.k,
                "switch_rows": rows,
                "ball": asked.ball or None,
            },
        }

    def _solve(self, partition: int) -> tuple[float, Switching, list[int]]:
        """The loss of the best single model, the best sequence of models, and the rows at which it switches."""
        part = self.parts[partition]
        X, y = np.concatenate(part.rows), np.concatenate(part.labels)
        numbers = np.concatenate(part.numbers)
        edges = self._edges(numbers)
        ball = self.asked.ball or math.inf
        try:
            cost = segment_costs(self.asked.loss, self._seen(X), y, edges, ball)
        except (NoConvergence, np.linalg.LinAlgError, FloatingPointError) as error:
            raise Failure(f"--regret {self.asked.loss}: {error}") from None
        best = best_switching(cost, self.asked.k)
        return float(cost[0, -1]), best, [int(numbers[edges[block]]) for block in best.starts]

    def _edges(self, numbers: NDArray[np.int64]) -> list[int]:
        """Points where a switch is allowed, as indices of labelled rows, including 0 and the number of rows."""
        n = len(numbers)
        if self.asked.k == 0:
            return [0, n]  # a single fit instead of one per pair of blocks
        window = self.asked.window or max(1, -(-n // DEFAULT_BLOCKS))
        known = np.searchsorted(numbers, np.array(self.drift_points, np.int64)).tolist()
        edges = sorted({0, n, *range(0, n, window), *(edge for edge in known if edge < n)})
        if len(edges) - 1 > MAX_BLOCKS:
            raise UsageFailure(
                f"--regret: window={window} makes {len(edges) - 1:,} blocks of {n:,} rows, and more than {MAX_BLOCKS} "
                "would take too many fits; choose a larger window"
            )
        return edges

    def _seen(self, X: Array) -> Array:
        """The rows as a learner with an intercept gets them."""
        X = np.ascontiguousarray(X)
        for one in create_maps(self.maps, X.shape[1]):
            mapped = np.empty((len(X), one.width))
            one.apply(X, mapped)
            X = mapped
        n, d = X.shape
        rows = np.ones((n, d + 1))
        rows[:, :d] = X
        if self.standardize:
            state = State(statistics(d))
            standardize(X, np.zeros(n), rows, statistics_in(state))
        return rows
