"""Audit of a deployment: every partition of the input, up to the offset committed when the audit began."""

from __future__ import annotations

from contextlib import ExitStack, closing
from dataclasses import replace

from driftway.worker.admin.audit.diff import Mismatch, MissingRecord
from driftway.worker.admin.audit.first_outputs import first_outputs
from driftway.worker.admin.audit.output_options import check_schemas
from driftway.worker.admin.audit.partition import PartitionAudit
from driftway.worker.admin.audit.report import AuditReport, AuditTarget, PartitionStreams, Progress
from driftway.worker.admin.input_records import (
    counted,
    last_record,
    require_records,
    require_same_topics,
    require_uncut,
)
from driftway.worker.errors import Failure, UsageFailure, no_topic, plural
from driftway.worker.kafka.deadline import Deadline
from driftway.worker.kafka.error_handling import translated_errors
from driftway.worker.kafka.log_reader.reader import ANY, ASK_SECONDS, offset_of_group, open_reader, watermarks
from driftway.worker.kafka.log_reader.records import RecordStream
from driftway.worker.kafka.log_reader.stream import MessageStream, Readers, reader_of
from driftway.worker.kafka.log_reader.topic_facts import compacted_topics
from driftway.worker.kafka.log_reader.visibility import log_ends
from driftway.worker.kafka.topics import Topics, present_topics
from driftway.worker.settings import EARLIEST, WorkerSettings
from driftway.worker.state.changelog.ownership import read_owner
from driftway.worker.state.plans.model_plan import FIRST


class Deployment:
    """The partitions to audit, with the group's committed offsets at the start of the audit.

    Parameters
    ----------
    settings : WorkerSettings
        The workers' settings; those that do not affect the bits of the outputs are ignored.
    first_plan : int
        Number of the plan whose models the settings have; those of earlier ones are not known.

    Raises
    ------
    UsageFailure
        A topic is missing, or a client property is not valid.
    Failure
        The group has committed nothing.
    Unreachable
        No broker answers.
    """

    def __init__(self, settings: WorkerSettings, first_plan: int = FIRST) -> None:
        self.settings, self._first_plan = settings, first_plan
        counts = present_topics(settings.bootstrap, settings.passthrough)
        if settings.input not in counts:
            raise UsageFailure(no_topic(settings.input))
        self._topics = settings.topics.existing(counts)
        for name in self._topics.outputs():
            if name not in counts:
                with_options = {
                    settings.topics.alarms: " with --detector",
                    settings.topics.challengers: " with --emit all",
                }
                more = with_options.get(name, "")
                why = f"no worker of group {settings.group} has run on {settings.input}{more} yet"
                if self._topics.snapshots in counts and not more:
                    why = "it was deleted: the next start of a worker creates it again"
                raise UsageFailure(no_topic(name, why))
            if counts[name] < counts[settings.input]:
                raise UsageFailure(
                    f"topic {name} has {plural(counts[name], 'partition')}, the input {counts[settings.input]}"
                )
        self.targets: list[AuditTarget] = []
        self._initial_partitions = 0
        """Number of partitions that the input had when the group started; 0: unknown, or of no importance."""
        self.total = 0
        """Approximate number of records to read."""
        self._ask(range(counts[settings.input]))
        if all(target.committed is None for target in self.targets):
            raise Failure(f"group {settings.group} has committed no offset of {settings.input}: nothing to check")

    def audit(self, progress: Progress) -> list[AuditReport]:
        """Audit every partition.

        Raises
        ------
        Mismatch
            The first difference.
        Failure
            Nothing can be checked.
        Unreachable
            The broker does not answer any more.
        """
        settings = self.settings
        with translated_errors(settings), closing(Readers(settings)) as readers:
            reports = [
                audit_partition(self._settings_of(target.partition), self._topics, target, progress, readers)
                for target in self.targets
            ]
        if all(report.empty for report in reports):
            reasons = "; ".join(sentence for report in reports for sentence in report.unchecked)
            raise Failure(reasons or f"{self.settings.input}: there is nothing to check yet")
        check_schemas(settings, reports)
        return reports

    def _settings_of(self, partition: int) -> WorkerSettings:
        """The settings for a partition: one that was added later was read from its beginning, whatever --start says."""
        added = 0 < self._initial_partitions <= partition
        return replace(self.settings, start=EARLIEST) if added else self.settings

    def _ask(self, partitions: range) -> None:
        settings = self.settings
        deadline = Deadline(ASK_SECONDS)
        if settings.start != EARLIEST:
            with translated_errors(settings), closing(open_reader(settings, ANY)) as reader:
                owner = read_owner(settings, reader, deadline)
                self._initial_partitions = 0 if owner is None else owner[2]
        with translated_errors(settings), closing(reader_of(settings)) as reader:
            for p in partitions:
                committed, metadata = offset_of_group(reader, settings.input, p, deadline)
                record = last_record(reader, settings, p)
                last = counted(record, metadata)
                said = (0, None) if record is None else (record.set_aside_from, record.rounds)
                target = AuditTarget(p, committed, metadata, last, *said, self._first_plan)
                low, _ = watermarks(reader, settings.input, p, deadline)
                self.targets.append(target)
                self.total += max(0, (target.committed or 0) - low)
        require_same_topics(settings, settings.label_topic, [target.last.read for target in self.targets])


def audit_partition(
    settings: WorkerSettings, topics: Topics, target: AuditTarget, progress: Progress, readers: Readers
) -> AuditReport:
    """Recompute a partition up to its committed offset and compare.

    `topics` are those that the group has; `readers` are lent to the partitions one after the other.

    Raises
    ------
    Mismatch
        The first difference.
    CannotRestore
        There is one, and the log no longer holds all records that the workers learned from.
    Failure
        The topics cannot be read.
    """
    model, p = settings.model, target.partition
    passed = bool(model.pass_headers or model.cloudevents)
    with closing(open_reader(settings, ANY)) as reader:
        found = log_ends(reader, topics.outputs(), p, Deadline(ASK_SECONDS))
        stored = p, found[topics.snapshots], target.last.read.topic
        begins, adoptions = first_outputs(settings, reader, *stored, readers)
    with ExitStack() as stack:

        def records(name: str, end: int, headers: bool) -> RecordStream:
            stream = RecordStream(settings, settings.client, name, p, end, headers, begins.get(name), readers)
            return stack.enter_context(stream)

        def messages(name: str) -> MessageStream:
            return stack.enter_context(MessageStream(settings, name, p, found[name], begins.get(name), readers))

        streams = PartitionStreams(
            records(topics.input, target.committed or 0, model.reads_headers),
            records(topics.predictions, found[topics.predictions], passed),
            messages(topics.accuracy),
            messages(topics.rejected),
            messages(topics.alarms) if topics.watched else None,
            messages(topics.shares) if topics.shared else None,
            records(topics.challengers, found[topics.challengers], passed) if topics.challenged else None,
            messages(topics.snapshots),
            adoptions,
        )
        audit = PartitionAudit(settings, target, streams, progress)
        try:
            return audit.audit()
        except Mismatch as difference:
            if target.committed:
                require_uncut(settings, p, target.last)
                require_records(settings, p, settings.label_topic, audit.counted_states())
            if isinstance(difference, MissingRecord):
                name = difference.topic
                if policy := compacted_topics(settings.bootstrap, settings.passthrough, [name]).get(name):
                    cause = f"{name} has cleanup.policy {policy}, and compaction removes older records of a key"
                    raise Mismatch(f"{difference}; {cause}") from None
            raise
