"""The topic of a group's plans, PREFIX.models: one record per plan, compacted, in one partition.

If models begin from a file, the chunks of their states are before the plan, in the same transaction.

If two write at once, the transactional id decides: the second fences the first, which reports this. A plan is written
after those that its writer has read, so no number is used twice.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import replace

from confluent_kafka import Consumer, KafkaException, Producer

from driftway.worker.errors import Failure
from driftway.worker.kafka.client_config import base_properties, quiet, without_membership
from driftway.worker.kafka.deadline import Deadline
from driftway.worker.kafka.error_handling import FENCED, TimedOut, reported_fatal_error, retry, translated_errors
from driftway.worker.kafka.log_reader.reader import MessageReader, ignore_out_of_range, open_reader, partitions_of
from driftway.worker.kafka.topics import create_topics
from driftway.worker.settings import WorkerSettings
from driftway.worker.state.plans.file_state import FileState, StateChunks
from driftway.worker.state.plans.model_plan import ModelPlan, PlanAdoption
from driftway.worker.state.stored_fields import Malformed

PARTITION = 0
COMPACTED = {"cleanup.policy": "compact"}
WRITE_SECONDS, VISIBLE_SECONDS = 30.0, 0.05
TRANSACTION_TIMEOUT_MS = 30_000


def topic_exists(reader: Consumer, settings: WorkerSettings, deadline: Deadline) -> bool:
    """Whether the group has a topic of plans.

    Raises
    ------
    KafkaException, TimedOut
        The broker did not answer in time.
    """
    return partitions_of(reader, settings.topics.models, deadline) > 0


def read_plans(
    reader: Consumer, settings: WorkerSettings, deadline: Deadline, on_error: Callable[[str], None]
) -> list[ModelPlan]:
    """Read all plans of a topic that exists, by their numbers; `on_error` is told of records that are none.

    Raises
    ------
    KafkaException, TimedOut
        The broker did not deliver in time.
    """
    plans, chunks = dict[int, ModelPlan](), StateChunks()
    topic_partition = settings.topics.models, PARTITION
    reading = MessageReader(reader, {topic_partition: 0}, on_error=ignore_out_of_range)
    what = f"the plans in {settings.topics.models} were"
    while (message := reading.next(deadline, what)) is not None:
        if chunks.take(message.key(), message.value()):
            continue
        plan = parse_plan(message.value(), f"{topic_partition[0]}/{PARTITION}@{message.offset()}", on_error)
        if plan is not None:
            plans[plan.number] = plan.with_states(chunks.of)
    return [plans[number] for number in sorted(plans)]


def known_plans(
    reader: Consumer, settings: WorkerSettings, deadline: Deadline, on_error: Callable[[str], None]
) -> list[ModelPlan]:
    """As `read_plans`; none if the group has no topic of plans."""
    return read_plans(reader, settings, deadline, on_error) if topic_exists(reader, settings, deadline) else []


def with_states(
    adoptions: Sequence[PlanAdoption], reader: Consumer, settings: WorkerSettings, deadline: Deadline
) -> list[PlanAdoption]:
    """Return adoptions of plans, as found among the snapshots, with the states of models that begin from a file.

    Raises
    ------
    Failure
        One of these states is not in the topic of plans any more.
    KafkaException, TimedOut
        The broker did not deliver in time.
    """
    if all(adoption.plan.lacking is None for adoption in adoptions):
        return list(adoptions)
    found = with_states_of(adoptions, known_plans(reader, settings, deadline, lambda _: None))
    for adoption in found:
        if (lacking := adoption.plan.lacking) is not None:
            what = f"the state with which {lacking.name} began in plan {adoption.plan.number}"
            raise Failure(f"{what} is gone from {settings.topics.models}, or damaged")
    return found


def with_states_of(adoptions: Sequence[PlanAdoption], plans: Sequence[ModelPlan]) -> list[PlanAdoption]:
    """Return adoptions with the states of files that plans of the topic have; those that none has are lacking still."""
    states = {state.digest: state for plan in plans for state in plan.states}

    def find(state: FileState) -> FileState:
        return states.get(state.digest, state)

    return [replace(adoption, plan=adoption.plan.with_states(find)) for adoption in adoptions]


def with_state(adoption: PlanAdoption, settings: WorkerSettings) -> PlanAdoption:
    """As `with_states`, of one adoption, with a client of its own."""
    if adoption.plan.lacking is None:
        return adoption
    with translated_errors(settings), closing(open_reader(settings)) as reader:
        return with_states([adoption], reader, settings, Deadline(WRITE_SECONDS))[0]


def parse_plan(value: bytes | None, where: str, on_error: Callable[[str], None]) -> ModelPlan | None:
    """Parse a record's value; tell `on_error` if it is no plan."""
    try:
        return ModelPlan.parse(value)
    except Malformed as error:
        on_error(f"the plan at {where} cannot be read: {error}")
        return None


class WrittenMeanwhile(Failure):
    """Another one has begun to write plans since, so this one has written nothing."""


class PlanWriter:
    """Writes the next plan of a group; no other writer gets in between.

    Parameters
    ----------
    settings : WorkerSettings
        The group's topics and client properties.

    Raises
    ------
    Failure
        The topic cannot be created.
    KafkaException, TimedOut
        The broker did not answer in time.
    """

    def __init__(self, settings: WorkerSettings) -> None:
        self._settings, self._deadline = settings, Deadline(WRITE_SECONDS)
        self._stored = set[str]()
        """Digests of the states in the topic."""
        topic = settings.topics.models
        create_topics(settings.bootstrap, settings.passthrough, {topic: (1, COMPACTED)})
        properties = without_membership(base_properties(settings.bootstrap, settings.passthrough))
        own = {
            "transactional.id": settings.transactional_id("models"),
            "transaction.timeout.ms": TRANSACTION_TIMEOUT_MS,
            "linger.ms": 0,
        }
        self._producer = Producer(quiet({**properties, **own}))
        retry(lambda: self._producer.init_transactions(self._deadline.remaining()), self._deadline)

    def read(self, on_error: Callable[[str], None]) -> list[ModelPlan]:
        """As `read_plans`; nobody has written since, once `write` returns."""
        with closing(open_reader(self._settings)) as reader:
            plans = read_plans(reader, self._settings, self._deadline, on_error)
        self._stored |= {state.digest for plan in plans for state in plan.states if state.learner is not None}
        return plans

    def write(self, plans: Sequence[ModelPlan]) -> None:
        """Write plans behind new states from files, all of it or nothing, and wait until everybody can read them.

        Raises
        ------
        WrittenMeanwhile
            Another writer has begun since.
        KafkaException, TimedOut
            The broker did not take them in time.
        """
        topic, producer, deadline = self._settings.topics.models, self._producer, self._deadline
        try:
            producer.begin_transaction()
            with reported_fatal_error(producer):
                self._produce(plans)
            retry(lambda: producer.commit_transaction(deadline.remaining()), deadline)
        except KafkaException as error:
            # A broker may answer a writer that loses the race at its commit with an unknown error.
            if error.args[0].code() in FENCED or self._is_behind(plans[-1]):
                raise WrittenMeanwhile(
                    f"another command changes the models of group {self._settings.group} at the same time: nothing was "
                    "changed by this one; run it again if you still want the change"
                ) from None
            raise
        while plans[-1] not in self.read(lambda _: None):  # its marker is written a moment after the commit
            if deadline.passed:
                raise TimedOut(f"the plan cannot be read from {topic} in time")
            time.sleep(VISIBLE_SECONDS)

    def _produce(self, plans: Sequence[ModelPlan]) -> None:
        topic, producer = self._settings.topics.models, self._producer
        for state in {state.digest: state for plan in plans for state in plan.states}.values():
            for key, value in state.records() if state.digest not in self._stored else ():
                producer.produce(topic, value, key=key, partition=PARTITION)
        for plan in plans:
            producer.produce(topic, plan.write(), key=str(plan.number), partition=PARTITION)

    def _is_behind(self, plan: ModelPlan) -> bool:
        """Whether somebody else has written a plan of this number, or a later one."""
        return any(one.number >= plan.number and one != plan for one in self.read(lambda _: None))
