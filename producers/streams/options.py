"""Options of generators: parses and checks ``name:key=value,key=value``; each error is one sentence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from driftway.learners.engine.parameters import ParameterError, ParameterSpec, parse_pairs
from driftway.worker.errors import UsageFailure

Values = Mapping[str, Any]

SEEDS = 2**64


class OptionSpec(ParameterSpec):
    """Inclusive bounds, described as in ``a number from 0 to 1``."""

    def describe(self) -> str:
        if self.kind == "choice":
            return super().describe()
        what = "whole number" if self.kind.startswith("integer") else "number"
        what = f"{what}s separated by /" if self.is_list else f"a {what}"
        if self.at_least is not None and self.at_most is not None:
            return f"{what} from {self.at_least:g} to {self.at_most:g}"
        return what if self.at_least is None else f"{what} of at least {self.at_least:g}"


@dataclass(frozen=True)
class Option:
    """One option of a generator: its name, its default and its bounds.

    Parameters
    ----------
    name : str
        As users write it.
    default : int, float, str, tuple or None
        Used if it is not given.
    bounds : OptionSpec
        Allowed values, and what the option means.
    """

    name: str
    default: Any
    bounds: OptionSpec

    def read(self, stream: str, value: Any) -> Any:
        """Convert `value`, text or number, to the option's kind.

        Raises
        ------
        UsageFailure
            The value is not of that kind, not finite or out of bounds.
        """
        try:
            return self.bounds.check(self.name, value)
        except ParameterError:
            raise UsageFailure(f"{stream}: {self.name} must be {self.bounds.describe()}, got {value}") from None


def option(
    name: str,
    default: Any,
    kind: Literal["integer", "number", "integers", "numbers", "choice"],
    low: float | None = None,
    high: float | None = None,
    meaning: str = "",
    choices: tuple[str, ...] = (),
) -> Option:
    """Make an option with inclusive bounds; `meaning` is its line in `driftway streams NAME`."""
    return Option(name, default, OptionSpec(kind, at_least=low, at_most=high, options=choices, text=meaning))


def read_seed(what: str, value: Any) -> int:
    """Convert `value`, text or number, to a seed; `what` starts the error message.

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
    """The values of all `options`: given ones are checked, others get their defaults.

    Raises
    ------
    UsageFailure
        A name is unknown, or its option does not allow the value.
    """
    known = {option.name: option for option in options}
    for name in given:
        if name not in known:
            raise UsageFailure(f"{stream} has no parameter {name!r}; available: {', '.join(known)}, seed")
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
