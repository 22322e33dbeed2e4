"""Paths of values: into an event's JSON value, or to the key, headers or timestamp of its record."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from driftway.worker.errors import UsageFailure

ROW, ENVELOPE, KEY, HEADER, TIMESTAMP = "row", "envelope", "key", "header", "timestamp"
SOURCES = (ENVELOPE, KEY, HEADER, TIMESTAMP)
STEP = re.compile(r'"((?:[^"\\]|\\.)*)"|([^."]+)')
BARE = re.compile(r'[^.":@\s](?:[^.":]*[^.":\s])?')
"""A step that needs no quotes."""
LABELS = ("y", "label", "target", "class")
"""Names that the field of a label usually has, in small letters, the likeliest first."""


class Absent:
    """Type of ABSENT, which `look_up` returns where there is no value."""


ABSENT = Absent()


@dataclass(frozen=True)
class Path:
    """The path to a value.

    Parameters
    ----------
    steps : tuple of str
        Names of fields, the outermost first; a whole number is also an index into a list, from 0.
    source : str
        ROW: the event's row, which is the entire event unless it has an envelope. ENVELOPE: the envelope. KEY, HEADER
        (its name is the first step), TIMESTAMP: those of the record.
    """

    steps: tuple[str, ...]
    source: str = ROW

    def __str__(self) -> str:
        steps = map(_written, self.steps)
        return ".".join([f"@{self.source}", *steps] if self.source != ROW else steps)

    @classmethod
    def parse(cls, text: str) -> Path:
        """Parse ``a."b.c".0``, ``@key``, ``@key.a``, ``@header.NAME``, ``@timestamp``, ``@envelope.a``.

        Raises
        ------
        UsageFailure
            The text is none of these.
        """
        path, end = cls.begin(text)
        if end < len(text):
            raise UsageFailure(f"path {text}: {text[end:]!r} is not expected here")
        return path

    @classmethod
    def begin(cls, text: str) -> tuple[Path, int]:
        """Parse the path at the beginning of a text; return it and its end: a colon, or the text's end.

        Raises
        ------
        UsageFailure
            The text does not begin with a path.
        """
        steps, at = [], 0
        while True:
            found = STEP.match(text, at)
            if found is None:
                raise UsageFailure(f"path {text or repr('')}: a field's name is expected at {text[at:]!r}")
            quoted, bare = found.groups()
            at = found.end()
            if bare is None:
                steps.append(re.sub(r"\\(.)", r"\1", quoted))
            else:
                before, colon, _ = bare.partition(":")
                at = found.start() + len(before)
                if not before.strip():
                    raise UsageFailure(f"path {text}: a field's name is expected before {colon or text[at:]!r}")
                steps.append(before.strip())
            if at == len(text) or text[at] == ":":
                break
            if text[at] != ".":
                raise UsageFailure(f"path {text}: a dot is expected before {text[at:]!r}")
            at += 1
        return cls._of(steps, text, quoted=text.startswith('"')), at

    @classmethod
    def _of(cls, steps: list[str], text: str, quoted: bool) -> Path:
        if quoted or not steps[0].startswith("@"):
            return cls(tuple(steps))
        source, rest = steps[0][1:], tuple(steps[1:])
        if source not in SOURCES:
            raise UsageFailure(f"path {text}: @{source} is not one of {', '.join('@' + known for known in SOURCES)}")
        if (source == HEADER and len(rest) != 1) or (source == TIMESTAMP and rest) or (source == ENVELOPE and not rest):
            raise UsageFailure(f"path {text}: write @header.NAME, @timestamp or @envelope.FIELD")
        return cls(rest, source)


def text_of(raw: bytes) -> str:
    """Return the text of a key or header. Bytes that are not UTF-8 are written as ``\\x80`` and so stay apart."""
    return raw.decode(errors="backslashreplace")


def _written(step: str) -> str:
    """Return a step as written in a path, quoted if necessary."""
    return step if BARE.fullmatch(step) else '"' + step.replace("\\", r"\\").replace('"', r"\"") + '"'


def look_up(value: Any, steps: tuple[str, ...]) -> Any:
    """Return the value at the end of the steps, or ABSENT."""
    for step in steps:
        if isinstance(value, dict):
            value = value.get(step, ABSENT)
        elif isinstance(value, list) and step.isdecimal():
            value = value[int(step)] if int(step) < len(value) else ABSENT
        else:
            return ABSENT
    return value
