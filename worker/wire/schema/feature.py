"""A feature of an event: the path of its value, its kind, and the columns of a row that it becomes."""

from __future__ import annotations

import math
from dataclasses import dataclass

from driftway.worker.errors import UsageFailure
from driftway.worker.wire.json_tokens.text_values import NUMBER
from driftway.worker.wire.schema.paths import Path

REJECT, MEAN, LAST = "reject", "mean", "last"
HOUR, WEEKDAY, DAY, MONTH, AGE, SECONDS = "hour", "weekday", "day", "month", "age", "seconds"
HOUR_CIRCLE, WEEKDAY_CIRCLE = "hour-circle", "weekday-circle"
PARTS: dict[str, tuple[str, ...]] = {
    HOUR: (HOUR,),
    WEEKDAY: (WEEKDAY,),
    DAY: (DAY,),
    MONTH: (MONTH,),
    AGE: (AGE,),
    SECONDS: (SECONDS,),
    HOUR_CIRCLE: ("hour-sin", "hour-cos"),
    WEEKDAY_CIRCLE: ("weekday-sin", "weekday-cos"),
}
"""Part of a time -> the columns it becomes."""
WIDEST_HASH = 1 << 20
MAX_INDEX = 1 << 53
"""Above this, not every whole number is a float64."""
NUMBERS, ONE_OF, HASH, INDEX, TIME, UNIT = "number", "one-of", "hash", "index", "time", "unit"
MISSING_WORDS = "missing-words"
UNITS = ("s", "ms", "us", "ns", "days")
"""Units of a time that is a number since 1970."""
BY_SIZE = "by-size"
"""Stands for a unit: the unit follows from the size of each number, as before schemas had units."""
BY_DIGITS = (ONE_OF, HASH, INDEX)
"""Kinds that tell numbers apart that are one and the same float64."""
NAMES = ".*"
"""End of a path to an object whose fields' names are hashed; a field that is called * is then written in quotes."""
OTHERS = "*"
"""The category of all values that are not listed."""


@dataclass(frozen=True, eq=False)
class MissingPolicy:
    """What replaces a missing value.

    Parameters
    ----------
    word : str
        REJECT: nothing, the event is rejected. MEAN: the mean of the values so far. LAST: the last one. Empty: `value`.
    value : float
        The constant, if `word` is empty.
    """

    word: str = REJECT
    value: float = math.nan

    def __str__(self) -> str:
        return self.word or repr(self.value).removesuffix(".0")

    # With a word, `value` is NaN. From Python 3.13 on dataclasses compare field by field: it would not equal itself.
    def __eq__(self, other: object) -> bool:
        return isinstance(other, MissingPolicy) and str(self) == str(other)

    def __hash__(self) -> int:
        return hash(str(self))

    @classmethod
    def parse(cls, text: str) -> MissingPolicy:
        """Parse ``reject``, ``mean``, ``last`` or a number.

        Raises
        ------
        UsageFailure
            The text is none of these.
        """
        if text in (REJECT, MEAN, LAST):
            return cls(text)
        if NUMBER.fullmatch(text) and math.isfinite(float(text)):
            return cls("", float(text))
        raise UsageFailure(f"missing values: {text!r} is not reject, mean, last or a number")


def indicator_of(name: str) -> str:
    """Return the name of the column that marks where a value was missing."""
    return f"{name} missing"


@dataclass(frozen=True)
class Feature:
    """A field of an event that is a feature.

    Parameters
    ----------
    path : Path
        Path of its value.
    name : str
        Name of its columns; the path unless another name is given.
    kind : str
        NUMBERS: a number, also true, false and a number in text. ONE_OF: a column for each of the `categories`, 1 in
        that of the value. HASH: `width` columns, 1 in the one selected by the value's hash. INDEX: one whole number
        below `width`: the value if it is such a number, else its hash. TIME: `parts` of a time in ISO 8601, or in
        `unit` since 1970. A list under HASH counts its values, one hash each.
    categories : tuple of str
        For ONE_OF; OTHERS as the last one takes all values that are not listed.
    width : int
        For HASH and INDEX.
    parts : tuple of str
        For TIME, in UTC; keys of PARTS.
    missing : MissingPolicy or None
        None: the policy of the schema.
    indicator : bool
        Add a column with 1 where the value was missing.
    unit : str
        For TIME: one of UNITS; empty: times are text only.
    names : bool
        For HASH, where the path leads to an object: hash the names of its fields, and add up their values, 1 for each
        that is no number. Written as ``PATH.*``.
    missing_words : tuple of str
        Texts that mean missing, unless a feature of the same path has a category of that name.
    """

    path: Path
    name: str
    kind: str = NUMBERS
    categories: tuple[str, ...] = ()
    width: int = 0
    parts: tuple[str, ...] = ()
    missing: MissingPolicy | None = None
    indicator: bool = False
    unit: str = ""
    names: bool = False
    missing_words: tuple[str, ...] = ()

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of its columns, without the indicator."""
        if self.kind == ONE_OF:
            return tuple(f"{self.name}={category}" for category in self.categories)
        if self.kind == HASH:
            return tuple(f"{self.name}#{k}" for k in range(self.width))
        if self.kind == TIME:
            return tuple(f"{self.name}.{column}" for part in self.parts for column in PARTS[part])
        return (self.name,)

    def __str__(self) -> str:
        options = [f"one-of={'|'.join(self.categories)}"] if self.kind == ONE_OF else []
        options += [f"hash={self.width}"] if self.kind == HASH else []
        options += [f"index={self.width}"] if self.kind == INDEX else []
        options += [f"time={'|'.join(self.parts)}"] if self.kind == TIME else []
        options += [f"unit={self.unit}"] if self.unit else []
        options += [f"missing={self.missing}"] if self.missing is not None else []
        options += [f"{MISSING_WORDS}={'|'.join(self.missing_words)}"] if self.missing_words else []
        options += ["indicator"] if self.indicator else []
        usual = f"{self.path}{NAMES}" if self.names else str(self.path)
        options += [f"as={self.name}"] if self.name != usual else []
        if self.kind == HASH and not self.names and len(self.path.steps) > 1 and self.path.steps[-1] == OTHERS:
            usual = f'{usual.removesuffix(OTHERS)}"{OTHERS}"'
        return f"{usual}:{','.join(options)}" if options else usual

    @classmethod
    def parse(cls, text: str) -> Feature:
        """Parse ``PATH[:OPTION,..]``.

        Options: one-of=A|B, hash=N, index=N, time=PART|PART, unit=UNIT, missing=POLICY,
        missing-words=A|B, indicator, as=NAME.

        Raises
        ------
        UsageFailure
            The text does not have this form.
        """
        path, end = Path.begin(text)
        given: dict[str, str] = {}
        for option in text[end + 1 :].split(",") if end < len(text) else []:
            word, equals, value = option.partition("=")
            word = word.strip()
            if word not in OPTIONS or bool(equals) == (word == "indicator") or (equals and not value):
                raise UsageFailure(f"feature {text}: {option!r} is not one of {', '.join(OPTIONS.values())}")
            if word in given:
                raise UsageFailure(f"feature {text}: {word} is given twice")
            given[word] = value
        kinds = [kind for kind in (ONE_OF, HASH, INDEX, TIME) if kind in given]
        if len(kinds) > 1:
            raise UsageFailure(f"feature {text}: {' and '.join(kinds)} do not go together")
        if UNIT in given and kinds != [TIME]:
            raise UsageFailure(f"feature {text}: unit= says how a time is counted, and needs time=")
        names = kinds == [HASH] and text[:end].rstrip().endswith(NAMES) and len(path.steps) > 1
        return cls(
            Path(path.steps[:-1], path.source) if names else path,
            given.get("as", str(path)),
            kinds[0] if kinds else NUMBERS,
            _categories(text, given[ONE_OF]) if ONE_OF in given else (),
            _width(text, kinds[0], given[kinds[0]]) if kinds and kinds[0] in WIDEST else 0,
            _parts(text, given[TIME]) if TIME in given else (),
            MissingPolicy.parse(given["missing"]) if "missing" in given else None,
            "indicator" in given,
            checked_unit(f"feature {text}", given[UNIT]) if UNIT in given else "",
            names,
            _missing_words(text, given[MISSING_WORDS]) if MISSING_WORDS in given else (),
        )


WIDEST = {HASH: WIDEST_HASH, INDEX: MAX_INDEX}
OPTIONS = {
    ONE_OF: "one-of=A|B|..",
    HASH: "hash=COLUMNS",
    INDEX: "index=N",
    TIME: f"time={'|'.join(PARTS)}",
    UNIT: f"unit={'|'.join(UNITS)}",
    "missing": "missing=reject|mean|last|NUMBER",
    MISSING_WORDS: f"{MISSING_WORDS}=A|B|..",
    "indicator": "indicator",
    "as": "as=NAME",
}


def _categories(text: str, words: str) -> tuple[str, ...]:
    found = tuple(words.split("|"))
    if "" in found or len(set(found)) < len(found) or OTHERS in found[:-1]:
        raise UsageFailure(f"feature {text}: name distinct categories, separated by |, with {OTHERS} only as the last")
    return found


def _missing_words(text: str, words: str) -> tuple[str, ...]:
    found = tuple(words.split("|"))
    if "" in found or len(set(found)) < len(found):
        raise UsageFailure(f"feature {text}: name distinct texts that mean missing, separated by |")
    return found


def _width(text: str, kind: str, digits: str) -> int:
    if not digits.isdecimal() or not 1 <= int(digits) <= WIDEST[kind]:
        what = "hash takes a number of columns" if kind == HASH else "index takes a number"
        raise UsageFailure(f"feature {text}: {what} between 1 and {WIDEST[kind]:,}")
    return int(digits)


def _parts(text: str, words: str) -> tuple[str, ...]:
    found = tuple(words.split("|"))
    if len(set(found)) < len(found) or not set(found) <= PARTS.keys():
        raise UsageFailure(f"feature {text}: parts of a time are {', '.join(PARTS)}, each at most once")
    return found


def checked_unit(what: str, word: str) -> str:
    """Return a unit of time.

    Raises
    ------
    UsageFailure
        It is none of UNITS.
    """
    if word not in UNITS:
        raise UsageFailure(f"{what}: unit is one of {', '.join(UNITS)}, got {word!r}")
    return word
