"""What learners told, recomputed; and what they took in, beside what the others had told by then."""

from __future__ import annotations

from bisect import bisect_left
from contextlib import closing
from operator import itemgetter

from driftway.learners.averaging.exchange import Exchange, Heard
from driftway.worker.admin.audit.diff import Difference
from driftway.worker.admin.audit.outputs import Ledger
from driftway.worker.kafka.deadline import Deadline
from driftway.worker.kafka.error_handling import ask
from driftway.worker.kafka.log_reader.reader import ASK_SECONDS
from driftway.worker.kafka.log_reader.stream import reader_of
from driftway.worker.kafka.topics import partition_counts
from driftway.worker.settings import WorkerSettings
from driftway.worker.state.changelog.snapshot_scan import whole_log
from driftway.worker.state.model import Model
from driftway.worker.state.model_sharing.exchange_record import Minute, Outline, gap, outline
from driftway.worker.state.model_sharing.model_exchange import Box, fold, hear, heard_by, neighbour_share


class Shares(Ledger):
    """Records of what learners told and took in, one of each meeting; parameters as `Ledger`."""

    noun = "record of shares"


class Hearsay:
    """Lets a partition's meetings be repeated, and looks at what was taken in at each.

    What the partitions have told is held in memory, as far as it is in the topic.

    Parameters
    ----------
    settings : WorkerSettings
        The workers'.
    partition : int
        Whose meetings.
    """

    def __init__(self, settings: WorkerSettings, partition: int) -> None:
        share = settings.model.share
        assert share is not None  # noqa: S101
        self._share, self._topic, self._partition = share, settings.topics.shares, partition
        self._logs = shares_of(settings)
        self._own = [value for _, value in self._logs[partition]]
        self._outlines = [one for one in map(outline, self._own) if one is not None]
        self._told: dict[int, list[tuple[int, Minute]]] = {}
        """Partition -> offsets and records that the learners understand."""
        self._looked_at: tuple[Minute, Box | None] | None = None
        self.unknown = 0
        """Meetings before which others have told what is not there any more."""

    def whole(self, model: Model, offset: int) -> bool:
        """Whether all meetings are there of a model that stands at an input offset, from there on."""
        return gap(self._outlines, 0 if model.talk is None else model.talk.number, offset) is None

    def attend(self, model: Model, offset: int) -> None:
        """Let a model that stands at an input offset repeat its meetings, and look on."""
        if model.talk is not None:
            model.talk.repeat(self._own, offset)
            model.talk.witness = self._look

    def _look(self, minute: Minute, j: int, exchanges: tuple[Exchange, ...], since: int) -> None:
        if self._looked_at is None or self._looked_at[0] is not minute:
            self._looked_at = minute, self._box(minute, exchanges)
            self.unknown += self._looked_at[1] is None
        box = self._looked_at[1]
        if box is None:
            return
        neighbour = neighbour_share(self._partition, minute.partitions, self._share)
        wanted, found = hear(exchanges[j], j, since, box, neighbour), minute.heard[j]
        if not _same(wanted, found):
            raise Difference(
                f"{self._topic}/{self._partition}: meeting {minute.number} differs: expected that learner {j} took in "
                f"{_said(wanted)}, found {_said(found)}"
            )

    def _box(self, minute: Minute, exchanges: tuple[Exchange, ...]) -> Box | None:
        """What the others have told between the meeting before and this one; None: not all of that is there."""
        place = next((i for i, one in enumerate(self._outlines) if _of(one) == (minute.number, minute.offset)), 0)
        if place == 0 and minute.number != 1:
            return None
        before = {} if place == 0 else self._outlines[place - 1].took
        box: Box = {}
        for p in sorted(heard_by(self._partition, minute.partitions, self._share)):
            told = self._minutes(p, exchanges)
            first, end = (
                bisect_left(told, offset, key=itemgetter(0)) for offset in (before.get(p, 0), minute.took.get(p, 0))
            )
            number = told[first - 1][1].number if first else 0
            for _, one in told[first:end]:
                if one.number not in (1, number + 1):
                    return None
                number = one.number
                if one.model == minute.model:
                    fold(box, exchanges, one)
        return box

    def _minutes(self, p: int, exchanges: tuple[Exchange, ...]) -> list[tuple[int, Minute]]:
        if p not in self._told:
            likes = [exchange.like for exchange in exchanges]
            read = ((offset, Minute.read(value, likes)) for offset, value in self._logs.get(p, []))
            self._told[p] = [(offset, one) for offset, one in read if one is not None]
        return self._told[p]


def shares_of(settings: WorkerSettings) -> dict[int, list[tuple[int, bytes | None]]]:
    """Partition -> offsets and values of all that is in the topic of shares."""
    topic, deadline = settings.topics.shares, Deadline(ASK_SECONDS)
    found = {}
    with closing(reader_of(settings)) as reader:
        known = ask(lambda: reader.list_topics(topic, deadline.remaining()), deadline)
        for p in range(partition_counts(known)[topic]):
            found[p] = whole_log(reader, topic, p, deadline)
    return found


def _of(one: Outline) -> tuple[int, int]:
    return one.number, one.offset


def _same(wanted: Heard | None, found: Heard | None) -> bool:
    if wanted is None or found is None:
        return wanted is found
    ours, theirs = wanted.belief, found.belief
    pairs = [(ours.weight, theirs.weight), *([] if ours.R is None or theirs.R is None else [(ours.R, theirs.R)])]
    return wanted.rows == found.rows and all(one.tobytes() == other.tobytes() for one, other in pairs)


def _said(heard: Heard | None) -> str:
    if heard is None:
        return "nothing"
    return f"{heard.rows} rows of others, weights from {heard.belief.weight.ravel()[0]!r} on"
