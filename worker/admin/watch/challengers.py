"""What accuracy points say about challengers: whether they are better or worse than the champion, and with which p."""

from __future__ import annotations

from typing import Any, NamedTuple

from driftway.learners.metrics.e_process import LEVEL, SIDES
from driftway.worker.admin.watch.dashboard import DashboardRow
from driftway.worker.state.monitoring.evidence import is_tested, mean_e_value


class Verdict(NamedTuple):
    """A finding at LEVEL."""

    side: str
    """One of SIDES."""
    p: float
    since: int | None
    """Offset at which it was first found; None: it is of several partitions."""

    def text(self, than: str = "") -> str:
        """The finding as words; `than` names the other side, as ` than the champion`."""
        since = "" if self.since is None else f" since {self.since:,}"
        return f"{self.side}{than}{since}, p <= {self.p:.1e}"


def verdict(point: dict[str, Any]) -> Verdict | None:
    """Return the finding of an accuracy point; if a drift has turned the tables, the one with more capital now."""
    sides = [side for side in SIDES if point.get(f"{side}_p", 1.0) <= LEVEL]
    found = max(sides, key=lambda side: float(point[f"{side}_log_e"]), default=None)
    return None if found is None else Verdict(found, point[f"{found}_p"], point[f"{found}_since"])


def of_group(rows: list[DashboardRow]) -> dict[str, Verdict]:
    """Return learner -> finding of all partitions together, by the mean of their present e-values.

    Learners with a single partition, or without a finding, are left out, and all while partitions have different plans:
    then their champions may differ. See docs/decisions/0050.
    """
    found = dict[str, Verdict]()
    tested = [row for row in rows if is_tested(row.point)]
    if len({row.point.get("plan", 1) for row in tested}) > 1:
        return found
    for learner in dict.fromkeys(row.learner for row in tested):
        points = [row.point for row in tested if row.learner == learner]
        for side in SIDES:
            mean = mean_e_value(points, side, len(points))
            if len(points) > 1 and mean * LEVEL >= 1.0:
                found[learner] = Verdict(side, 1.0 / mean, None)
    return found
