"""What the steps of a restore share: the partition, two readers of its logs, and one deadline."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from typing import Protocol

from confluent_kafka import Consumer

from driftway.worker.errors import Failure
from driftway.worker.kafka.client_config import PYTHON
from driftway.worker.kafka.deadline import Deadline
from driftway.worker.kafka.error_handling import query
from driftway.worker.kafka.log_reader.reader import ANY, open_reader, partitions_of, watermarks
from driftway.worker.kafka.log_reader.topic_facts import UNKNOWN_IDS, TopicIds
from driftway.worker.kafka.log_reader.visibility import log_ends
from driftway.worker.kafka.topics import Topics
from driftway.worker.settings import WorkerSettings
from driftway.worker.state.changelog.hanging_transactions import HangingTransactions
from driftway.worker.state.delayed_labels.merge_order import MergePosition
from driftway.worker.state.model import Model
from driftway.worker.state.plans.model_plan import ModelPlan, PlanAdoption
from driftway.worker.state.plans.plan_topic import with_states
from driftway.worker.stream.task.committing.checkpoint import Checkpoint
from driftway.worker.stream.task.committing.exactly_once import ExactlyOnceCheckpoint


class MakeModel(Protocol):
    """Makes a model in its initial state: of a given plan; without one, of the first."""

    def __call__(self, plan: ModelPlan | None = None) -> Model: ...


def joined_notes(*notes: str | None) -> str | None:
    """Return notes for the log as one; None if there are none."""
    return "; ".join(note for note in notes if note) or None


@dataclass(frozen=True)
class RestoreContext:
    """A restore's partition, clients and deadline.

    Parameters
    ----------
    settings, partition, checkpoint, make_model, deadline
        As `driftway.worker.stream.task.restoring.restore.restore`.
    reader, uncommitted_reader : Consumer
        A read_committed and a read_uncommitted reader.
    ids : TopicIds
        Ids that the input and the label topic have now.
    ended : dict
        Topic -> first record of a hanging transaction that this restore has ended.
    more : tuple of str
        Outputs that the group has though its options do not ask for them: of alarms, of challengers' predictions.
    """

    settings: WorkerSettings
    partition: int
    checkpoint: Checkpoint
    make_model: MakeModel
    deadline: Deadline
    reader: Consumer
    uncommitted_reader: Consumer
    ids: TopicIds = UNKNOWN_IDS
    ended: dict[str, int] = field(default_factory=dict)
    more: tuple[str, ...] = ()

    @property
    def topics(self) -> Topics:
        """The group's topics, with those that an earlier start or a plan has made."""
        return self.settings.topics.existing(self.more)

    @property
    def where(self) -> str:
        """Topic and partition, for messages."""
        return f"{self.settings.input}/{self.partition}"

    @property
    def transactions(self) -> ExactlyOnceCheckpoint | None:
        """The checkpoint if its commits are transactions, else None: only these have commit records to restore by."""
        return self.checkpoint if isinstance(self.checkpoint, ExactlyOnceCheckpoint) else None

    def partitions_of(self, topic: str) -> int:
        """Return how many partitions a topic has, as known to both readers."""
        return min(partitions_of(reader, topic, self.deadline) for reader in (self.reader, self.uncommitted_reader))

    def log_begins(self, low: int) -> MergePosition:
        """First offsets that the logs of the input, which begins at `low`, and of the label topic hold."""
        labels = self.settings.label_topic
        begin = watermarks(self.reader, labels, self.partition, self.deadline)[0] if labels else 0
        return MergePosition(low, begin)

    def with_states(self, adoptions: Iterable[PlanAdoption]) -> tuple[PlanAdoption, ...] | None:
        """As `driftway.worker.state.plans.plan_topic.with_states`; None if a state is gone."""
        try:
            return tuple(with_states(list(adoptions), self.reader, self.settings, self.deadline))
        except Failure:
            return None

    def note_ends(self) -> dict[str, int]:
        """Record and return the present ends of the outputs' logs; the new producer writes behind them."""
        assert self.transactions is not None  # noqa: S101
        outputs = self.topics.outputs()
        self.checkpoint.ends = log_ends(self.uncommitted_reader, outputs, self.partition, self.deadline)
        return self.checkpoint.ends

    def end_hanging(self) -> str | None:
        """End hanging transactions in the outputs and the group's offsets; return a note for the log if there were any.

        Raises
        ------
        KafkaException, TimedOut
            The broker did not answer in time.
        """
        readers = self.reader, self.uncommitted_reader
        transactions = HangingTransactions(self.settings, self.partition, readers, self.deadline)
        hanging = transactions.find(self.note_ends())
        if not hanging and not transactions.offset_hangs():
            return None
        # The Python client, because it takes the group metadata of this reader.
        producer = ExactlyOnceCheckpoint(replace(self.settings, client=PYTHON), self.partition)
        for transaction in transactions.endings(hanging):
            producer.acquire(self.deadline)
            producer.end_hanging(transaction, self.reader.consumer_group_metadata(), self.deadline)
        transactions.require_ended(hanging)
        self.ended.update(hanging)
        self.checkpoint.acquire(self.deadline)
        self.note_ends()
        return f"the broker had not ended the last transaction in {', '.join(hanging) or 'the offsets'}"


@contextmanager
def restore_context(
    settings: WorkerSettings,
    partition: int,
    checkpoint: Checkpoint,
    make_model: MakeModel,
    deadline: Deadline,
    ids: TopicIds,
) -> Iterator[RestoreContext]:
    """Open the readers of one restore, and close them after it."""
    with closing(open_reader(settings)) as reader, closing(open_reader(settings, ANY)) as uncommitted_reader:
        # As in `acquire`: load the metadata first, or the coordinator lookup is delayed.
        query(lambda: reader.list_topics(settings.input, deadline.remaining()), deadline)
        context = RestoreContext(settings, partition, checkpoint, make_model, deadline, reader, uncommitted_reader, ids)
        topics = settings.topics
        others = [name for name in (topics.alarms, topics.challengers) if name not in topics.outputs()]
        yield replace(context, more=tuple(name for name in others if context.partitions_of(name) > 0))
