"""Applies ``KIND:option=value,...`` to a stream; each error is one sentence."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from driftway.learners.engine.suggestion import did_you_mean
from driftway.producers.streams.injection.registry import KINDS, find_kind
from driftway.producers.streams.options import SEEDS, parse_spec, read_options, read_seed
from driftway.producers.streams.stream import FirstRows, Stream
from driftway.worker.errors import UsageFailure, plural

if TYPE_CHECKING:
    from driftway.producers.streams.injection.injection_kind import InjectionKind

Open = Callable[[str, int], Stream]
"""(stream's name, seed) -> the second stream."""

TO = re.compile(r"(?<=[:,])\s*to\s*=")
STARTS = ("at", "from", "period")
"""Options that name the first row where something happens."""


def inject_all(stream: Stream, texts: Sequence[str], seed: int, rows: int | None, opened: Open) -> Stream:
    """Apply injections to a stream, in order.

    Parameters
    ----------
    stream : Stream
        The original stream; not changed.
    texts : sequence of str
        One ``KIND:option=value,...`` per injection.
    seed : int
        Seed of those injections that do not have their own, unless the stream has one.
    rows : int or None
        Most rows of the result.
    opened : callable
        Opens a second stream.

    Raises
    ------
    UsageFailure
        One sentence naming what does not exist or is not valid.
    """
    seed = getattr(stream, "seed", seed)
    for number, text in enumerate(texts, 1):
        stream = inject(stream, text, number, seed, opened)
    return stream if rows is None else FirstRows(stream, rows)


def inject(stream: Stream, text: str, number: int, seed: int, opened: Open) -> Stream:
    """Apply one injection to a stream.

    Parameters
    ----------
    stream : Stream
        The original stream; not changed.
    text : str
        ``KIND:option=value,...``. ``to=STREAM`` comes last: all that follows belongs to that stream.
    number : int
        Number of this injection, from 1. Each number gives other random numbers and another seed for the second
        stream, so that two injections of one kind, or two streams of one generator, are not correlated.
    seed : int
        Seed of the stream, 0 <= seed < 2**64; the injection's own ``seed`` takes precedence.
    opened : callable
        Opens the second stream.

    Raises
    ------
    UsageFailure
        One sentence naming what does not exist or is not valid.
    """
    name, given, to = split(text)
    if name not in KINDS:
        hint = did_you_mean(name, KINDS, f"available: {', '.join(KINDS)}", write=str)
        raise UsageFailure(f"there is no injection {name!r}; {hint}")
    from driftway.producers.streams.injection.injection_kind import SALT, InjectionRequest

    kind = find_kind(name)
    _check_names(kind, given, to)
    chosen = read_seed(f"{name}: seed", given.pop("seed", seed))
    columns = _columns(kind, stream, given.pop("columns", None))
    values = read_options(name, kind.options, given)
    for option in STARTS:
        if stream.rows is not None and values.get(option, 0) >= stream.rows:
            raise UsageFailure(
                f"{name}: {option} must be below {stream.rows}, the rows of {stream.name}, got {values[option]}"
            )
    second = None
    if to is not None:
        second = opened(to, (seed + number) % SEEDS)
        second.name = to
        _check_alike(name, stream, second)
    return kind.build(stream, InjectionRequest(text, values, ((chosen ^ SALT) + number) % SEEDS, second, columns))


def split(text: str) -> tuple[str, dict[str, Any], str | None]:
    """Split a text into the kind, its options as text, and the second stream.

    Raises
    ------
    UsageFailure
        A part is not option=value, an option is given twice, or ``to`` names nothing.
    """
    found = TO.search(text)
    name, given = parse_spec(text if found is None else text[: found.start()])
    if found is None:
        return name, dict(given), None
    to = text[found.end() :].strip()
    if not to:
        raise UsageFailure(f"to= names no stream in {text!r}")
    return name, dict(given), to


def option_names(kind: InjectionKind) -> list[str]:
    """Names of all options that may be given, as users write them."""
    extra = ["columns"] * kind.columns + ["seed"] + ["to"] * kind.second
    return [option.name for option in kind.options] + extra


def _check_names(kind: InjectionKind, given: dict[str, Any], to: str | None) -> None:
    known = option_names(kind)
    for name in [*given, *(["to"] if to is not None else [])]:
        if name not in known:
            raise UsageFailure(f"{kind.name} has no parameter {name!r}; available: {', '.join(known)}")
    missing = [name for name in kind.required if name not in given] + ["to"] * (kind.second and to is None)
    if missing:
        last = "; to=STREAM comes last, everything after it belongs to STREAM" if to is not None else ""
        raise UsageFailure(f"{kind.name} needs {' and '.join(missing)}{last}")


def _columns(kind: InjectionKind, stream: Stream, text: str | None) -> tuple[int, ...]:
    if text is None:
        return tuple(range(stream.n_features))
    names = [name.strip() for name in text.split("/")]
    for name in names:
        if name not in stream.feature_names:
            some = ", ".join(stream.feature_names[:8]) + (", ..." if stream.n_features > 8 else "")
            raise UsageFailure(f"{kind.name}: {stream.name} has no feature {name!r}; features: {some}")
    return tuple(sorted({stream.feature_names.index(name) for name in names}))


def _check_alike(name: str, first: Stream, second: Stream) -> None:
    """Require that rows of both streams can be part of one stream.

    Raises
    ------
    UsageFailure
        They have different numbers of features, the same ones in another order, or other classes or tasks.
    """
    pair = f"{name}: {first.name} and {second.name}"
    if first.n_features != second.n_features:
        raise UsageFailure(f"{pair} have {first.n_features} and {plural(second.n_features, 'feature')}")
    if first.feature_names != second.feature_names and {*first.feature_names} == {*second.feature_names}:
        raise UsageFailure(f"{pair} have the same features in another order")
    if first.labels is not None and second.labels is not None and first.labels != second.labels:
        raise UsageFailure(f"{pair} have the labels {','.join(first.labels)} and {','.join(second.labels)}")
    if first.task is not None and second.task is not None and first.task != second.task:
        raise UsageFailure(f"{pair} are of {first.task} and of {second.task}")
