"""Read Protobuf messages as `driftway.worker.wire.registered.protobuf` writes them, without the registry."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Any

from driftway.worker.wire.json_tokens.text_values import as_number
from driftway.worker.wire.registered.avro_schema import KINDS, MULTICLASS, NUMBER
from driftway.worker.wire.registered.framing import FIRST_MESSAGE, HEADER_BYTES
from driftway.worker.wire.registered.protobuf_schema import BYTES, NUMBERS, VARINT, WORD
from driftway.worker.wire.registered.varints import read_varint

DOUBLE = struct.Struct("<d")
SIGN = 1 << 63


def protobuf_fields(value: bytes) -> dict[str, Any]:
    """Read a prediction behind the registry's header into its fields, as `reading.read_fields` returns them.

    Raises
    ------
    ValueError
        The value is no prediction.
    """
    found: dict[int, list[Any]] = {}
    for number, wire_type, content in _items(value, HEADER_BYTES + len(FIRST_MESSAGE)):
        found.setdefault(number, []).append((wire_type, content))

    def one(name: str, wire_type: int) -> Any:
        kind, content = found[NUMBERS[name]][-1]
        if kind != wire_type:
            raise ValueError(f"{name} has another type")
        return content

    def maybe(name: str, wire_type: int) -> Any:
        return one(name, wire_type) if NUMBERS[name] in found else None

    try:
        kind = one("kind", BYTES).decode()
        if kind not in KINDS:
            raise ValueError(f"there is no kind {kind[:20]!r} of model")
        label = WORD if kind == NUMBER else BYTES
        name, t = maybe("id", BYTES), maybe("t", VARINT)
        more: dict[str, Any] = {}
        if kind == NUMBER:
            more = {end: maybe(end, WORD) for end in ("low", "high")}
            more = more if more != {"low": None, "high": None} else {}
        else:
            if (probability := maybe("probability", WORD)) is not None:
                more["probability"] = probability
            if NUMBERS["set"] in found:
                more["set"] = [_label(content) for _, content in found[NUMBERS["set"]]]
        score = _doubles(one("score", BYTES)) if kind == MULTICLASS else one("score", WORD)
        return {
            "id": None if name is None else name.decode(),
            "partition": one("partition", VARINT),
            "offset": _signed(one("offset", VARINT)),
            "prediction": _label(one("prediction", label)),
            "score": score,
            **more,
            "y": _label(maybe("y", label)),
            "learner": one("learner", BYTES).decode(),
            "plan": one("plan", VARINT),
            "t": None if t is None else _signed(t),
        }
    except KeyError:
        raise ValueError("a field is missing") from None


def _label(content: Any) -> Any:
    return as_number(content.decode()) if isinstance(content, bytes) else content


def _signed(number: int) -> int:
    return number - 2 * SIGN if number >= SIGN else number


def _doubles(content: bytes) -> list[float]:
    if len(content) % DOUBLE.size:
        raise ValueError("a list is cut")
    return [one for (one,) in DOUBLE.iter_unpack(content)]


def _items(value: bytes, at: int) -> Iterator[tuple[int, int, Any]]:
    """Yield the number, the type on the wire and the content of each field."""
    while at < len(value):
        key, at = read_varint(value, at)
        wire_type = key & 7
        if wire_type == VARINT:
            content: Any
            content, at = read_varint(value, at)
        elif wire_type == WORD:
            content, at = DOUBLE.unpack(_part(value, at, DOUBLE.size))[0], at + DOUBLE.size
        elif wire_type == BYTES:
            n, at = read_varint(value, at)
            content, at = _part(value, at, n), at + n
        else:
            raise ValueError(f"there is no type {wire_type}")
        yield key >> 3, wire_type, content


def _part(value: bytes, at: int, n: int) -> bytes:
    if at + n > len(value):
        raise ValueError("it ends too early")
    return value[at : at + n]
