"""Whether a challenger is to be promoted: a function of the group's plans and of the accuracy points in the log.

A plan begins the tests of those challengers that the plan before did not test against the same champion. The tests that
begin with plan N share the probability alpha / (N (N + 1)) of ever finding a challenger that is not better. The sum
over all N is alpha. This is the probability for the whole stream, for any number of promotions, challengers and changes
by users. See docs/decisions/0052.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from driftway.learners.metrics.e_process import SIDES
from driftway.worker.settings.option_values import PromoteOption
from driftway.worker.state.monitoring.evidence import is_tested, mean_e_value
from driftway.worker.state.plans.model_plan import FIRST, ModelPlan

BETTER, WORSE = SIDES
MAX_SHOWN = 16
"""Partitions whose offsets are named in a plan, which every partition's snapshot then holds."""


@dataclass(frozen=True)
class Promotion:
    """A decision, with its evidence.

    Parameters
    ----------
    challenger, champion : str
        The model to promote, and the one whose place it takes.
    e_value, level : float
        The mean of the partitions' e-values, and the level of the test: it is at least 1 / level.
    rows : int
        Rows of all partitions under the present plan.
    offsets : mapping
        Partition -> offset of the accuracy point that was used.
    """

    challenger: str
    champion: str
    e_value: float
    level: float
    rows: int
    offsets: Mapping[int, int]

    @property
    def change(self) -> str:
        """The decision as a plan tells it, after the words of `driftway models promote`."""
        offsets = [f"{p}:{offset}" for p, offset in sorted(self.offsets.items())]
        others = [f"and {len(offsets) - MAX_SHOWN:,} more"] if len(offsets) > MAX_SHOWN else []
        places = " ".join([*offsets[:MAX_SHOWN], *others])
        return (
            f"promote {self.challenger} (by a worker: better than {self.champion}, p <= {1.0 / self.e_value:.1e}, "
            f"{self.level:.1e} is enough; {self.rows:,} rows, up to {places})"
        )


def levels(plans: Sequence[ModelPlan], alpha: float) -> dict[str, float]:
    """Return the level of each challenger's test in the newest plan.

    A test that goes on keeps its level, also if other challengers come or go.

    Parameters
    ----------
    plans : sequence of ModelPlan
        The group's plans, in the order of their numbers; where one is missing, tests count as begun behind it.
    alpha : float
        Probability of ever promoting a challenger that is not better.
    """
    begun, begin_together = dict[str, int](), dict[int, int]()
    for plan, before in zip(plans, [None, *plans], strict=False):
        goes_on = before is not None and (before.number + 1, before.champion) == (plan.number, plan.champion)
        begun = {name: begun.get(name, plan.number) if goes_on else plan.number for name in plan.names[1:]}
        begin_together[plan.number] = sum(number == plan.number for number in begun.values())
    return {name: alpha / (number * (number + 1) * begin_together[number]) for name, number in begun.items()}


def champion_since(plans: Sequence[ModelPlan]) -> ModelPlan:
    """Return the plan with which the newest plan's champion became it, as far as the plans are known."""
    since = plans[-1]
    for plan in reversed(plans):
        if plan.champion != since.champion:
            break
        since = plan
    return since


class PromotionRule:
    """Collects the accuracy points of a group under one plan, and decides.

    Parameters
    ----------
    option : PromoteOption
        When to promote.
    plans : sequence of ModelPlan
        All plans of the group, by their numbers; only points of the last one count.
    partitions : int
        Number of partitions of the input.
    """

    def __init__(self, option: PromoteOption, plans: Sequence[ModelPlan], partitions: int) -> None:
        self._option, self._partitions = option, partitions
        self.plan = plans[-1]
        self.champion_since = champion_since(plans)
        self.levels = levels(plans, option.alpha)
        self._first: dict[int, dict[int, int]] = {self.champion_since.number: {}, self.plan.number: {}}
        """Number of a plan -> partition -> offset of its first point under that plan or a later one."""
        self._last: dict[int, int] = {}
        """Partition -> offset of its newest point under the plan."""
        self._newest: dict[tuple[str, int], Mapping[str, Any]] = {}
        """Challenger and partition -> its newest point under the plan."""
        self._is_over = False
        """Whether a partition has adopted a later plan."""

    def add(self, point: Mapping[str, Any]) -> None:
        """Add an accuracy point; those of a partition and a learner come in the order of the log.

        Raises
        ------
        KeyError, TypeError, AttributeError, OverflowError
            It is none.
        """
        partition, offset, learner = point["partition"], point["offset"], point["learner"]
        number = point.get("plan", FIRST)
        if not all(isinstance(one, int) for one in (number, partition, offset)) or not isinstance(learner, str):
            raise TypeError("its plan, partition, offset or learner is not valid")
        if is_tested(point):
            for side in SIDES:
                mean_e_value([point], side, 1)  # raises now, not when it decides
        for since, first in self._first.items():
            if number >= since:
                first[partition] = min(first.get(partition, offset), offset)
        self._is_over |= number > self.plan.number
        if number != self.plan.number:
            return
        self._last[partition] = offset
        if learner in self.levels and is_tested(point):
            self._newest[learner, partition] = point

    def has_begun(self, number: int, partition: int) -> bool:
        """Whether a partition's first point under a plan is known: that of this plan, or of `champion_since`."""
        return partition in self._first[number]

    def decide(self) -> Promotion | None:
        """Return the promotion that the points so far call for, of the challenger with the most evidence."""
        if self._is_over or self._rows(self.plan.number) < self._option.min_rows:
            return None
        if self.champion_since.number > FIRST and self._rows(self.champion_since.number) < self._option.cool_down:
            return None
        found = list[Promotion]()
        for challenger, level in self.levels.items():
            points = {p: point for (name, p), point in self._newest.items() if name == challenger}
            better, worse = (mean_e_value(points.values(), side, self._partitions) for side in (BETTER, WORSE))
            if better * level >= 1.0 and better > worse:
                offsets = {p: int(point["offset"]) for p, point in points.items()}
                rows = self._rows(self.plan.number)
                found.append(Promotion(challenger, self.plan.champion, better, level, rows, offsets))
        return max(found, key=lambda one: one.e_value * one.level, default=None)

    def _rows(self, number: int) -> int:
        """Rows of all partitions between their first points under a plan and their newest ones."""
        first = self._first[number]
        return sum(last - first[partition] for partition, last in self._last.items())
