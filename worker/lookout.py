"""Sees to it that every partition of the input is some member's, where the `consumer` group protocol forgets them.

A coordinator that comes back from half of its log counts the group's epochs from an old number on, and Kafka 4.1
computes no assignment before it has passed the highest one that the log has: the members stay, in good health and with
nothing to do (docs/decisions/0019). Each member that comes or goes is an epoch. So while the group is at rest and some
partitions are nobody's, passers-by come and go.
"""

from __future__ import annotations

import contextlib
import threading
import time
from typing import Any

from confluent_kafka import Consumer, ConsumerGroupState, ConsumerGroupType, KafkaException
from confluent_kafka import admin as untyped

from worker.client import base_properties, quiet, without_membership
from worker.journal import Journal
from worker.settings import CONSUMER, WorkerSettings
from worker.topics import partition_counts

api: Any = untyped  # its stubs do not export everything

LOOK_SECONDS, ASK_SECONDS = 2.0, 5.0
LOOKS = 2
"""In succession that must find partitions without a member: one may fall between an assignment and its answer."""
STIR_SECONDS = 2.0
"""How long passers-by come and go before the next look."""
STAY_SECONDS, LONGEST_STAY_SECONDS = 0.1, 1.6
"""How long they stay, doubled from look to look: on a slow machine the first have left before they were in."""
STUCK_SECONDS = 10.0
CROWD = 8
"""How many come at once: 130 epochs a second, where one alone makes 18."""


class Lookout:
    """Looks after the group on a thread of its own, beside the member.

    Parameters
    ----------
    settings : WorkerSettings
        Whose group.
    journal : Journal
        Where it is said that partitions are nobody's.
    """

    def __init__(self, settings: WorkerSettings, journal: Journal) -> None:
        self.settings, self.journal = settings, journal
        common = without_membership(base_properties(settings.bootstrap, settings.passthrough))
        self._admin = api.AdminClient(quiet(common))
        self._passer_by = quiet(
            {**common, "group.id": settings.group, "group.protocol": CONSUMER, "enable.auto.commit": False}
        )
        self._ended = threading.Event()

    def begin(self) -> None:
        """Look from now on."""
        threading.Thread(target=self._run, name="lookout", daemon=True).start()

    def end(self) -> None:
        """Look no more."""
        self._ended.set()

    def _run(self) -> None:
        looks = 0
        while not self._ended.wait(LOOK_SECONDS):
            found = self._forgotten()
            looks = looks + 1 if found else 0
            if looks == LOOKS:
                self.journal.event("the group has forgotten partitions, stirring it", partitions=found)
            if looks >= LOOKS:
                self._stir(min(STAY_SECONDS * 2 ** (looks - LOOKS), LONGEST_STAY_SECONDS))

    def _forgotten(self) -> list[int]:
        """Partitions of the input that no member has or is about to get, if the group is at rest; none if not known."""
        settings, asked = self.settings, {"request_timeout": ASK_SECONDS}
        try:
            group = self._admin.describe_consumer_groups([settings.group], **asked)[settings.group].result()
            count = partition_counts(self._admin.list_topics(settings.input, timeout=ASK_SECONDS))
        except KafkaException:
            return []
        if group.type is not ConsumerGroupType.CONSUMER or group.state is not ConsumerGroupState.STABLE:
            return []
        given = {
            place.partition
            for member in group.members
            for places in (member.assignment, member.target_assignment)
            for place in (places.topic_partitions if places is not None else ())
            if place.topic == settings.input
        }
        return sorted(set(range(count.get(settings.input, 0))) - given)

    def _stir(self, stay: float) -> None:
        """Let members come and go, who take nothing."""
        until = time.monotonic() + STIR_SECONDS
        while time.monotonic() < until and not self._ended.is_set():
            # Daemons: a client that does not come back must not keep the process from ending.
            crowd = [threading.Thread(target=self._pass_by, args=(stay,), daemon=True) for _ in range(CROWD)]
            for one in crowd:
                one.start()
            for one in crowd:
                one.join(STUCK_SECONDS)

    def _pass_by(self, stay: float) -> None:
        with contextlib.suppress(KafkaException), contextlib.closing(Consumer(self._passer_by)) as one:
            one.subscribe([self.settings.input])
            one.poll(stay)
