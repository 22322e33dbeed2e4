"""What a partition writes down each time that its learners meet: what they took in, and what they tell.

Of these records its own log is made, from which a restore repeats the talk: it asks nobody else. Others read what is
told. Keys are used again after SLOTS meetings, so that compaction keeps as many of each partition.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from driftway.learners.averaging.exchange import Heard, Told
from driftway.learners.averaging.shared_model import Belief
from driftway.worker.wire.codec import read_json, write_json

SLOTS = 1024
"""Meetings of a partition that its log still has after compaction; a snapshot is due after a quarter of them."""


@dataclass(frozen=True)
class Minute:
    """One meeting of a partition's learners.

    Parameters
    ----------
    partition : int
        Whose.
    number : int
        1, 2, .. since the partition's history began.
    offset : int
        Input offset of the row behind which it was.
    rows : int
        Labelled rows so far.
    model : str
        Short for what the learners are: they understand their like only.
    heard : tuple of Heard or None
        What each learner that shares took in; None: nothing.
    told : tuple of Told or None
        What each tells; None: it cannot.
    took : mapping
        Partition -> offset in the topic behind what was heard of it so far.
    partitions : int
        How many there were.
    """

    partition: int
    number: int
    offset: int
    rows: int
    model: str
    heard: tuple[Heard | None, ...]
    told: tuple[Told | None, ...]
    took: Mapping[int, int] = field(default_factory=dict)
    partitions: int = 1

    @property
    def key(self) -> bytes:
        """The record's key."""
        return f"{self.partition}/{self.number % SLOTS}".encode()

    @cached_property
    def value(self) -> bytes:
        """The record's value."""
        return write_json(
            {
                "partition": self.partition,
                "number": self.number,
                "offset": self.offset,
                "rows": self.rows,
                "model": self.model,
                "told": [_plain(one) for one in self.told],
                "heard": [_plain(one) for one in self.heard],
                "partitions": self.partitions,
                "took": {str(p): offset for p, offset in sorted(self.took.items())},
            }
        )

    @classmethod
    def read(cls, value: bytes | None, like: Sequence[Belief]) -> Minute | None:
        """Read a record's value; None if it cannot be read, or is of other learners than those that believe `like`."""
        try:
            told = read_json(value or b"")
            took = {int(p): int(offset) for p, offset in told["took"].items()}
            parts = [told["heard"], told["told"]]
            if any(len(part) != len(like) for part in parts):
                return None
            heard, said = ([one and _read(one, of) for one, of in zip(part, like, strict=True)] for part in parts)
            p, number, offset, rows = (int(told[name]) for name in ("partition", "number", "offset", "rows"))
            return cls(
                p,
                number,
                offset,
                rows,
                str(told["model"]),
                tuple(one and Heard(*one) for one in heard),
                tuple(one and Told(*one) for one in said),
                took,
                int(told["partitions"]),
            )
        except (ValueError, TypeError, KeyError, AttributeError):
            return None


def _plain(one: Heard | Told | None) -> Any:
    if one is None:
        return None
    weight, R = one.belief
    parts = {"rows": one.rows, "weight": _text(weight)}
    return parts if R is None else {**parts, "R": _text(R[np.tril_indices(len(R))])}


def _text(array: NDArray[np.float64]) -> str:
    return b64encode(np.ascontiguousarray(array, "<f8").tobytes()).decode()


def _numbers(text: str) -> NDArray[np.float64]:
    return np.frombuffer(b64decode(text, validate=True), "<f8")


def _read(one: Any, like: Belief) -> tuple[int, Belief]:
    weight = _numbers(one["weight"]).reshape(like.weight.shape).astype(np.float64)
    if like.R is None:
        return int(one["rows"]), Belief(weight)
    lower = np.zeros(like.R.shape)
    lower[np.tril_indices(len(lower))] = _numbers(one["R"])
    return int(one["rows"]), Belief(weight, lower + np.tril(lower, -1).T)


class Outline(NamedTuple):
    """What a record says, whatever its learners are."""

    number: int
    offset: int
    took: dict[int, int]


def outline(value: bytes | None) -> Outline | None:
    """The outline of a record; None if it cannot be read."""
    try:
        told = read_json(value or b"")
        took = {int(p): int(offset) for p, offset in told["took"].items()}
        return Outline(int(told["number"]), int(told["offset"]), took)
    except (ValueError, TypeError, KeyError, AttributeError):
        return None


def gap(outlines: Sequence[Outline | None], number: int, offset: int, last: int | None = None) -> int | None:
    """The first meeting that a partition's log lacks; None: all are there.

    Parameters
    ----------
    outlines : sequence of Outline or None
        Of the log's records, in their order.
    number, offset : int
        Of the last meeting that a state has behind it, and the input offset at which it stands.
    last : int or None
        The last meeting that is committed; None: whichever the log ends with.
    """
    wanted = number + 1
    for one in outlines:
        if one is not None and one.number > number and one.offset >= offset:
            if one.number != wanted:
                return wanted
            wanted += 1
    return wanted if last is not None and wanted <= last else None


def chronicle(values: Sequence[bytes | None], like: Sequence[Belief]) -> list[Minute]:
    """The minutes of the present history, in order: of a partition's log the last ones that follow each other.

    Parameters
    ----------
    values : sequence of bytes or None
        Of the partition's records, in the order of the log.
    like : sequence of Belief
        As `Minute.read`.
    """
    found = list[Minute]()
    for minute in (Minute.read(value, like) for value in values):
        if minute is not None:
            if found and minute.number != found[-1].number + 1:
                found.clear()
            found.append(minute)
    return found
