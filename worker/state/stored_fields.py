"""Reading of JSON that Driftway has written to a topic or a file, each field with its type and bounds.

Others who may write there may have written something else. So no field is used before its type and size are checked: a
model with 1e18 classes would fill the memory.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeVar

from driftway.worker.wire.codec import read_json

LARGEST = 2**63 - 2
"""The largest number that is read, such as an offset: the next one is an offset, too, and has 64 bits."""
MAX_PARTITIONS = 2**31 - 1
"""Partition numbers have 32 bits."""
MAX_SHOWN = 40
"""Characters of a bad value in a message."""

Kind = TypeVar("Kind")
CHUNK_BYTES = 900_000
"""Below the broker's default limit of 1 MiB a record, with room for key and framing."""


class Malformed(ValueError):
    """Something stored is not what Driftway writes; the message says which field has which value."""


class StoredFields:
    """The fields of a JSON object.

    Parameters
    ----------
    plain : object
        The parsed JSON.
    what : str
        What it should be, for messages.

    Raises
    ------
    Malformed
        It is no object.
    """

    def __init__(self, plain: object, what: str) -> None:
        self.plain: dict[str, Any] = _typed(plain, dict, what, "a JSON object")

    @classmethod
    def parse(cls, value: bytes | None, what: str) -> StoredFields:
        """Parse a record's value.

        Raises
        ------
        Malformed
            It is no JSON object.
        """
        return cls(parse_stored(value, what), what)

    def has(self, name: str) -> bool:
        """Whether there is such a field, and it is not null."""
        return self.plain.get(name) is not None

    def integer(self, name: str, at_least: int = 0, at_most: int = LARGEST) -> int:
        """Return a whole number; raise `Malformed` if it is not one from `at_least` to `at_most`."""
        return whole_number(self._field(name), name, at_least, at_most)

    def integers(self, name: str) -> tuple[int, ...]:
        """Return a list of whole numbers from 0 on; raise `Malformed` if it is none."""
        return whole_numbers(self._field(name), name)

    def share(self, name: str) -> float:
        """Return a number from 0 to 1; raise `Malformed` if it is none."""
        value = self._field(name)
        if type(value) not in (int, float) or not 0.0 <= value <= 1.0:
            raise Malformed(f"{name} is {_shown(value)}, not a number from 0 to 1")
        return float(value)

    def text(self, name: str) -> str:
        """Return a text; raise `Malformed` if it is none."""
        return _typed(self._field(name), str, name, "a text")

    def texts(self, name: str) -> tuple[str, ...]:
        """Return a list of texts; raise `Malformed` if it is none."""
        return tuple(_typed(one, str, name, "a list of texts") for one in self.items(name))

    def flag(self, name: str) -> bool:
        """Return a truth value; raise `Malformed` if it is none."""
        return _typed(self._field(name), bool, name, "true or false")

    def items(self, name: str) -> list[Any]:
        """Return a list of anything; raise `Malformed` if it is none."""
        return _typed(self._field(name), list, name, "a list")

    def object(self, name: str) -> StoredFields:
        """Return the fields of an object; raise `Malformed` if it is none."""
        return StoredFields(self._field(name), name)

    def _field(self, name: str) -> Any:
        if name not in self.plain:
            raise Malformed(f"it lacks {name}")
        return self.plain[name]


def parse_stored(value: bytes | None, what: str) -> Any:
    """Parse JSON; raise `Malformed` if it is none. The parser itself limits the depth to 1024 levels."""
    try:
        return read_json(value or b"")
    except ValueError:
        raise Malformed(f"{what} is not JSON: {_shown(value)}") from None


def whole_number(value: object, what: str, at_least: int = 0, at_most: int = LARGEST) -> int:
    """Return a number that should be whole; raise `Malformed` if it is not, or outside its bounds.

    A number of more than 64 bits is parsed as a float, and so is none.
    """
    if type(value) is not int or not at_least <= value <= at_most:  # True is an int, too
        raise Malformed(f"{what} is {_shown(value)}, not a whole number from {at_least} to {at_most}")
    return value


def partition_number(text: str, name: str) -> int:
    """Parse a partition's number, which JSON has as a text where it is a key.

    Raises
    ------
    Malformed
        It is none.
    """
    number = int(text) if text.isascii() and text.isdecimal() and len(text) < 11 else text
    return whole_number(number, name, at_most=MAX_PARTITIONS)


def whole_numbers(value: object, what: str, count: int | None = None) -> tuple[int, ...]:
    """Return whole numbers that should be in a list, as many as `count`; raise `Malformed` if they are not."""
    numbers: Iterable[object] = _typed(value, list, what, "a list of whole numbers")
    found = tuple(whole_number(one, what) for one in numbers)
    if count not in (None, len(found)):
        raise Malformed(f"{what} has {len(found)} numbers, not {count}")
    return found


def _typed(value: object, kind: type[Kind], what: str, expected: str) -> Kind:
    if not isinstance(value, kind):
        raise Malformed(f"{what} is {_shown(value)}, not {expected}")
    return value


def _shown(value: object) -> str:
    """The start of a value; of a long list or text not everything is formatted."""
    part = value[:MAX_SHOWN] if isinstance(value, str | bytes | list) else value
    text = repr(part) if not isinstance(value, dict) else "an object"
    return text if len(text) <= MAX_SHOWN else f"{text[:MAX_SHOWN]}.."


def split_chunks(blob: bytes) -> list[bytes]:
    """The blob's chunks, at least one."""
    return [blob[i : i + CHUNK_BYTES] for i in range(0, len(blob), CHUNK_BYTES)]
