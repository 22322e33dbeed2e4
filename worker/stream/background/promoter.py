"""Promote a better challenger in the background: read the committed points, decide, write the next plan.

One worker of a group decides, the owner of partition 0. What it decides is a function of the log, so if it dies, the
next owner decides the same. A plan is written directly after the one that the decision was about, or not at all.
"""

from __future__ import annotations

import time
from collections.abc import Container, Mapping
from contextlib import closing
from dataclasses import replace

from confluent_kafka import OFFSET_END, Consumer, KafkaException, Message, TopicPartition

from driftway.worker.errors import Failure, no_topic
from driftway.worker.kafka.deadline import Deadline
from driftway.worker.kafka.error_handling import TaskError, message_of, query, translated_errors
from driftway.worker.kafka.log_reader.reader import (
    ASK_SECONDS,
    COMMITTED,
    MessageReader,
    PartitionId,
    open_reader,
    partitions_of,
)
from driftway.worker.settings import WorkerSettings
from driftway.worker.settings.option_values import PromoteOption
from driftway.worker.state.plans.configuration import Configuration
from driftway.worker.state.plans.model_plan import first_plan
from driftway.worker.state.plans.next_plan import promoted, write_after
from driftway.worker.state.plans.plan_topic import known_plans
from driftway.worker.state.plans.promotion import Promotion, PromotionRule
from driftway.worker.stream.background.plan_reader import PlanReader
from driftway.worker.stream.background.thread import BackgroundThread
from driftway.worker.stream.observability.event_log import EventLog
from driftway.worker.stream.observability.metrics import WorkerMetrics
from driftway.worker.wire.codec import read_json

DECIDING_PARTITION = 0
LOOK_SECONDS, RETRY_SECONDS, GROWTH_SECONDS = 1.0, 5.0, 60.0
"""Time between two looks whether this worker decides, after an error, and between two looks at how many partitions
there are."""
POLL_SECONDS = 0.2
FETCH_MS = 500
CLOCKS_MS = 60_000
"""How far a plan's time may be behind the clocks of the workers that write points; beyond, rows count from later on."""
POINTS_BACK, MARKERS = 400, 4
"""Records to go back from the end of each partition for the newest points, and further ones for each learner."""


class Promoter(BackgroundThread):
    """Writes plans in which a challenger that is better is the champion; nothing without --promote.

    Parameters
    ----------
    settings : WorkerSettings
        The worker's.
    event_log : EventLog
        Where promotions are logged.
    metrics : WorkerMetrics
        Where they are counted.
    plans : PlanReader
        Says which plan is the newest.
    owned : container
        The worker's partitions.
    """

    def __init__(
        self,
        settings: WorkerSettings,
        event_log: EventLog,
        metrics: WorkerMetrics,
        plans: PlanReader,
        owned: Container[int],
    ) -> None:
        super().__init__("promotions")
        self._settings, self._event_log, self._metrics = settings, event_log, metrics
        self._plans, self._owned = plans, owned

    def begin(self) -> None:
        """Go on deciding beside the loop."""
        if self._settings.promote is not None:
            super().begin()

    @property
    def _decides(self) -> bool:
        return DECIDING_PARTITION in self._owned and not self._over.is_set()

    def _run(self) -> None:
        option = self._settings.promote
        assert option is not None  # noqa: S101
        while not self._over.is_set():
            try:
                if self._decides:
                    tuning = {"fetch.wait.max.ms": FETCH_MS}
                    with closing(open_reader(self._settings, COMMITTED, tuning)) as reader:
                        self._follow(reader, option)
                else:
                    self._over.wait(LOOK_SECONDS)
            except (KafkaException, TaskError, Failure) as error:
                self._log_error(message_of(error))
                self._over.wait(RETRY_SECONDS)

    def _follow(self, reader: Consumer, option: PromoteOption) -> None:
        """Read the points of the present plan, and promote once; return when another plan is the newest."""
        plans = known_plans(reader, self._settings, Deadline(ASK_SECONDS), self._log_error)
        partitions, options = self._count_partitions(reader), self._settings.model
        first = first_plan(options.specs, options.warm, Configuration.of(options))
        rule = PromotionRule(option, plans or [first], partitions)
        levels = {name: float(f"{level:.3g}") for name, level in rule.levels.items()}
        self._event_log.event(
            "challengers are watched", plan=rule.plan.number, champion=rule.plan.champion, levels=levels
        )
        reading = MessageReader(reader, self._read_back(reader, rule, partitions))
        promotion, counted_at = rule.decide(), time.monotonic()
        while self._decides and self._plans.newest <= rule.plan.number:
            if promotion is not None:
                self._promote(rule, promotion)
                return
            if messages := reading.poll(POLL_SECONDS):
                self._add(rule, messages)
                promotion = rule.decide()
                self._over.wait(POLL_SECONDS)  # points of many partitions are looked at together: the loop has the GIL
            if time.monotonic() > counted_at + GROWTH_SECONDS:
                if self._count_partitions(reader) != partitions:
                    return
                counted_at = time.monotonic()

    def _count_partitions(self, reader: Consumer) -> int:
        topic = self._settings.topics.accuracy
        if count := partitions_of(reader, topic, Deadline(ASK_SECONDS)):
            return count
        raise Failure(no_topic(topic))

    def _read_back(self, reader: Consumer, rule: PromotionRule, partitions: int) -> dict[PartitionId, int]:
        """Read each partition's first points under the plan and its champion, and the newest; return where to go on."""
        topic_partitions = [(self._settings.topics.accuracy, p) for p in range(partitions)]
        ends = self._offsets(reader, topic_partitions, OFFSET_END)
        for plan in (rule.champion_since, rule.plan):
            begins = self._offsets(reader, topic_partitions, max(0, plan.made_at - CLOCKS_MS))
            self._read(reader, rule, begins, ends, plan.number)
        back = POINTS_BACK + MARKERS * len(rule.plan.models)
        lowest = self._offsets(reader, topic_partitions, 0)
        begins = {one: max(ends[one] - back, first) for one, first in lowest.items() if first >= 0}
        self._read(reader, rule, begins, ends)
        return ends

    def _offsets(self, reader: Consumer, topic_partitions: list[PartitionId], millis: int) -> dict[PartitionId, int]:
        """Partition -> offset of its first record with that time, in ms since 1970, or a later one; -1: none."""
        deadline = Deadline(ASK_SECONDS)
        asked = [TopicPartition(*one, millis) for one in topic_partitions]
        found = query(lambda: reader.offsets_for_times(asked, timeout=deadline.remaining()), deadline)
        for one in found:
            if one.error is not None:
                raise KafkaException(one.error)
        return {(one.topic, one.partition): one.offset for one in found}

    def _read(
        self,
        reader: Consumer,
        rule: PromotionRule,
        begins: Mapping[PartitionId, int],
        ends: Mapping[PartitionId, int],
        first_of: int | None = None,
    ) -> None:
        """Read points to `ends`, or of each partition only up to the first one under the plan `first_of`."""
        reading = MessageReader(reader, {one: begin for one, begin in begins.items() if begin >= 0}, ends)
        read = list[PartitionId]()
        while self._decides and not reading.done:
            self._add(rule, reading.poll(POLL_SECONDS))
            if first_of is not None:
                begun = [one for one in reading.unread if rule.has_begun(first_of, one[1])]
                reading.unread.difference_update(begun)
                reader.pause([TopicPartition(*one) for one in begun])
                read += begun
            reading.require_progress(self._settings.bootstrap, self._settings.topics.accuracy)
        reader.resume([TopicPartition(*one) for one in read])

    def _add(self, rule: PromotionRule, messages: list[Message]) -> None:
        for message in messages:
            try:
                rule.add(read_json(message.value() or b""))
            except (ValueError, KeyError, TypeError, AttributeError, OverflowError) as error:
                where = f"{message.topic()}/{message.partition()}@{message.offset()}"
                self._log_error(f"the accuracy point at {where} cannot be read: {error}")

    def _promote(self, rule: PromotionRule, promotion: Promotion) -> None:
        """Write the plan, unless somebody has written another one meanwhile."""
        number = rule.plan.number + 1
        plan = replace(
            rule.plan,
            number=number,
            models=promoted(rule.plan, promotion.challenger),
            offsets={},
            relearn_from={},
            made_at=round(1000 * time.time()),
            change=promotion.change,
        )
        with translated_errors(self._settings):
            write_after(self._settings, rule.plan, plan, self._log_error)
        self._metrics.promoted()
        self._event_log.event("promoted", plan=number, champion=plan.champion, change=plan.change)

    def _log_error(self, sentence: str) -> None:
        """Log an error, unless it is the last one again."""
        if self._is_news(sentence):
            self._event_log.warning("promotion error", error=sentence)
