"""Values of options with a structure (`--label-wait`, `--share-models`, `--promote`), and limits of others."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from driftway.worker.errors import UsageFailure
from driftway.worker.wire.codec import PACKED
from driftway.worker.wire.headers import ALL
from driftway.worker.wire.packed import MAX_SCORES
from driftway.worker.wire.registered.framing import OUTPUT_FORMATS

MAX_WAITING = 100_000
"""Rows that may wait for labels at once if only a time is given."""
MAX_ROWS = 10_000_000
"""Upper limit of waiting rows: memory for all of them is allocated at the start."""
MAX_DIGITS = 10
"""Maximum number of digits of a number of rows or of a time, so that a time in ms fits into 64 bits."""
SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}

AVERAGE, GOSSIP = "average", "gossip"
SHARE_ROWS = 100
"""Labelled rows between exchanges if only the method is given."""

URI_REFERENCE = re.compile(r"[A-Za-z0-9._~:/?#@!$&'()*+,;=%\[\]-]+")
"""The characters of RFC 3986."""

NEVER, WHEN_BETTER = "never", "when-better"

CHAMPION_ONLY, EVERY_MODEL = "champion", "all"
EMITTED = (CHAMPION_ONLY, EVERY_MODEL)
"""The models whose predictions a worker writes."""

PREQUENTIAL, SEGMENTS, HOLDOUT = PROTOCOLS = "prequential", "segments", "holdout"
"""How learners are evaluated, see `driftway.worker.evaluation.protocols`."""

NO_COVERAGE, MAX_COVERAGE = 0.0, 0.9999
"""Share of labels that no interval or set is to cover, and the largest one that they can be."""

FORBIDDEN_PROPERTIES = {
    "queue.buffering.max.messages": "a batch that does not fit completely leaves a gap in the outputs",
    "queue.buffering.max.kbytes": "a batch that does not fit completely leaves a gap in the outputs",
    "delivery.report.only.error": "a commit proves by delivery reports that its outputs are in the log",
    "queuing.strategy": "outputs must stay in the order of their events",
    "transaction.timeout.ms": "it follows from --commit-interval",
    "test.mock.num.brokers": "a mock cluster accepts transactions and loses their offsets",
    "test.mock.broker.rtt": "a mock cluster accepts transactions and loses their offsets",
}
"""Client properties that would break a worker's guarantees -> why."""


def check_outputs(form: str, emit: str, n_classes: int) -> None:
    """Check in which format predictions are written, and whose.

    Raises
    ------
    UsageFailure
        The format or the choice is not known, or the format does not hold scores of so many classes.
    """
    if form not in OUTPUT_FORMATS:
        raise UsageFailure(f"output-format must be one of {', '.join(OUTPUT_FORMATS)}")
    if emit not in EMITTED:
        raise UsageFailure(f"emit must be one of {', '.join(EMITTED)}")
    if form == PACKED and n_classes > MAX_SCORES:
        raise UsageFailure(f"packed predictions hold at most {MAX_SCORES} scores: use --output-format json")


def check_headers(passed: Sequence[str], source: str) -> None:
    """Check which headers predictions carry: names of those of their event, and the source of a CloudEvent.

    Raises
    ------
    UsageFailure
        A name is empty or given twice, or * does not stand alone, or the source is no URI reference.
    """
    if "" in passed or len(set(passed)) < len(passed):
        raise UsageFailure("pass-headers: name different headers, separated by commas")
    if ALL in passed and len(passed) > 1:
        raise UsageFailure(f"pass-headers: {ALL} means every header and must stand alone")
    if source and not URI_REFERENCE.fullmatch(source):
        raise UsageFailure(f"cloudevents-source must be a URI reference such as /shop/predictions, got {source!r}")


@dataclass(frozen=True)
class LabelWait:
    """How long a row waits for its label.

    Parameters
    ----------
    rows : int
        Number of later rows it waits for, >= 1.
    millis : int
        Time it waits, in ms, by the timestamps of later records; 0: no limit.
    """

    rows: int
    millis: int = 0

    def __str__(self) -> str:
        return f"{self.millis // 1000}s/{self.rows}" if self.millis else str(self.rows)

    @classmethod
    def parse(cls, text: str) -> LabelWait:
        """Read ``10000``, ``12h`` or ``7d/50000``.

        Raises
        ------
        UsageFailure
            It is none of these.
        """
        duration, slash, rows = text.strip().partition("/")
        if not slash and duration.isdecimal():
            duration, rows = "", duration
        rows = rows or (str(MAX_WAITING) if duration and not slash else "")
        number, unit = duration[:-1], duration[-1:]
        long = max(len(number), len(rows)) > MAX_DIGITS
        if long or (duration and not (number.isdecimal() and int(number) and unit in SECONDS)) or not rows.isdecimal():
            raise UsageFailure(
                f"label-wait {text!r}: write a number of rows, or a time as 90s, 30m, 12h or 7d, or 7d/ROWS"
            )
        if not 1 <= int(rows) <= MAX_ROWS:
            raise UsageFailure(f"label-wait must be 1 to {MAX_ROWS:,} rows")
        return cls(int(rows), int(number) * SECONDS[unit] * 1000 if duration else 0)


@dataclass(frozen=True)
class SharingOption:
    """How partitions share their learners' models.

    Parameters
    ----------
    method : str
        ``average``: with all; ``gossip``: with the next and the previous partition.
    rows : int
        Minimum number of a partition's own labelled rows between its updates, >= 1.
    """

    method: str
    rows: int

    def __str__(self) -> str:
        return f"{self.method}:rows={self.rows}"

    @classmethod
    def parse(cls, text: str) -> SharingOption:
        """Read ``average:rows=100`` or ``gossip:rows=100``.

        Raises
        ------
        UsageFailure
            It is neither.
        """
        method, colon, rest = text.strip().partition(":")
        rows = rest.removeprefix("rows=") if colon else str(SHARE_ROWS)
        if method not in (AVERAGE, GOSSIP) or not (rows.isascii() and rows.isdecimal() and int(rows)):
            raise UsageFailure(f"share {text!r}: write {AVERAGE}:rows=N or {GOSSIP}:rows=N, N >= 1")
        return cls(method, int(rows))


@dataclass(frozen=True)
class PromoteOption:
    """When workers promote a challenger by themselves.

    Parameters
    ----------
    alpha : float
        Probability that they ever promote one that is not better, 0 < alpha < 1.
    min_rows : int
        Rows of all partitions under the present plan before they promote one, >= 0.
    cool_down : int
        Rows of all partitions since the champion last changed before they change it again, >= 0.
    """

    alpha: float = 0.01
    min_rows: int = 1000
    cool_down: int = 10_000

    def __str__(self) -> str:
        return f"{WHEN_BETTER}={self.alpha!r},{self.min_rows},{self.cool_down}"

    @classmethod
    def parse(cls, text: str) -> PromoteOption | None:
        """Read ``when-better`` or ``when-better=0.01,1000,10000``; None for ``never``.

        Raises
        ------
        UsageFailure
            It is none of these.
        """
        word, equals, rest = text.strip().partition("=")
        if word == NEVER and not equals:
            return None
        given = [part.strip() for part in rest.split(",")] if equals else []
        if word != WHEN_BETTER or len(given) > 3 or not all(part.isascii() for part in given):
            raise UsageFailure(
                f"promote {text!r}: write {NEVER}, {WHEN_BETTER} or {WHEN_BETTER}=ALPHA,MIN-ROWS,COOL-DOWN"
            )
        try:
            alpha = float(given[0]) if given else cls.alpha
        except ValueError:
            alpha = 0.0
        if not 0.0 < alpha < 1.0:
            raise UsageFailure(f"promote {text!r}: alpha is a probability between 0 and 1, as in {WHEN_BETTER}=0.01")
        if not all(part.isdecimal() and len(part) < 19 for part in given[1:]):
            raise UsageFailure(f"promote {text!r}: min-rows and cool-down are whole numbers of rows")
        return cls(alpha, *map(int, given[1:]))
