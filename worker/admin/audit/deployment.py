"""A whole deployment: every partition of an input, up to what the group had committed when the audit began."""

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
    """What is to be audited, as it stood at the beginning.

    Parameters
    ----------
    settings : WorkerSettings
        As the workers have them; what does not decide the outputs' bits is not looked at.

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
                told = " with --detector" if name == settings.topics.alarms else ""
                raise UsageFailure(
                    f"there is no topic {name}: no worker of group {settings.group} has run on {settings.input}{told} "
                    "yet"
                )
            if counts[name] < counts[settings.input]:
                raise UsageFailure(f"topic {name} has {counts[name]} partitions, the input {counts[settings.input]}")
        self.targets: list[AuditTarget] = []
        self.total = 0
        """Records to go through, about."""
        self._ask(range(counts[settings.input]))
        if all(standing.committed is None for standing in self.targets):
            raise Failure(f"group {settings.group} has committed nothing of {settings.input}: nothing can be checked")

    def audit(self, progress: Progress) -> list[AuditReport]:
        """Audit every partition.

        Raises
        ------
        Mismatch
            The first one.
        Failure
            Nothing can be checked.
        Unreachable
            The broker has gone.
        """
        with translated_errors(self.settings):
            accounts = [audit_partition(self.settings, standing, progress) for standing in self.targets]
        if all(account.empty for account in accounts):
            reasons = "; ".join(sentence for account in accounts for sentence in account.unchecked)
            raise Failure(reasons or f"{self.settings.input}: nothing has been written that could be checked")
        return accounts

    def _ask(self, partitions: range) -> None:
        settings = self.settings
        deadline = Deadline(ASK_SECONDS)
        with translated_errors(settings), closing(reader_of(settings)) as reader:
            for p in partitions:
                standing = AuditTarget(p, *committed_offset(reader, settings.input, p, deadline))
                low, _ = watermarks(reader, settings.input, p, deadline)
                self.targets.append(standing)
                self.total += max(0, (standing.committed or 0) - low)
