"""Compare a partition of an output topic with the recomputed records: same records, same order, byte for byte."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import repeat
from typing import Any

from driftway.worker.admin.audit.column_equality import same
from driftway.worker.admin.audit.diff import (
    Mismatch,
    MissingRecord,
    describe_difference,
    describe_header_difference,
    fields,
    input_offset,
    shown,
)
from driftway.worker.admin.audit.report import AuditReport
from driftway.worker.errors import plural
from driftway.worker.kafka.log_reader.records import RecordStream
from driftway.worker.kafka.log_reader.stream import MessageStream
from driftway.worker.wire.columns import BytesColumn
from driftway.worker.wire.events import RejectedEvent
from driftway.worker.wire.headers import Headers
from driftway.worker.wire.rejections import (
    EARLIER_INPUT_OFFSET,
    EXCEPTION,
    INPUT_OFFSET,
    OWN_COUNT,
    TRUNCATED,
    RejectionRecord,
    answered_offset,
    in_earlier_words,
    is_set_aside,
    record_of,
    streams_headers,
    without_own,
)

RecordIdentity = tuple[Any, ...]
"""The compared parts of a record: key and value, and headers where they matter."""

DRAINED = 10_000

EARLIER_KAPPA = re.compile(rb'"(kappa|kappa_temporal)":([01]\.0)(?=,)')
"""What earlier versions wrote in an accuracy point where a kappa is undefined."""
TEST_FIELDS = re.compile(rb',"better_log_e":.*?,"worse_since":[^,]*')
"""What they did not write in a challenger's."""


class TopicComparison:
    """Compares one partition of an output topic with recomputed records.

    Parameters
    ----------
    stream : MessageStream or RecordStream
        The partition's records.
    input_name : str
        The input partition as named in messages: ``EVENTS/0``.
    span : tuple of int
        Input offsets (first, committed); records that belong to offsets outside are not compared.
    """

    noun = "record"

    def __init__(self, stream: MessageStream | RecordStream, input_name: str, span: tuple[int, int]) -> None:
        self.stream = stream
        self.matched = 0
        self.newest = -1
        """Largest input offset at or after `committed` that a record belongs to; -1 if there is none."""
        self._input = input_name
        self._begin, self._committed = span
        self._retained = stream.low > 0
        """Whether retention may have deleted the first records."""
        self._order: dict[Any, int] = {}
        """Learner -> its index among the records of an offset."""

    def rank(self, learners: Sequence[Any]) -> None:
        """Expect the records of these from now on, which `learner` tells apart, in this order at each offset."""
        self._order = {learner: index for index, learner in enumerate(learners)}

    def learner(self, identity: RecordIdentity) -> Any:
        """The model whose record it is, if there are several records for an offset."""
        return None

    def require(self, wanted: Sequence[RecordIdentity]) -> None:
        """Compare the next recomputed records with those in the topic.

        Raises
        ------
        Mismatch
            A record is missing, is unexpected, or has different bytes.
        """
        messages = self.stream.peek(len(wanted))
        if len(messages) == len(wanted) and all(map(self._same, messages, wanted)):
            self.stream.drop(len(wanted))
            self.matched += len(wanted)
            return
        for want in wanted:
            self._require_one(want)

    def named(self, identity: RecordIdentity) -> str:
        """What a record is, in messages."""
        return self.noun

    def finish(self) -> None:
        """Read to the end and require that no further record belongs to an offset below `committed`.

        Raises
        ------
        Mismatch
            There is such a record.
        """
        while messages := self.stream.peek(DRAINED):
            for message in messages:
                if not self._outside(message):
                    raise self._too_many(message, f"all offsets up to {self._committed} have theirs")
            self.stream.drop(len(messages))

    def first(self) -> int | None:
        """Input offset of the first remaining record; None if there is none."""
        messages = self.stream.peek(1)
        return self._order_key(messages[0])[0] if messages else None

    def identity(self, message: Any) -> RecordIdentity:
        """The parts of a message that are compared."""
        return message.key(), message.value()

    def order_key(self, identity: RecordIdentity) -> tuple[int, int]:
        """Input offset, and rank among the records of that offset.

        Raises
        ------
        ValueError
            The record does not hold them.
        """
        return input_offset(identity[1] or b""), self._order.get(self.learner(identity), len(self._order))

    def explain(self, want: RecordIdentity, got: RecordIdentity) -> str:
        """Describe how two records with the same order key differ."""
        if want[0] != got[0]:
            return f"expected the key {shown(want[0])}, found {shown(got[0])}"
        if len(want) > 2 and want[2] != got[2]:
            return describe_header_difference(want[2], got[2])
        return describe_difference(want[1], got[1])

    def _same(self, message: Any, want: RecordIdentity) -> bool:
        return self.identity(message) == want

    def _require_one(self, want: RecordIdentity) -> None:
        rank = self.order_key(want)
        while messages := self.stream.peek(1):
            message = messages[0]
            got = self.identity(message)
            if self._same(message, want):
                self.stream.drop(1)
                self.matched += 1
                return
            if self._outside(message):
                self.stream.drop(1)
                continue
            found = self._order_key(message)
            if found > rank and self._retained and not self.matched:
                return
            if found > rank:
                raise MissingRecord(
                    f"{self._input}@{rank[0]} has no {self.named(want)}: expected it at {self._at(message)}, "
                    f"found that of {self._input}@{found[0]}",
                    self.stream.topic,
                )
            if found < rank:
                raise self._too_many(message, f"expected that of {self._input}@{rank[0]}")
            raise Mismatch(
                f"{self._at(message)}: the {self.named(want)} of {self._input}@{rank[0]} differs: "
                f"{self.explain(want, got)}"
            )
        if not (self._retained and not self.matched):
            raise MissingRecord(
                f"{self._input}@{rank[0]} has no {self.named(want)}: the group has committed offset {self._committed}, "
                f"expected it in {self.stream}, found its end at {self.stream.end}",
                self.stream.topic,
            )

    def _outside(self, message: Any) -> bool:
        """Whether a record belongs to an offset outside the span; keeps track of `newest`."""
        offset, _ = self._order_key(message)
        if offset >= self._committed:
            self.newest = max(self.newest, offset)
            return True
        return offset < self._begin and not self.matched

    def _order_key(self, message: Any) -> tuple[int, int]:
        try:
            return self.order_key(self.identity(message))
        except ValueError as error:
            raise Mismatch(f"{self._at(message)} is not a valid {self.noun}: {error}") from None

    def _too_many(self, message: Any, instead: str) -> Mismatch:
        offset, _ = self._order_key(message)
        return Mismatch(f"{self._at(message)} is a surplus {self.noun} of {self._input}@{offset}: {instead}")

    def _at(self, message: Any) -> str:
        return f"{self.stream}@{message.offset()}"


class PredictionComparison(TopicComparison):
    """Compares the champion's predictions, in any format.

    Parameters
    ----------
    stream, input_name, span
        As `TopicComparison`.
    """

    noun = "prediction"

    def __init__(self, stream: RecordStream, input_name: str, span: tuple[int, int]) -> None:
        super().__init__(stream, input_name, span)
        self.columns = stream.columns
        self.schemas = set[tuple[str, int]]()
        """Format and id of each schema in a registry that was found."""
        self.recomputed = 0
        """Predictions that were compared, or that the topic no longer has."""

    def identity(self, message: Any) -> RecordIdentity:
        return message.key(), message.value(), tuple(message.headers())

    def report_to(self, report: AuditReport) -> None:
        """Write into the report what was compared."""
        report.predictions, report.rows, report.schemas = self.matched, self.recomputed, sorted(self.schemas)

    def require_columns(self, keys: BytesColumn, values: BytesColumn, headers: Headers | None = None) -> None:
        """As `require`, in one comparison if all are equal; `headers` is None if no record has any or none were read.

        Raises
        ------
        Mismatch
            As `require`.
        """
        found, n = self.columns(len(values)), len(values)
        self.recomputed += n
        if same(found.keys, keys) and same(found.values, values) and found.headers == headers:
            self.stream.drop(n)
            self.matched += n
        else:
            self.require(list(zip(keys, values, headers or repeat((), n), strict=True)))


class ChallengerComparison(PredictionComparison):
    """Compares challengers' predictions: in the order of events, and within an event in the order of the plan.

    `rank` takes their names. If the first records of the snapshot topic are gone, it is not known where --emit was all
    before the first of `emissions`: predictions of earlier rows are not compared.

    Parameters
    ----------
    stream, input_name, span
        As `TopicComparison`.
    chunks, emissions
        The snapshot topic, and what the records read of it tell: input offset -> whose predictions are written.
    """

    noun = "challenger's prediction"

    def __init__(
        self,
        stream: RecordStream,
        input_name: str,
        span: tuple[int, int],
        chunks: MessageStream,
        emissions: Mapping[int, str],
    ) -> None:
        super().__init__(stream, input_name, span)
        self._chunks, self._emissions = chunks, emissions
        self._unknown = 0  # records that are not compared

    def report_to(self, report: AuditReport) -> None:
        report.challengers = self.matched
        if self._unknown:
            several = plural(self._unknown, "prediction of a challenger", "predictions of challengers")
            report.unchecked.append(
                f"{self._input}: {several} before offset {self._first_known()} cannot be "
                f"checked: {self._chunks} no longer tells where --emit was all"
            )

    def _outside(self, message: Any) -> bool:
        if super()._outside(message):
            return True
        unknown = self._order_key(message)[0] < self._first_known()
        self._unknown += unknown
        return unknown

    def _first_known(self) -> int:
        return min(self._emissions, default=self._committed) if self._chunks.lost else 0

    def named(self, identity: RecordIdentity) -> str:
        return f"prediction of challenger {self.learner(identity)}"

    def learner(self, identity: RecordIdentity) -> str:
        return str(fields(identity[1] or b"").get("learner", ""))


class PointComparison(TopicComparison):
    """Compares accuracy points: one per learner at the same rows, the champion's first; `rank` takes their keys."""

    noun = "accuracy point"

    def learner(self, identity: RecordIdentity) -> Any:
        return identity[0]

    def identity(self, message: Any) -> RecordIdentity:
        value = message.value() or b""
        if b',"model_digest":' not in value:  # earlier versions called the field "model"
            value = value.replace(b',"model":', b',"model_digest":', 1)
        return message.key(), value

    def explain(self, want: RecordIdentity, got: RecordIdentity) -> str:
        return super().explain((want[0], as_in_earlier_versions(want[1], got[1])), got)

    def _same(self, message: Any, want: RecordIdentity) -> bool:
        got = self.identity(message)
        return got == want or got == (want[0], as_in_earlier_versions(want[1], got[1]))


def as_in_earlier_versions(want: bytes, got: bytes) -> bytes:
    """Return a point as an earlier version wrote it, if another, the one that was found, is of such a version.

    It has 1 or 0 for each kappa that is undefined (docs/decisions/0044), and no test of a challenger
    (docs/decisions/0050).
    """
    if TEST_FIELDS.search(got) is None:
        want = TEST_FIELDS.sub(b"", want)
    for name, value in EARLIER_KAPPA.findall(got):
        want = want.replace(b'"%s":null' % name, b'"%s":%s' % (name, value), 1)
    return want


class AlarmComparison(PointComparison):
    """Compares drift alarms: in the order of events, and within an event in that of the detectors.

    `rank` takes the alarms' keys.
    """

    noun = "drift alarm"


class RejectionComparison(TopicComparison):
    """Compares rejections and labels that were set aside: unchanged or cut, with the reason in their headers.

    Parameters
    ----------
    stream, input_name, span
        As `TopicComparison`.
    label_topic : str
        Topic of labels; empty if labels come from the input.
    """

    noun = "rejection"

    def __init__(self, stream: MessageStream, input_name: str, span: tuple[int, int], label_topic: str) -> None:
        super().__init__(stream, input_name, span)
        topic, _, partition = input_name.rpartition("/")
        self._source = topic, int(partition), label_topic
        self.set_aside = 0
        """Matched records that are labels."""

    def require(self, wanted: Sequence[RecordIdentity]) -> None:
        before = self.matched
        super().require(wanted)
        matched = wanted[len(wanted) - (self.matched - before) :]  # only the first ones may be gone
        self.set_aside += sum(is_set_aside(dict(headers)) for _, _, headers in matched)

    def identity(self, message: Any) -> RecordIdentity:
        headers = message.headers() or ()
        named = ((INPUT_OFFSET if name == EARLIER_INPUT_OFFSET else name, value) for name, value in headers)
        return message.key(), message.value(), tuple(named)

    def identities(self, rejected: Sequence[RejectedEvent]) -> list[RecordIdentity]:
        """The records expected for rejected events."""
        return [record_of(bad, *self._source) for bad in rejected]

    def _same(self, message: Any, want: RecordIdentity) -> bool:
        got = self.identity(message)
        headers = dict(got[2])
        if OWN_COUNT not in headers:  # earlier versions did not keep the event's headers
            want = *want[:2], without_own(want[2])
        want = *want[:2], in_earlier_words(want[2], headers.get("reason"))
        if EXCEPTION in headers:  # workers may say otherwise at each start
            want = *want[:2], (*want[2], *streams_headers(want[2]))
        # Which events were too large is up to the limits at that time.
        return got == want or (TRUNCATED in headers and got == RejectionRecord(*want).beginning())

    def order_key(self, identity: RecordIdentity) -> tuple[int, int]:
        try:
            return answered_offset(dict(identity[2]))[0], 0
        except KeyError as error:
            raise ValueError(f"no header {error.args[0]}") from None
