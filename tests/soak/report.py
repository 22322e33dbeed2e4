"""Results of a soak: the table for people, the object for programs, and the verdict."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

from rich.table import Table

from tests.soak.resources import Trend

MEGABYTE = 1e6
SAID_LINES = 4


@dataclass(frozen=True)
class Audit:
    """Result of `driftway audit`: its exit code, its duration, and its last lines of output."""

    code: int
    seconds: float
    last_lines: list[str]


@dataclass(frozen=True)
class Figures:
    """Every figure of a soak.

    Parameters
    ----------
    settings : dict
        The requested settings, including the seed.
    minutes : float
        Duration of the load.
    produced, predicted, rejected : int
        Rows sent, predicted, and rejected.
    faults : dict
        Fault -> how often it was injected.
    restarts : dict
        Exit code -> members that ended with it and were restarted.
    final_exits : dict
        Exit code -> members that ended with it after the final SIGTERM.
    duplicates, gaps, disordered : int
        Input offsets that came out twice, not at all, in the wrong order.
    away_seconds, longest_away_seconds : float
        Broker outages: total, and the longest.
    silence_seconds, own_silence_seconds : float
        Longest time without outputs of some partition, with and without broker outages counted.
    catch_up_seconds : float
        From the end of the load until the last output.
    steady, soak : dict of Trend
        RSS, descriptors and threads of the steady member's longest life, and of the soak itself.
    steady_lives : int
        Processes of the steady member; 1 if it lived from beginning to end.
    steady_seconds : float
        Length of its longest life.
    others_most : dict
        The largest figures of all other members.
    complaints : list of str
        Everything that is wrong, in sentences.
    notes : list of str
        Other messages, of the reader and of members that ended by themselves.
    first_differences : dict
        Partition -> the first missing, duplicate or disordered input offset; None if there is none.
    audit : Audit or None
        None if it was not run.
    """

    settings: dict[str, Any]
    minutes: float
    produced: int
    predicted: int
    rejected: int
    faults: dict[str, int]
    restarts: dict[str, int]
    final_exits: dict[str, int]
    duplicates: int
    gaps: int
    disordered: int
    away_seconds: float
    longest_away_seconds: float
    silence_seconds: float
    own_silence_seconds: float
    catch_up_seconds: float
    steady: dict[str, Trend]
    soak: dict[str, Trend]
    steady_lives: int
    steady_seconds: float
    others_most: dict[str, float]
    complaints: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    first_differences: dict[int, int | None] = field(default_factory=dict)
    audit: Audit | None = None

    @property
    def holds(self) -> bool:
        """Whether the soak passed."""
        complete = not (self.duplicates or self.gaps or self.disordered or self.complaints)
        return complete and self.audit is not None and self.audit.code == 0

    def as_object(self) -> dict[str, Any]:
        """Return the object written by ``--json``."""
        return {**asdict(self), "holds": self.holds}

    def table(self) -> Table:
        """Return the figures as a table."""
        made = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
        made.add_column(justify="left", no_wrap=True)
        made.add_column(justify="left", overflow="fold")
        for name, value in self._rows():
            made.add_row(name, value)
        return made

    def _rows(self) -> list[tuple[str, str]]:
        audit = self.audit
        return [
            ("minutes", f"{self.minutes:.1f}"),
            ("rows produced", f"{self.produced:,}"),
            ("rows predicted", f"{self.predicted:,}"),
            ("rejected", f"{self.rejected:,}"),
            *((name, str(n)) for name, n in self.faults.items()),
            ("broker away", f"{self.away_seconds:.0f} s in all, {self.longest_away_seconds:.0f} s at most"),
            ("restarts by the supervisor", _codes(self.restarts)),
            ("ends after the last SIGTERM", _codes(self.final_exits)),
            ("duplicates", str(self.duplicates)),
            ("gaps", str(self.gaps)),
            ("out of order", str(self.disordered)),
            ("longest silence of a partition", f"{self.silence_seconds:.1f} s"),
            ("  without the broker's absence", f"{self.own_silence_seconds:.1f} s"),
            ("catching up at the end", f"{self.catch_up_seconds:.1f} s"),
            ("steady member", f"{self.steady_lives} lives, the longest {self.steady_seconds / 60:.1f} minutes"),
            ("  RSS", _trend(self.steady.get("rss"), MEGABYTE, " MB")),
            ("  descriptors", _trend(self.steady.get("descriptors"))),
            ("  threads", _trend(self.steady.get("threads"))),
            ("other members at most", ", ".join(f"{n:.0f} {name}" for name, n in self.others_most.items())),
            ("RSS of the soak itself", _trend(self.soak.get("rss"), MEGABYTE, " MB")),
            ("audit", f"exit code {audit.code} after {audit.seconds:.0f} s" if audit else "not done"),
            *(("", line) for line in (audit.last_lines if audit else [])),
        ]


def _codes(exits: dict[str, int]) -> str:
    return ", ".join(f"{n} with exit code {code}" for code, n in exits.items()) or "none"


def _trend(found: Trend | None, unit: float = 1.0, name: str = "") -> str:
    if found is None:
        return "not seen"
    first, last, least, most, slope = (
        value / unit for value in (found.first, found.last, found.least, found.most, found.per_hour)
    )
    span = f"first {first:.0f}, last {last:.0f}, between {least:.0f} and {most:.0f}{name}"
    return f"{span}; slope {slope:+.1f}{name}/hour"
