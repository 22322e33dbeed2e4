"""Counting of the records that a task reads, to notice a log that no longer has those of the committed state."""

from __future__ import annotations

from driftway.worker.errors import plural
from driftway.worker.kafka.error_handling import ErrorAction, TaskError
from driftway.worker.state.input_read import InputRead


class TopicRecreated(TaskError):
    """An input topic was deleted and recreated, so the offsets of a task are those of other records."""

    action = ErrorAction.ABORT


def require_topics(read: InputRead, topic: str | None, labels: str | None) -> None:
    """Require that the input and the label topic still have the ids that `read` knows of them.

    Raises
    ------
    TopicRecreated
        One of them was deleted and recreated.
    """
    found = read.recreated(topic, labels)
    if found is not None:
        raise TopicRecreated(found)


class RecordsDiffer(TaskError):
    """The log holds other records than those that the committed state was learned from.

    Parameters
    ----------
    expected, found : InputRead
        What that state had read, and what was read again.
    """

    action = ErrorAction.RETRY

    def __init__(self, expected: InputRead, found: InputRead) -> None:
        if found.records < expected.records:
            read = f"only {found.records:,} of them could be read again"
        else:
            read = f"{found.records:,} were read again"
        super().__init__(
            f"the committed state stands for {plural(expected.records, 'record')} since offset {expected.since}, "
            f"but {read}"
        )
        self.missing = expected.records - found.records


class InputCount:
    """What a task's state has read of its input, compared once with what the last commit had read."""

    def __init__(self) -> None:
        self.read = self.committed = InputRead()
        """What has been read up to the task's position, and up to its last commit."""
        self.gap: RecordsDiffer | None = None
        """Why the state of the last commit cannot be relearned from the log; None if no attempt has shown that."""
        self._expected: InputRead | None = None
        self._counted_at = 0

    @property
    def waiting(self) -> bool:
        """Whether records of the last commit are still to be read again: until then nothing may be committed."""
        return self._expected is not None

    def restart(self, read: InputRead | None, expected: InputRead | None, counted_at: int) -> None:
        """Start again after a restore.

        Parameters
        ----------
        read : InputRead or None
            What the restored state has read; None: it is that of the last commit, kept in memory.
        expected : InputRead or None
            What the last commit had read; None if that is not to be compared.
        counted_at : int
            The offset after the last record that it had read.
        """
        self.gap, self.read = None, self.committed if read is None else read
        self._expected, self._counted_at = expected, counted_at

    def add(self, records: int, position: int) -> None:
        """Count records that were read up to `position`; raises as `require`."""
        self.read = self.read.plus(records)
        self.require(position)

    def seen(self, epoch: int | None) -> None:
        """Note the leader epoch of a record that has arrived; None if it is not known."""
        self.read = self.read.seen(epoch)

    def require(self, position: int) -> None:
        """Compare the counts, once `position` is behind the last record of the commit.

        Raises
        ------
        RecordsDiffer
            They differ.
        """
        expected = self._expected
        if expected is None or position < self._counted_at:
            return
        self._expected = None
        if self.read.missing(expected):
            self.gap = RecordsDiffer(expected, self.read)
            raise self.gap
