"""Hyper-parameters that validate themselves.

A learner's parameters are a subclass of :class:`Parameters`, which turns it into a frozen dataclass; its fields are
declared with :func:`number`, :func:`integer`, :func:`choice` and :func:`flag`. Construction coerces text (as given on
a command line), checks every bound and names the violated inequality.
"""

import collections
import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, NamedTuple, dataclass_transform


class ParameterError(ValueError):
    """A hyper-parameter is unknown or violates its inequality; the message is one sentence."""


class TooFewFeatures(ParameterError):
    """The parameters need rows of at least `least` features; callers that do not know the number yet may ignore it."""

    def __init__(self, message: str, least: int) -> None:
        super().__init__(message)
        self.min_features = least


def parse_pairs(text: str, whole: str) -> dict[str, str]:
    """Parse ``key=value,key=value``, a part of the user's text `whole`; empty text gives no pairs.

    Raises
    ------
    ParameterError
        The text is not of that form, or a key is given twice.
    """
    pairs: dict[str, str] = {}
    for part in filter(None, (piece.strip() for piece in text.split(","))):
        key, equals, value = (piece.strip() for piece in part.partition("="))
        if not (key and equals and value):
            raise ParameterError(f"{part!r} in {whole!r} is not parameter=value")
        if key in pairs:
            raise ParameterError(f"{key} is given twice in {whole!r}")
        pairs[key] = value
    return pairs


@dataclasses.dataclass(frozen=True)
class ParameterSpec:
    """The values that a parameter accepts.

    `kind` is number, integer, choice or flag; numbers or integers for several, written ``8/9/7`` since commas separate
    parameters; or word for something that has parameters itself, written ``arow/q=1e-4/r=2`` for the same reason.
    """

    kind: str
    above: float | None = None
    at_least: float | None = None
    below: float | None = None
    at_most: float | None = None
    options: tuple[str, ...] = ()
    example: str = ""
    """For a word: what it may be."""
    text: str = ""
    """The parameter's description, for `driftway learners NAME` and docs/learners.md."""

    def describe(self) -> str:
        """Describe the accepted values, e.g. ``0 <= value < 1``."""
        if self.kind == "choice":
            return "one of " + ", ".join(self.options)
        if self.kind == "flag":
            return "true or false"
        if self.kind == "word":
            return self.example
        text = "whole number" if self.kind.startswith("integer") else "number"
        text += "s separated by /" if self.is_list else ""
        low = f"{self.above:g} < " if self.above is not None else ""
        low = f"{self.at_least:g} <= " if self.at_least is not None else low
        high = f" < {self.below:g}" if self.below is not None else ""
        high = f" <= {self.at_most:g}" if self.at_most is not None else high
        return f"{text}, {low}value{high}" if low or high else text

    @property
    def is_list(self) -> bool:
        """Whether it takes several values."""
        return self.kind in ("numbers", "integers")

    @property
    def numeric(self) -> bool:
        """Whether every accepted value is a single number or flag."""
        return self.kind in ("number", "integer", "flag") and not self.options

    def check(self, name: str, value: Any) -> Any:
        """Return `value` coerced to its type, or raise a ParameterError that names the violated condition."""
        if self.kind == "choice":
            if value not in self.options:
                raise ParameterError(f"{name} must be {self.describe()}, got {value!r}")
            return value
        if self.kind == "word":
            if not isinstance(value, str) or not value:
                raise ParameterError(f"{name} must be {self.describe()}, got {value!r}")
            return value
        if self.kind == "flag":
            if isinstance(value, bool):
                return value
            if isinstance(value, str) and value.lower() in ("true", "false"):
                return value.lower() == "true"
            raise ParameterError(f"{name} must be true or false, got {value!r}")
        if not self.is_list:
            return self._check_number(name, value)
        parts: Sequence[Any] = [value]
        if isinstance(value, str):
            parts = value.split("/")
        elif isinstance(value, Sequence):
            parts = value
        return tuple(self._check_number(name, part) for part in parts)

    def _check_number(self, name: str, value: Any) -> float | int:
        if isinstance(value, bool):
            raise ParameterError(f"{name} must be a number, got {value!r}")
        try:
            x = float(value)
        except (TypeError, ValueError):
            raise ParameterError(f"{name} must be a number, got {value!r}") from None
        if not math.isfinite(x):
            raise ParameterError(f"{name} must be finite, got {value}")
        if self.above is not None and not x > self.above:
            raise ParameterError(f"{name} must be > {self.above:g}, got {value}")
        if self.at_least is not None and not x >= self.at_least:
            raise ParameterError(f"{name} must be >= {self.at_least:g}, got {value}")
        if self.below is not None and not x < self.below:
            raise ParameterError(f"{name} must be < {self.below:g}, got {value}")
        if self.at_most is not None and not x <= self.at_most:
            raise ParameterError(f"{name} must be <= {self.at_most:g}, got {value}")
        if self.kind.startswith("integer"):
            if x != int(x):
                raise ParameterError(f"{name} must be a whole number, got {value}")
            return int(x)
        return x


def number(
    default: float,
    text: str = "",
    *,
    above: float | None = None,
    at_least: float | None = None,
    below: float | None = None,
    at_most: float | None = None,
) -> Any:
    """A float parameter with bounds."""
    bounds = ParameterSpec("number", above, at_least, below, at_most, text=text)
    return dataclasses.field(default=default, metadata={"bounds": bounds})


def integer(default: int, text: str = "", *, at_least: int | None = None, at_most: int | None = None) -> Any:
    """An integer parameter with bounds."""
    bounds = ParameterSpec("integer", at_least=at_least, at_most=at_most, text=text)
    return dataclasses.field(default=default, metadata={"bounds": bounds})


def choice(default: str, options: tuple[str, ...], text: str = "") -> Any:
    """A parameter whose value is one of `options`."""
    return dataclasses.field(default=default, metadata={"bounds": ParameterSpec("choice", options=options, text=text)})


def flag(default: bool, text: str = "") -> Any:
    """A boolean parameter."""
    return dataclasses.field(default=default, metadata={"bounds": ParameterSpec("flag", text=text)})


def word(default: str, text: str, what: str) -> Any:
    """A parameter that names something else and is checked when that is created; `what` describes the valid names."""
    return dataclasses.field(default=default, metadata={"bounds": ParameterSpec("word", example=what, text=text)})


def learner(default: str, text: str = "") -> Any:
    """A parameter that names another learner."""
    return word(default, text, "a learner, like arow or arow/q=1e-4")


def learners(default: str, text: str = "") -> Any:
    """A parameter that names several other learners."""
    return word(default, text, "learners separated by +, like pa1+arow/q=1e-4")


def intercept() -> Any:
    """The flag of nearly every linear learner that appends a constant to each row."""
    return flag(True, "Append a constant 1 to every row.")


def check_decay(parameters: Any, step: str, decay: str = "lam") -> None:
    """Check that the shrinkage factor of each step, 1 - step * decay, is positive.

    Raises
    ------
    ParameterError
        The product of the parameters named `step` and `decay` is >= 1.
    """
    eta, lam = getattr(parameters, step), getattr(parameters, decay)
    if not eta * lam < 1.0:
        raise ParameterError(f"{decay} must be < 1/{step} = {1.0 / eta:g}, got {lam}")


class NoNumbers(NamedTuple):
    """The kernel parameters of a learner that has none."""


@dataclass_transform(frozen_default=True)
@dataclasses.dataclass(frozen=True)
class Parameters:
    """Base of every learner's parameters; see the module's docstring."""

    Numbers: ClassVar[Any] = NoNumbers
    """NamedTuple class of the parameters that are numbers or flags, for kernels, which cannot take strings."""

    def __init_subclass__(cls) -> None:
        dataclasses.dataclass(frozen=True)(cls)
        numeric = [f.name for f in dataclasses.fields(cls) if f.metadata["bounds"].numeric]
        make: Any = collections.namedtuple
        cls.Numbers = make("Numbers", numeric, module=cls.__module__)
        # Qualified with this class, so that later processes find the cached kernels that take it.
        cls.Numbers.__qualname__ = f"{cls.__qualname__}.Numbers"

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):
            bounds: ParameterSpec = field.metadata["bounds"]
            object.__setattr__(self, field.name, bounds.check(field.name, getattr(self, field.name)))

    @classmethod
    def build(cls, given: Mapping[str, Any]) -> Any:
        """Create the parameters from a mapping.

        Raises
        ------
        ParameterError
            An unknown name, or a value outside its bounds.
        """
        known = [field.name for field in dataclasses.fields(cls)]
        for name in given:
            if name not in known:
                offer = ", ".join(known) if known else "none"
                raise ParameterError(f"no parameter {name!r}; available: {offer}")
        return cls(**given)

    def numbers(self) -> Any:
        """Return the parameters that are numbers or flags as a NamedTuple for kernels, under the same names."""
        return self.Numbers(*(getattr(self, name) for name in self.Numbers._fields))

    def as_dict(self) -> dict[str, Any]:
        """Name -> value, in declaration order."""
        return dataclasses.asdict(self)

    @classmethod
    def describe(cls) -> list[dict[str, Any]]:
        """Return a dict per parameter: name, default, accepted values, description; own ones before inherited ones."""
        own = vars(cls).get("__annotations__", {})
        return [
            {
                "name": f.name,
                "default": f.default,
                "values": f.metadata["bounds"].describe(),
                "text": f.metadata["bounds"].text,
            }
            for f in sorted(dataclasses.fields(cls), key=lambda f: f.name not in own)
        ]
