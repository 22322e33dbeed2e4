"""Read predictions whose schema is in a registry, without the registry: what `driftway.worker.wire.registered` writes.

Fields after those that are known here are not read: a later version may have added them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

from driftway.worker.wire.codec import read_json
from driftway.worker.wire.json_tokens.text_values import as_number
from driftway.worker.wire.registered.avro_schema import KINDS, MULTICLASS, NUMBER
from driftway.worker.wire.registered.framing import AVRO, HEADER_BYTES, PROTOBUF, form_of
from driftway.worker.wire.registered.protobuf_reading import DOUBLE, protobuf_fields
from driftway.worker.wire.registered.varints import read_varint, unzigzag

R = TypeVar("R")


class PredictionId(NamedTuple):
    """Which prediction it is."""

    partition: int
    offset: int
    """Of its event."""
    learner: str


def read_prediction_id(value: bytes) -> PredictionId:
    """Read which prediction it is, in a value for which `is_registered` holds.

    Raises
    ------
    ValueError
        The value is no such prediction.
    """
    if form_of(value) == AVRO:
        _, partition, offset, _, learner = _decoded(AVRO, value, lambda record: AvroReader(record).head())
        return PredictionId(partition, offset, learner)
    found = read_fields(value)
    try:
        return PredictionId(int(found["partition"]), int(found["offset"]), str(found["learner"]))
    except (KeyError, TypeError) as error:
        raise ValueError(f"it has no {error}") from None


def read_fields(value: bytes, parse: Callable[[bytes], Any] = read_json) -> dict[str, Any]:
    """Read a prediction into its fields by name, JSON by `parse`; a value for which `is_registered` holds.

    Classes of an Avro record or a Protobuf message are as in JSON. Apart from id, t and y these have no field for what
    is null there, and their id is a text. An empty set is none in Protobuf.

    Raises
    ------
    ValueError
        The value is no such prediction.
    """
    if (form := form_of(value)) == AVRO:
        return _decoded(form, value, lambda record: AvroReader(record).fields())
    if form == PROTOBUF:
        return _decoded(form, value, protobuf_fields)
    found = parse(value[HEADER_BYTES:])
    if not isinstance(found, dict):
        raise ValueError("not a JSON object")
    return found


def _decoded(form: str, value: bytes, read: Callable[[bytes], R]) -> R:
    """Read a record; say in an error in which format it is no prediction."""
    try:
        return read(value)
    except ValueError as error:
        raise ValueError(f"not a prediction in {form.capitalize()}: {error}") from None


class AvroReader:
    """Reads an Avro record.

    Parameters
    ----------
    value : bytes
        The record behind its header.
    """

    def __init__(self, value: bytes) -> None:
        self._value, self._at = value, HEADER_BYTES

    def head(self) -> tuple[str, int, int, int, str]:
        """Read kind, partition, offset, plan and learner.

        Raises
        ------
        ValueError
            The value is no prediction.
        """
        kind = self._text()
        if kind not in KINDS:
            raise ValueError(f"there is no kind {kind[:20]!r} of model")
        return kind, self._integer(), self._integer(), self._integer(), self._text()

    def fields(self) -> dict[str, Any]:
        """Read all fields that are known, as `read_fields` returns them.

        Raises
        ------
        ValueError
            The value is no prediction.
        """
        kind, partition, offset, plan, learner = self.head()
        label = self._double if kind == NUMBER else self._label
        position = {"id": self._optional(self._text), "partition": partition, "offset": offset}
        t, prediction = self._optional(self._integer), label()
        score = self._items(self._double) if kind == MULTICLASS else self._double()
        y = self._optional(label)
        more: dict[str, Any]
        if kind == NUMBER:
            low, high = self._optional(self._double), self._optional(self._double)
            more = {} if low is None and high is None else {"low": low, "high": high}
        else:
            optional = {"probability": self._optional(self._double), "set": self._optional(lambda: self._items(label))}
            more = {name: found for name, found in optional.items() if found is not None}
        said = {"prediction": prediction, "score": score, **more, "y": y}
        return {**position, **said, "learner": learner, "plan": plan, "t": t}

    def _bytes(self, n: int) -> bytes:
        found = self._value[self._at : self._at + n] if n >= 0 else b""
        if n < 0 or len(found) < n:
            raise ValueError("it ends too early")
        self._at += n
        return found

    def _integer(self) -> int:
        number, self._at = read_varint(self._value, self._at)
        return unzigzag(number)

    def _double(self) -> float:
        found: float = DOUBLE.unpack(self._bytes(DOUBLE.size))[0]
        return found

    def _text(self) -> str:
        return self._bytes(self._integer()).decode()

    def _label(self) -> Any:
        return as_number(self._text())

    def _optional(self, read: Callable[[], Any]) -> Any:
        branch = self._integer()
        if branch not in (0, 1):
            raise ValueError(f"there is no branch {branch}")
        return read() if branch else None

    def _items(self, read: Callable[[], Any]) -> list[Any]:
        found = list[Any]()
        while n := self._integer():
            if n < 0:
                raise ValueError("a list has blocks with sizes")
            if n > len(self._value):
                raise ValueError("it ends too early")
            found += [read() for _ in range(n)]
        return found
