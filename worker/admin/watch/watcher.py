"""Watch an input live: feed accuracy points, drift alarms, newest predictions and end offsets into a dashboard."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from driftway.worker.admin.watch.clocks import ClockReader
from driftway.worker.admin.watch.commits import CommittedOffsets, GroupConfig
from driftway.worker.admin.watch.dashboard import Dashboard, DashboardRow
from driftway.worker.admin.watch.recent_predictions import WINDOW
from driftway.worker.admin.watch.topic_tail import (
    OF_ALARMS,
    LogEnds,
    TopicTail,
    near,
    read_prediction,
    read_rejection,
    readings,
)
from driftway.worker.errors import Failure, with_file_shortage
from driftway.worker.kafka.topics import Topics, present_topics, written_for

POINTS_BACK = 400
"""Records to go back from the end of each accuracy partition: the newest of some 100 learners, markers included."""
OUTCOMES_BACK = 50
"""Records to go back from the end to find the newest prediction; each commit adds one marker."""
OUTCOMES_BEHIND = 5_000
RECENT_BACK = WINDOW + 500
"""The same, where metrics of the newest predictions are shown: enough for the window, markers included."""
REJECTED_BACK = 10_000
"""Records to go back in each partition of rejections to count them by kind; later ones are counted, too."""
ALARMS_BACK = 10_000
"""Records to go back in each partition of alarms: thousands of alarms, and a marker for each commit."""
CATCH_UP_SECONDS = 30.0


class Watcher:
    """Observes an input through its group's output topics.

    Parameters
    ----------
    bootstrap, passthrough
        Broker address and further properties of the client.
    topics : Topics
        The input and its group's outputs.
    counts : mapping
        Topic -> number of partitions; see `chosen`.
    from_start : bool
        Read all accuracy points and drift alarms, not only the newest.
    dashboard : Dashboard
        Receives everything that is read.
    back : int
        Accuracy points to go back from the end of each partition, unless all are read.

    Raises
    ------
    Unreachable
        No broker answers.
    UsageFailure
        A client property is not valid.
    """

    def __init__(
        self,
        bootstrap: str,
        passthrough: Mapping[str, Any],
        topics: Topics,
        counts: Mapping[str, int],
        from_start: bool,
        dashboard: Dashboard,
        back: int = POINTS_BACK,
    ) -> None:
        self.dashboard = dashboard
        self._ends = LogEnds(bootstrap, passthrough)
        group = GroupConfig(bootstrap, topics.group, dict(passthrough))
        self._commits = CommittedOffsets(group, topics.input, counts[topics.input])

        def sizes(topic: str) -> dict[str, int]:
            return {topic: counts[topic]} if topic in counts else {}

        def tail(topics: Mapping[str, int], back: int, whole: bool = False) -> TopicTail:
            starts = None if whole else near(self._ends.of(topics), back)
            return TopicTail(bootstrap, passthrough, topics, starts)

        self._input, self._outcomes = {topics.input: counts[topics.input]}, sizes(topics.predictions)
        self._back = OUTCOMES_BACK if dashboard.recent is None else RECENT_BACK
        self._points = tail({topics.accuracy: counts[topics.accuracy]}, back, from_start)
        self._alarms = tail(sizes(topics.alarms), ALARMS_BACK, from_start)
        self._newest = tail(self._outcomes, self._back)
        self._rejected = tail(sizes(topics.rejected), REJECTED_BACK)
        self._tails = self._points, self._newest, self._alarms, self._rejected
        self._clocks = ClockReader(bootstrap, passthrough, topics.snapshots) if topics.snapshots in counts else None

    @property
    def at_end(self) -> bool:
        """Whether every topic has been read to its end, and no record has arrived since."""
        return all(tail.at_end for tail in self._tails)

    def catch_up(self) -> list[DashboardRow]:
        """Read to the present end; return the rows.

        Raises
        ------
        Failure
            The end was not reached within CATCH_UP_SECONDS.
        """
        deadline = time.monotonic() + CATCH_UP_SECONDS
        while not self.at_end:
            self._read(0.05)
            if time.monotonic() > deadline:
                late = f"the end of the accuracy points was not reached in {CATCH_UP_SECONDS:.0f} s"
                raise Failure(with_file_shortage(late))
        self.refresh(0.0)
        return self.refresh(0.0)  # ends that are asked for twice are those of what is visible

    def refresh(self, seconds: float) -> list[DashboardRow]:
        """Read for `seconds`; return the rows."""
        until = time.monotonic() + seconds
        self._read(seconds / 4)
        while (left := until - time.monotonic()) > 0:
            self._read(min(left, seconds / 4))
        for partition, offset in self._commits.get().items():
            self.dashboard.add_outcome(partition, offset - 1)
        ends = self._ends.lately({**self._input, **self._outcomes})
        self.dashboard.silent_seconds = self._ends.silent_seconds
        (topic,) = self._input
        self.dashboard.ends(self._ends.visible(topic, ends, self.dashboard.accounted))
        self._newest.jump(ends, self._back, OUTCOMES_BEHIND)
        if self._clocks is not None:
            self.dashboard.clocks = self._clocks.of(self.dashboard.delayed_partitions)
        return self.dashboard.rows()

    def close(self) -> None:
        """Close the clients."""
        for one in (*self._tails, self._clocks, self._commits):
            if one is not None:
                one.close()

    def _read(self, seconds: float) -> None:
        for point, written_at in readings(self._points.poll(seconds)):
            self.dashboard.add_point(point, written_at)
        newest = self._newest.poll(0.0)
        if self.dashboard.recent is None:
            # The last record of each partition suffices; decoding every prediction would be wasted work.
            newest = list({(message.topic(), message.partition()): message for message in newest}.values())
        for message in newest:
            partition, offset, said, score, label = read_prediction(message)
            self.dashboard.predict(partition, offset, said)
            if self.dashboard.recent is not None:
                self.dashboard.recent.add(partition, offset, score, said["prediction"], label)
        for alarm, written_at in readings(self._alarms.poll(0.0), OF_ALARMS):
            self.dashboard.alarm(alarm, written_at)
        for message in self._rejected.poll(0.0):
            found = read_rejection(message)
            if found.offset is not None:
                self.dashboard.add_outcome(found.partition, found.offset)
            self.dashboard.reject(found.partition, found.kind, set_aside=found.offset is None)


def chosen(bootstrap: str, passthrough: Mapping[str, Any], given: Mapping[str, Any]) -> tuple[Topics, dict[str, int]]:
    """The topics chosen by the options `input`, `group` and `outputs`, and topic -> partitions of the cluster.

    Raises
    ------
    UsageFailure
        There are no such outputs, or those of several groups.
    """
    counts = present_topics(bootstrap, passthrough)
    return written_for(counts, given["input"], given["group"], given["outputs"]), counts
