"""Options of generators: ``name:key=value,key=value`` read and bounded, each failure one sentence."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from learners.parameters import ParameterError, parse_pairs
from worker.errors import UsageFailure

Values = Mapping[str, Any]

SEEDS = 2**64


@dataclass(frozen=True)
class Option:
    """One option of a generator.

    Parameters
    ----------
    name : str
        As users write it.
    default : int, float, str, tuple or None
        Used when it is not given.
    kind : str
        ``integer``, ``number``, ``integers`` or ``numbers``: several, written ``8/9/7`` since commas part options;
        or ``choice``.
    low, high : float
        Inclusive bounds.
    meaning : str
        One line for `driftway streams NAME`.
    choices : tuple of str
        The words that a ``choice`` is one of.
    """

    name: str
    default: Any
    kind: Literal["integer", "number", "integers", "numbers", "choice"]
    low: float = -math.inf
    high: float = math.inf
    meaning: str = ""
    choices: tuple[str, ...] = ()

    @property
    def allowed(self) -> str:
        """The admitted values in words."""
        if self.kind == "choice":
            return f"one of {', '.join(self.choices)}"
        what = {
            "integer": "a whole number",
            "number": "a number",
            "integers": "whole numbers parted by /",
            "numbers": "numbers parted by /",
        }[self.kind]
        if math.isfinite(self.low) and math.isfinite(self.high):
            return f"{what} from {self.low:g} to {self.high:g}"
        return f"{what} of at least {self.low:g}" if math.isfinite(self.low) else what

    def read(self, stream: str, value: Any) -> Any:
        """`value`, text or number, as its kind.

        Raises
        ------
        UsageFailure
            Not of that kind, not finite or out of bounds.
        """
        if self.kind == "choice":
            if value not in self.choices:
                raise UsageFailure(f"{stream}: {self.name} must be {self.allowed}, got {value}")
            return value
        several, whole = self.kind in ("integers", "numbers"), self.kind in ("integer", "integers")
        parts: list[Any]
        if not several:
            parts = [value]
        elif isinstance(value, str):
            parts = value.split("/")
        else:
            parts = list(value) if isinstance(value, Sequence) else [value]
        try:
            numbers = [_number(part) for part in parts]
        except (TypeError, ValueError):
            numbers = []
        fits = all(self.low <= x <= self.high and (not whole or x == int(x)) for x in numbers)
        if not numbers or not fits:
            raise UsageFailure(f"{stream}: {self.name} must be {self.allowed}, got {value}")
        found = tuple(map(int, numbers) if whole else numbers)
        return found if several else found[0]


def _number(part: Any) -> float:
    if isinstance(part, bool):
        raise ValueError
    x = float(part)
    if not math.isfinite(x):
        raise ValueError
    return x


def read_seed(what: str, value: Any) -> int:
    """`value`, text or number, as a seed; `what` begins the sentence.

    Raises
    ------
    UsageFailure
        Not a whole number, or not 0 <= seed < 2**64.
    """
    try:
        seed = int(value)
    except (TypeError, ValueError):
        seed = -1
    if not 0 <= seed < SEEDS:
        raise UsageFailure(f"{what} must be a whole number from 0 to 2^64 - 1, got {value}")
    return seed


def read_options(stream: str, options: Sequence[Option], given: Mapping[str, Any]) -> dict[str, Any]:
    """The values of all `options`, the given ones checked, the others at their defaults.

    Raises
    ------
    UsageFailure
        An unknown name or a value that its option does not admit.
    """
    known = {option.name: option for option in options}
    for name in given:
        if name not in known:
            raise UsageFailure(f"{stream} has no parameter {name!r}; there is: {', '.join(known)}, seed")
    return {
        name: option.read(stream, given[name]) if name in given else option.default for name, option in known.items()
    }


def parse_spec(text: str) -> tuple[str, dict[str, str]]:
    """Split ``name:key=value,...`` into the name and its options.

    Raises
    ------
    UsageFailure
        A part is not key=value, or a key is given twice.
    """
    name, _, rest = text.strip().partition(":")
    try:
        return name.strip(), parse_pairs(rest, text)
    except ParameterError as error:
        raise UsageFailure(str(error)) from None
