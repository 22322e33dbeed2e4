"""What learners of River and MOA reach on the streams, and `auto` over the same rows.

The figures are in `peers.csv`; `python -m tests.regenerate.auto_peers` measures them.
"""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from driftway.workbench.paper_tables.auto.measure import AutoResults
from driftway.workbench.paper_tables.auto.streams import BESIDE_PEERS

FILE = Path(__file__).with_name("peers.csv")
PLAIN, RECENT = "plain", "recent"
"""What peers are given: the features, or besides them the last label or the last three targets."""
NEAR_ACCURACY, NEAR_ERROR = 0.3, 3.0
"""Points of accuracy, and per cent of MSE, within which two learners are even."""
AHEAD, EVEN, BEHIND = "ahead", "even", "behind"


class PeerFigure(NamedTuple):
    """A peer's figures over the first `rows` of a stream's `length` rows; None: not defined, or no probabilities."""

    stream: str
    peer: str
    given: str
    rows: int
    length: int
    accuracy: float | None
    log_loss: float | None
    mse: float | None
    library: str
    made: str


class Comparison(NamedTuple):
    """A peer's figure, and those of `auto` over the same rows.

    `margin` is positive where `auto` is better: points of accuracy, or per cent of the peer's MSE.
    """

    figure: PeerFigure
    accuracy: float | None
    log_loss: float | None
    mse: float | None
    margin: float

    @property
    def outcome(self) -> str:
        """Whether `auto` is ahead, even or behind."""
        near = NEAR_ERROR if self.mse is not None else NEAR_ACCURACY
        return EVEN if abs(self.margin) <= near else AHEAD if self.margin > 0.0 else BEHIND


def read(path: Path = FILE) -> list[PeerFigure]:
    """Return all figures, accuracy in per cent."""
    if not path.exists():
        return []
    with path.open(encoding="utf-8", newline="") as file:
        return [_figure(line) for line in csv.DictReader(file)]


def _figure(line: dict[str, str]) -> PeerFigure:
    accuracy, log_loss, mse = (float(line[name]) if line[name] else None for name in ("accuracy", "log_loss", "mse"))
    stream, peer, given, library, made = (line[name] for name in ("stream", "peer", "given", "library", "made"))
    return PeerFigure(
        stream, peer, given, int(line["rows"]), int(line["length"]), accuracy, log_loss, mse, library, made
    )


def write(figures: list[PeerFigure], path: Path = FILE) -> None:
    """Write all figures, sorted, with five significant digits."""
    names = list(BESIDE_PEERS)
    with path.open("w", encoding="utf-8", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(PeerFigure._fields)
        for one in sorted(figures, key=lambda one: (names.index(one.stream), one.given, one.peer)):
            table.writerow("" if v is None else f"{v:.5g}" if isinstance(v, float) else v for v in one)


def compared(results: AutoResults, figures: Sequence[PeerFigure], given: str) -> dict[str, list[Comparison]]:
    """Return stream -> comparisons with its peers, the one that is best beside `auto` first.

    Figures over rows at which `auto` was not measured are left out.
    """
    found: dict[str, list[Comparison]] = {}
    for figure in figures:
        ours = results.at(figure.stream, figure.rows)
        if figure.given == given and ours is not None:
            found.setdefault(figure.stream, []).append(_comparison(figure, ours))
    ordered = [name for name in BESIDE_PEERS if name in found]
    return {name: sorted(found[name], key=lambda one: one.margin) for name in ordered}


def _comparison(figure: PeerFigure, ours: dict[str, float]) -> Comparison:
    if figure.mse is not None:
        mse = float(ours["mse"])
        return Comparison(figure, None, None, mse, 100.0 * (1.0 - mse / figure.mse))
    accuracy = 100.0 * float(ours["accuracy"])
    return Comparison(figure, accuracy, float(ours["log_loss"]), None, accuracy - (figure.accuracy or 0.0))


def counts(best: list[Comparison]) -> str:
    """Return how often `auto` is ahead, even and behind, in words."""
    found = Counter(one.outcome for one in best)
    return f"{found[AHEAD]} ahead, {found[EVEN]} even, {found[BEHIND]} behind"


def least_log_loss(comparisons: list[Comparison]) -> Comparison | None:
    """Return the comparison with the peer whose log loss is least beside that of `auto`; None if no peer has one."""
    known = [one for one in comparisons if one.figure.log_loss is not None and one.log_loss is not None]
    return min(known, key=lambda one: (one.figure.log_loss or 0.0) - (one.log_loss or 0.0), default=None)
