"""Numbers in JSON texts that float64 cannot represent: their text is kept, together with the nearest float64.

orjson reads integers beyond 64 bits as float64, and refuses numbers beyond its range. Here numbers are replaced by 0,
1, 2, .. before a text is parsed, and restored after it; so the parser decides what is JSON.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

TOKEN = re.compile(
    rb'"(?:[^"\\]++|\\.)*+(?:"|\\?\Z)|-?(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?(?:[eE][+-]?[0-9]++)?', re.DOTALL
)
"""A string, so that digits in it are passed over, or a number. No text takes more than linear time."""
BEYOND_RANGE = re.compile(rb"[0-9]{200}|[eE]\+?[0-9]{3}")
"""Some number may be infinite as float64."""
SMALLEST, LARGEST, MAX_CHARACTERS = -(1 << 63), (1 << 64) - 1, 20
"""Integers that orjson reads as such, and the longest of them."""
MAX_PLACES = 100
"""Decimal places that are written out; more are a power of ten, which may be two billion."""


class Number(float):
    """The nearest float64 of a number, with its text.

    Parameters
    ----------
    text : bytes
        The number in JSON.
    """

    __slots__ = ("text",)
    text: bytes

    def __new__(cls, text: bytes) -> Number:
        """Parse the text."""
        number = super().__new__(cls, text)
        number.text = text
        return number

    def __repr__(self) -> str:
        """Return the number as it came."""
        return self.text.decode()


def number_of(value: Decimal) -> float:
    """Return the float64 whose shortest text is this decimal, or if there is none a `Number` with its digits."""
    nearest = float(value)
    if Decimal(repr(nearest)) == value:
        return nearest
    _, _, exponent = value.as_tuple()
    written_out = isinstance(exponent, int) and abs(exponent) <= MAX_PLACES
    return Number((f"{value:f}" if written_out else str(value)).encode())


def hide_numbers(value: bytes) -> tuple[bytes, list[bytes]]:
    """Replace the numbers in a JSON text by 0, 1, 2, ..; return the text and the numbers."""
    numbers: list[bytes] = []

    def hide(found: re.Match[bytes]) -> bytes:
        token = found[0]
        if token.startswith(b'"'):
            return token
        numbers.append(token)
        return b" %d " % (len(numbers) - 1)  # spaces, so that 01 and 1.2.3 do not become numbers

    return TOKEN.sub(hide, value), numbers


def show_numbers(tree: Any, numbers: list[bytes]) -> Any:
    """Put the numbers back into what the text was parsed to: int as orjson reads it, else `Number`."""
    whole = [tree]
    todo: list[Any] = [whole]
    while todo:
        inside = todo.pop()
        for key, item in inside.items() if isinstance(inside, dict) else enumerate(inside):
            if isinstance(item, dict | list):
                todo.append(item)
            elif type(item) is int:
                inside[key] = _number(numbers[item])
    return whole[0]


def _number(text: bytes) -> int | Number:
    if text.lstrip(b"-").isdigit() and len(text) <= MAX_CHARACTERS and SMALLEST <= int(text) <= LARGEST:
        return int(text)
    return Number(text)


def leaves(tree: Any) -> Iterator[Any]:
    """Yield everything in a parsed value that is neither object nor list."""
    todo = [tree]
    while todo:
        item = todo.pop()
        if isinstance(item, dict):
            todo += item.values()
        elif isinstance(item, list):
            todo += item
        else:
            yield item


def has_float(tree: Any) -> bool:
    """Whether a parsed value has a number that may have come in another form."""
    return any(isinstance(leaf, float) for leaf in leaves(tree))


def count_infinite(tree: Any) -> int:
    """Count the numbers that are infinite as float64."""
    return sum(isinstance(leaf, float) and math.isinf(leaf) for leaf in leaves(tree))
