"""Events: their target, their schema, and the columns that hold records and batches. Leaf module."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from driftway.worker.wire.columns import BytesColumn, ListColumn
from driftway.worker.wire.headers import Header, Headers, chosen_headers
from driftway.worker.wire.json_tokens.text_values import as_number, truth_in, truth_indices

if TYPE_CHECKING:
    from driftway.worker.wire.columns import Floats, Integers
    from driftway.worker.wire.writer import Column

CLASSIFICATION, REGRESSION = "classification", "regression"
PLAIN_FIELDS = {"features": "x", "label": "y", "id": "id", "time": "t"}
"""What a field of an event without a schema holds -> the field's name."""
MAX_FEATURES = 10_000
"""Most features that a first event may fix as the partition's schema, so that a hostile event cannot exhaust memory: a
second-order learner holds d x d numbers. --features N allows any number."""

# Why an event is rejected. The texts are part of the wire format and do not change: `driftway audit` compares them with
# those of old records.
NULL_VALUE = "null value"
NOT_JSON = "not JSON"  # a colon and what the value begins with may follow: see `codec.parse_json`
NOT_OBJECT = "not a JSON object"
NO_X = "no x"
LATE_LABEL = "late label: no event waits for one, see --label-wait"
NO_LABEL = "late label: null takes none back"
UNKNOWN_ID = "late label: no event of this id waits"
SAME_LABEL = "late label: a repetition"
OTHER_LABEL = "late label: another than the first"
BAD_X = "x is neither a list nor an object"
EMPTY_X = "x is empty"
DEEP_ID = "id is nested too deeply"
INEXACT = "inexact: an id or a number beyond 2^53 would be rounded, in an event of more than 1 MiB"
NOT_A_LABEL = "late label: an event stands in the topic of labels"

MAX_ID = MAX_KEY = 65_536
"""Most bytes of an event's id (as JSON text) and of a record's key. A prediction echoes both: with a larger one it
might not fit into a record of the output, and would stop the partition."""

NO_LABEL_OFFSET = -1
"""In `Records.label_offsets`: the record is an event, not a label from the label topic."""


class Reject(Exception):
    """An event cannot be used; the message is the reason that its rejection carries."""


class RejectLabel(Reject):
    """A label cannot be used, whatever becomes of its event: the label is set aside."""


@dataclass(frozen=True)
class Target:
    """What is predicted (one of K classes, or a number), and the names of classes on the wire.

    Parameters
    ----------
    task : str
        ``classification`` or ``regression``.
    n_classes : int
        K >= 2 in classification, 0 in regression.
    labels : tuple of str
        Wire labels in class order (numbers such as ``-1`` stay numbers); empty = the class indices.
    """

    task: str = CLASSIFICATION
    n_classes: int = 2
    labels: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.task not in (CLASSIFICATION, REGRESSION) or (self.task == REGRESSION and self.n_classes):
            raise ValueError(f"task must be {CLASSIFICATION}, or {REGRESSION} without classes, not {self.task}")

    def expected(self) -> str:
        """What a label looks like, in words."""
        return "number" if self.task == REGRESSION else " or ".join(self.class_json())

    def class_json(self) -> list[str]:
        """JSON text of each class, in class order; none in regression."""
        names: list[Any] = [as_number(label) for label in self.labels] or list(range(self.n_classes))
        return [json.dumps(name) for name in names]

    def index(self, value: Any) -> float:
        """Return the class index (or number) of a wire label; NaN if it is null.

        Raises
        ------
        RejectLabel
            Not a label of this target.
        """
        if value is None:
            return math.nan
        if self.task == REGRESSION:
            try:
                return finite(value, "label")
            except Reject as reject:
                raise RejectLabel(str(reject)) from None
        word = ("true" if value else "false") if isinstance(value, bool) else value
        for k, name in enumerate(self.labels or range(self.n_classes)):
            known: Any = as_number(name) if isinstance(name, str) else name
            # Numbers compare as floats, as in `indices`: the kernels read 9007199254740993 as ...992.
            if word == known if isinstance(known, str) else _as_float(word) == float(known):
                return float(k)
        k = truth_indices(self.labels)[truth_in(word)] if isinstance(word, str) and truth_in(word) >= 0 else -1
        if k >= 0:
            return float(k)
        raise RejectLabel(self.no_class("given" if isinstance(value, dict | list) else json.dumps(value)))

    def no_class(self, label: str) -> str:
        """Return why a label is none of the classes; `label` is its JSON text, or "given" for a list or an object."""
        more = ": it is a list or an object" if label == "given" else ""
        return f"label {label[:40]} is not one of {', '.join(self.class_json())}{more}"

    def indices(self, y: Floats) -> tuple[Floats, NDArray[np.bool_]]:
        """Return class indices of numeric wire labels, and which of them are valid for this target."""
        missing = np.isnan(y)
        y = np.where(missing, math.nan, y)  # a packed label may be a signalling NaN, at which arithmetic warns
        if self.task == REGRESSION:
            return y, missing | np.isfinite(y)
        if not self.labels:  # -0.0 is class 0
            known = (y >= 0) & (y < self.n_classes) & (y == np.floor(y))
            return np.where(known, y + 0.0, math.nan), missing | known
        out = np.full(len(y), math.nan)
        for k, number in enumerate(map(as_number, self.labels)):
            if not isinstance(number, str):
                np.copyto(out, k, where=y == float(number))
        return out, missing | ~np.isnan(out)


@dataclass(frozen=True)
class Schema:
    """The shape of a partition's events: d, and the sorted names of features if they have names."""

    n_features: int
    names: tuple[str, ...] | None = None

    def check(self, x: Any, lenient: bool = False) -> list[Any]:
        """Return the features of an event's `x` in this schema's order; if `lenient`, None for absent names.

        Raises
        ------
        Reject
            The length or the set of names differs.
        """
        if isinstance(x, list):
            if self.names is not None:
                raise Reject(f"x is a list, expected an object of {self.n_features} named features")
            if len(x) != self.n_features:
                raise Reject(f"x has {len(x)} features, expected {self.n_features}")
            return x
        if self.names is None:
            raise Reject(f"x is an object, expected a list of {self.n_features} features")
        known = set(self.names)
        if x.keys() != known:
            lacks = [name for name in self.names if name not in x]
            extra = sorted(name for name in x if name not in known)
            if lenient and not extra:
                return [x.get(name) for name in self.names]
            parts = [f"lacks {_some(lacks)}"] * bool(lacks) + [f"has unknown {_some(extra)}"] * bool(extra)
            raise Reject(f"x {' and '.join(parts)}")
        return [x[name] for name in self.names]

    @classmethod
    def of(cls, x: Any) -> Schema:
        """Return the schema of an event's `x`.

        Raises
        ------
        Reject
            Not a list or an object of 1 to MAX_FEATURES features.
        """
        if not isinstance(x, list | dict):
            raise Reject(BAD_X)
        if not x:
            raise Reject(EMPTY_X)
        return cls.first(len(x), tuple(sorted(x)) if isinstance(x, dict) else None)

    @classmethod
    def first(cls, n_features: int, names: tuple[str, ...] | None = None) -> Schema:
        """Return the schema that a first event with `n_features` features fixes.

        Raises
        ------
        Reject
            More than MAX_FEATURES.
        """
        if n_features > MAX_FEATURES:
            raise Reject(f"x has {n_features} features, more than {MAX_FEATURES}")
        return cls(n_features, names)


@dataclass
class Records:
    """Consumed records of one partition: columns of equal length n, offsets ascending."""

    partition: int
    offsets: Integers
    """i8[n]"""
    values: BytesColumn
    keys: BytesColumn
    timestamps: Sequence[int] | Integers
    """Record timestamps in ms, i8[n]."""
    headers: Headers | None = None
    """Headers of each record, in record order; None: none has any."""
    label_offsets: Integers | None = None
    """Label-topic offset of each label, NO_LABEL_OFFSET for events; None without a label topic. In `offsets` such a
    label has the offset of the event before which it was taken."""
    epoch: int | None = None
    """Leader epoch of the last record as it was fetched; None if it is not known, as of a part of a batch."""

    def __len__(self) -> int:
        return len(self.offsets)

    @classmethod
    def of_values(cls, values: BytesColumn, first: int = 0, headers: Headers | None = None) -> Records:
        """Records that have no keys and times: a file's events, whose offsets are counted from `first`."""
        n = len(values)
        no_keys, no_times = ListColumn([None] * n), np.zeros(n, np.int64)
        return cls(0, np.arange(first, first + n), values, no_keys, no_times, headers)

    def header(self, i: int, name: str) -> bytes | None:
        """Return the last header of record `i` with that name; None if there is none or it is empty."""
        found = None if self.headers is None else dict(self.headers[i]).get(name)
        return found or None

    def rejection(self, i: int, reason: str, set_aside: bool = False) -> RejectedEvent:
        """Return the rejection of record `i`, or of its label alone if that is `set_aside`."""
        own = (
            None
            if self.label_offsets is None or self.label_offsets[i] == NO_LABEL_OFFSET
            else int(self.label_offsets[i])
        )
        event = int(self.offsets[i]), self.values[i], self.keys[i], int(self.timestamps[i])
        headers = () if self.headers is None else tuple(self.headers[i])
        return RejectedEvent(reason, *event, own, headers, set_aside)

    @property
    def is_label(self) -> NDArray[np.bool_]:
        """Which records come from the label topic, bool[n]."""
        return np.zeros(len(self), np.bool_) if self.label_offsets is None else self.label_offsets != NO_LABEL_OFFSET

    def chosen(self, keep: NDArray[np.bool_]) -> Records:
        """The records where `keep`, bool[n], is true."""
        headers = chosen_headers(self.headers, keep)
        stamps = np.asarray(self.timestamps, np.int64)[keep]
        own = None if self.label_offsets is None else self.label_offsets[keep]
        return Records(
            self.partition, self.offsets[keep], self.values.chosen(keep), self.keys.chosen(keep), stamps, headers, own
        )

    def after(self, start: int) -> Records:
        """The records from index `start` on."""
        return self._slice(slice(start, None))

    def before(self, end: int) -> Records:
        """The records before index `end`."""
        return self._slice(slice(0, end))

    def _slice(self, part: slice) -> Records:
        offsets, stamps = self.offsets[part], self.timestamps[part]
        headers = None if self.headers is None else self.headers[part]
        own = None if self.label_offsets is None else self.label_offsets[part]
        return Records(self.partition, offsets, self.values[part], self.keys[part], stamps, headers, own)


@dataclass(frozen=True)
class RejectedEvent:
    """A record that cannot be used, and why."""

    reason: str
    offset: int
    value: bytes | None
    key: bytes | None
    timestamp: int
    label_offset: int | None = None
    """Offset of a label in the label topic; `offset` is then that of the event before which it was taken."""
    headers: Sequence[Header] = ()
    """The record's own headers."""
    set_aside: bool = False
    """Whether this is only a label: of an event that is predicted all the same, or of an earlier one."""

    @property
    def answered_offset(self) -> tuple[int, bytes | None]:
        """See `driftway.worker.wire.rejections.answered_offset`."""
        return self.offset, None if self.label_offset is None else b"%d" % self.label_offset


@dataclass
class Labels:
    """Labels of earlier events of a partition, m of them, in offset order."""

    row_index: Integers
    """i8[m]: number of the batch's rows before each label."""
    offsets: Integers
    """i8[m], in the input."""
    y: Floats
    """f8[m]: class index or number."""
    ids: Column
    """JSON texts of the ids of the labels' events."""
    t: Integers
    """i8[m], as in `Batch`."""
    records: Records
    """The labels as they came."""
    set_aside_from: int = 0
    """See `driftway.worker.wire.decoder.Decoder.set_aside_from`."""

    def __len__(self) -> int:
        return len(self.offsets)

    @property
    def stamps(self) -> Integers:
        """Record timestamps, i8[m] in ms."""
        return np.asarray(self.records.timestamps, np.int64)

    def rejection(self, i: int, reason: str) -> RejectedEvent:
        """Return the rejection of label `i`."""
        return self.records.rejection(i, reason, self.offsets[i] >= self.set_aside_from)


@dataclass
class Batch:
    """The n accepted rows of one partition, in offset order, ready for the learners."""

    partition: int
    next_offset: int
    """The input offset after the last record, whether that was accepted or not."""
    offsets: Integers
    """i8[n]"""
    X: Floats
    """f8[n, d]: the features; NaN: missing."""
    y: Floats
    """f8[n]: class index or number; NaN: no label yet."""
    ids: Column
    """JSON texts of the events' ids."""
    t: Integers
    """i8[n]: times in the events, in ms; `driftway.worker.wire.scanner.NO_TIME` where there is none."""
    keys: BytesColumn
    headers: Headers | None = None
    """As in `Records`."""
    rejected: list[RejectedEvent] = field(default_factory=list)
    stamps: Integers | None = None
    """Record timestamps in ms, i8[n]; only with `labels`."""
    labels: Labels | None = None
    """Labels of earlier events; None if labels are not delayed."""

    def __len__(self) -> int:
        return len(self.offsets)


def too_long(what: str, n: int) -> str:
    """Return the reason of an event whose id or key, `what`, has `n` bytes."""
    return f"{what} is too long: {n} bytes, more than {MAX_ID}"


def finite(value: Any, what: str) -> float:
    """Return `value` as a finite float; raise `Reject` if it is none."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise Reject(f"{_some([what])} is not a number")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise Reject(f"{_some([what])} is not finite")
    return number


def _as_float(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) else None


SHOWN_CHARACTERS = 40
"""Per name in a reason: reasons are sent as headers and must not make a record larger than the broker accepts."""


def shown(name: str) -> str:
    """Return a name, shortened if it is long."""
    return name if len(name) <= SHOWN_CHARACTERS else f"{name[:SHOWN_CHARACTERS]}..."


def _some(names: Sequence[str]) -> str:
    return ", ".join(map(shown, names[:3])) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
