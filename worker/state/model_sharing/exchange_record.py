"""The record that a partition writes for each exchange round: what its learners received, and what they send.

A restore repeats the rounds from the partition's own records alone. Other partitions read what was sent. Keys are
reused after KEY_SLOTS rounds, so that compaction keeps that many rounds of each partition.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from driftway.learners.averaging.exchange import Aggregate, ModelUpdate
from driftway.learners.averaging.shared_model import SharedModel
from driftway.worker.state.stored_fields import MAX_PARTITIONS, Malformed, StoredFields
from driftway.worker.wire.codec import write_json

EARLIER_NAMES = {
    "number": "round", "model": "model_digest", "told": "sent", "heard": "received", "took": "consumed",
}  # fmt: skip
"""Field names in records of earlier versions -> current names."""
LONGEST_PARTITION = 10
"""Digits of a partition's number."""
KEY_SLOTS = 1024
"""Rounds of a partition that compaction keeps; a snapshot is due after a quarter of them."""


@dataclass(frozen=True)
class ExchangeRecord:
    """One exchange round of a partition's learners.

    Parameters
    ----------
    partition : int
        The partition that wrote it.
    round_number : int
        1, 2, .. since the partition's history began.
    offset : int
        Input offset of the row after which the round took place.
    rows : int
        Labelled rows so far.
    model_digest : str
        Digest of the learners' identities: only models with equal ones can be averaged.
    received : tuple of Aggregate or None
        What each sharing learner was given to merge; None: nothing.
    sent : tuple of ModelUpdate or None
        What each sharing learner sends; None: it cannot.
    consumed : mapping
        Partition -> offset in the topic up to which its records were received.
    partitions : int
        Number of partitions at the time.
    """

    partition: int
    round_number: int
    offset: int
    rows: int
    model_digest: str
    received: tuple[Aggregate | None, ...]
    sent: tuple[ModelUpdate | None, ...]
    consumed: Mapping[int, int] = field(default_factory=dict)
    partitions: int = 1

    @property
    def key(self) -> bytes:
        """The record's key."""
        return f"{self.partition}/{self.round_number % KEY_SLOTS}".encode()

    @cached_property
    def value(self) -> bytes:
        """The record's value."""
        return write_json(
            {
                "partition": self.partition,
                "round": self.round_number,
                "offset": self.offset,
                "rows": self.rows,
                "model_digest": self.model_digest,
                "sent": [_plain(one) for one in self.sent],
                "received": [_plain(one) for one in self.received],
                "partitions": self.partitions,
                "consumed": {str(p): offset for p, offset in sorted(self.consumed.items())},
            }
        )

    @classmethod
    def read(cls, value: bytes | None, like: Sequence[SharedModel]) -> ExchangeRecord | None:
        """Parse a record's value; None if it cannot be read, or its models do not have the shapes of `like`."""
        try:
            fields = _fields(value)
            parts = [fields.items("received"), fields.items("sent")]
            if any(len(part) != len(like) for part in parts):
                return None
            received, sent = ([_read(one, of) for one, of in zip(part, like, strict=True)] for part in parts)
            return cls(
                fields.integer("partition", at_most=MAX_PARTITIONS),
                fields.integer("round"),
                fields.integer("offset"),
                fields.integer("rows"),
                fields.text("model_digest"),
                tuple(one and Aggregate(*one) for one in received),
                tuple(one and ModelUpdate(*one) for one in sent),
                _consumed(fields),
                fields.integer("partitions", at_most=MAX_PARTITIONS),
            )
        except ValueError:
            return None


def _fields(value: bytes | None) -> StoredFields:
    """A record's fields by their current names, also for records of earlier versions; raise `Malformed`."""
    fields = StoredFields.parse(value, "it")
    fields.plain = {EARLIER_NAMES.get(name, name): read for name, read in fields.plain.items()}
    return fields


def with_current_names(value: bytes | None) -> bytes | None:
    """Rewrite a value of an earlier version with the current field names; leave an unreadable one as it is."""
    try:
        return value if value is None or b'"round":' in value else write_json(_fields(value).plain)
    except ValueError:
        return value


def _consumed(fields: StoredFields) -> dict[int, int]:
    consumed = fields.object("consumed")
    if any(not partition.isdecimal() or len(partition) > LONGEST_PARTITION for partition in consumed.plain):
        raise Malformed("consumed has keys that are no partitions")
    return {int(partition): consumed.integer(partition) for partition in consumed.plain}


def _plain(one: Aggregate | ModelUpdate | None) -> Any:
    if one is None:
        return None
    weight, R = one.model
    parts = {"rows": one.rows, "weight": _text(weight)}
    return parts if R is None else {**parts, "R": _text(R[np.tril_indices(len(R))])}


def _text(array: NDArray[np.float64]) -> str:
    return b64encode(np.ascontiguousarray(array, "<f8").tobytes()).decode()


def _numbers(text: str) -> NDArray[np.float64]:
    return np.frombuffer(b64decode(text, validate=True), "<f8")


def _read(one: Any, like: SharedModel) -> tuple[int, SharedModel] | None:
    """Rows and model of an update; None for none. Raise a `ValueError` if it does not have the shapes of `like`."""
    if one is None:
        return None
    fields = StoredFields(one, "an update")
    weight = _numbers(fields.text("weight")).reshape(like.weight.shape).astype(np.float64)
    if like.R is None:
        return fields.integer("rows"), SharedModel(weight)
    lower = np.zeros(like.R.shape)
    lower[np.tril_indices(len(lower))] = _numbers(fields.text("R"))
    return fields.integer("rows"), SharedModel(weight, lower + np.tril(lower, -1).T)


class RecordHeader(NamedTuple):
    """The fields of a record that do not depend on its learners."""

    round_number: int
    offset: int
    consumed: dict[int, int]
    rows: int
    model_digest: str


def read_record_header(value: bytes | None) -> RecordHeader | None:
    """Parse the header of a record; None if it cannot be read."""
    try:
        fields = _fields(value)
        head = fields.integer("round"), fields.integer("offset"), _consumed(fields)
        return RecordHeader(*head, fields.integer("rows"), fields.text("model_digest"))
    except Malformed:
        return None


def first_missing(
    headers: Sequence[RecordHeader | None], after: int, offset: int, last: int | None = None
) -> int | None:
    """The first round that is missing from a partition's log; None if all are there.

    Parameters
    ----------
    headers : sequence of RecordHeader or None
        Headers of the log's records, in order.
    after, offset : int
        Number of the last round that a state includes, and the input offset of that state.
    last : int or None
        The last committed round; None: the one that the log ends with.
    """
    expected = after + 1
    for one in headers:
        if one is not None and one.round_number > after and one.offset >= offset:
            if one.round_number != expected:
                return expected
            expected += 1
    return expected if last is not None and expected <= last else None


def latest_history(values: Sequence[bytes | None]) -> list[tuple[RecordHeader, bytes]]:
    """The records of the current history, with their headers: the last run of consecutive rounds in a partition's log.

    Parameters
    ----------
    values : sequence of bytes or None
        Values of the partition's records, in log order; those that cannot be read are passed over.
    """
    found = list[tuple[RecordHeader, bytes]]()
    for value in values:
        header = read_record_header(value)
        if header is not None and value is not None:
            if found and header.round_number != found[-1][0].round_number + 1:
                found.clear()
            found.append((header, value))
    return found
