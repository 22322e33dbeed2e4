"""A parameter that is a number, or a keyword for how to determine the number."""

import dataclasses
from typing import Any

from driftway.learners.engine.parameters import ParameterSpec

AUTO = "auto"


class NumberOrKeyword(ParameterSpec):
    """A number within bounds, or one of `options`."""

    def describe(self) -> str:
        return ", or ".join((super().describe(), *self.options))

    def check(self, name: str, value: Any) -> Any:
        return value if isinstance(value, str) and value in self.options else super().check(name, value)


def positive_or(default: str, *words: str, text: str) -> Any:
    """A number above 0, or `default`, or one of `words`."""
    return number_or_keyword((default, *words), default, text=text, above=0.0)


def number_or_keyword(words: tuple[str, ...], default: float | str, *, text: str, **bounds: Any) -> Any:
    """A number within `bounds`, or one of `words`."""
    return dataclasses.field(
        default=default, metadata={"bounds": NumberOrKeyword("number", options=words, text=text, **bounds)}
    )
