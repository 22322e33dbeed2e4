"""Audit of a deployment: every partition of the input, up to the offset committed when the audit began."""

from __future__ import annotations

from contextlib import closing

from driftway.worker.admin.audit.partition import audit_partition
from driftway.worker.admin.audit.report import AuditReport, AuditTarget, Progress
from driftway.worker.errors import Failure, UsageFailure
from driftway.worker.kafka.client_config import require_broker
from driftway.worker.kafka.deadline import Deadline
from driftway.worker.kafka.error_handling import translated_errors
from driftway.worker.kafka.log_reader.reader import ASK_SECONDS, committed_offset, watermarks
from driftway.worker.kafka.log_reader.stream import reader_of
from driftway.worker.kafka.topics import partition_counts
from driftway.worker.settings import WorkerSettings


class Deployment:
    """The partitions to audit, with the group's committed offsets at the start of the audit.

    Parameters
    ----------
    settings : WorkerSettings
        The workers' settings; those that do not affect the bits of the outputs are ignored.

    Raises
    ------
    UsageFailure
        A topic is missing, or a client property is not valid.
    Failure
        The group has committed nothing.
    Unreachable
        No broker answers.
    """

    def __init__(self, settings: WorkerSettings) -> None:
        self.settings = settings
        counts = partition_counts(require_broker(settings.bootstrap, settings.passthrough))
        if settings.input not in counts:
            raise UsageFailure(f"there is no topic {settings.input}")
        for name in settings.topics.outputs():
            if name not in counts:
                more = " with --detector" if name == settings.topics.alarms else ""
                raise UsageFailure(
                    f"there is no topic {name}: no worker of group {settings.group} has run on {settings.input}{more} "
                    "yet"
                )
            if counts[name] < counts[settings.input]:
                raise UsageFailure(f"topic {name} has {counts[name]} partitions, the input {counts[settings.input]}")
        self.targets: list[AuditTarget] = []
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
        with translated_errors(self.settings):
            reports = [audit_partition(self.settings, target, progress) for target in self.targets]
        if all(report.empty for report in reports):
            reasons = "; ".join(sentence for report in reports for sentence in report.unchecked)
            raise Failure(reasons or f"{self.settings.input}: there is nothing to check yet")
        return reports

    def _ask(self, partitions: range) -> None:
        settings = self.settings
        deadline = Deadline(ASK_SECONDS)
        with translated_errors(settings), closing(reader_of(settings)) as reader:
            for p in partitions:
                target = AuditTarget(p, *committed_offset(reader, settings.input, p, deadline))
                low, _ = watermarks(reader, settings.input, p, deadline)
                self.targets.append(target)
                self.total += max(0, (target.committed or 0) - low)
