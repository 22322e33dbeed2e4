"""A long log: does one worker stay as small and as fast, and how soon does the next one go on? `make long-log`.

For a small state and a large one, on a local Kafka of its own:

1. one worker process runs from the start of a topic of ROWS messages; its peak RSS (the kernel's VmHWM), messages/s
   and CPU seconds are recorded after every tenth of the log (`LongRun`);
2. once the worker has committed all of them, it is SIGKILLed and another one started, several times, while live rows
   keep arriving (`Failover`). The first kill happens during a backlog of further rows, when the newest snapshot is
   about as old as it gets; the others happen under live traffic.

The size of the state is set by the rolling window, which holds one bit per row: 16 million rows make 2 MB a partition.
At the end, also after Ctrl-C and SIGTERM, all started processes are ended and all files removed.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from itertools import cycle
from pathlib import Path
from statistics import median
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from driftway.learners.spec import Spec
from driftway.workbench.bench.cases import Case
from driftway.workbench.bench.workload import Loader, blocks, drop, make_outputs
from driftway.workbench.broker import LocalKafka
from driftway.worker.errors import Failure
from driftway.worker.kafka.topics import Topics, create_topics
from driftway.worker.settings import ModelSettings
from driftway.worker.state.model import Model
from tests.bench.failover import Failover, FailoverRun, Traffic
from tests.bench.long_run import LongRun, follow
from tests.bench.process_stats import START_SECONDS, Group, MeasuredWorker, Usage

TENTHS = 10
POOL_ROWS = 500_000
"""Distinct rows, repeated in a longer log, because making ten million would take longer than learning them."""
WINDOWS = (1000, 16_000_000)
BROKER = {"log.segment.delete.delay.ms": "1000"}
"""The broker deletes the first state's outputs before the second state's are written, not a minute later."""
ROW_BYTES = 500
"""Most bytes of disk per row: the event, its prediction, and a margin."""
MAX_RSS = 400e6
MAX_GROWTH = 1.05
"""Largest allowed ratio of the peak RSS at the end to that at the first mark."""
MAX_SECONDS = 1.0
TABLE_WIDTH = 130


@dataclass(frozen=True)
class FirstStart:
    """Cost of the first worker's start, including compilation unless the machine's cache had the kernels."""

    seconds: float
    peak_rss: int


@dataclass(frozen=True)
class Measurements:
    """Measurements for one state size."""

    window: int
    state_bytes: int
    long_run: LongRun
    failovers: list[Failover]

    @property
    def growth(self) -> float:
        """Peak RSS after the last row over that after the first tenth."""
        return self.long_run.sections[-1].peak_rss / self.long_run.sections[0].peak_rss

    def spread(self, figure: str) -> tuple[float, float, float]:
        """Return minimum, median and maximum of a figure over the failovers."""
        values = [float(getattr(takeover, figure)) for takeover in self.failovers]
        return min(values), median(values), max(values)

    def beyond(self) -> list[str]:
        """Return the bounds that were exceeded."""
        peak, growth = self.long_run.sections[-1].peak_rss, self.growth
        failed = [f"peak RSS {peak / 1e6:.0f} MB"] * (peak > MAX_RSS) + [f"RSS grew to {growth:.2f} times"] * (
            growth > MAX_GROWTH
        )
        for figure, name in (("running", "running"), ("predicted", "first prediction")):
            largest = self.spread(figure)[2]
            failed += [f"{largest:.2f} s from assignment to {name}"] * (largest > MAX_SECONDS)
        return failed


class LongLog:
    """The measurement on one broker.

    Parameters
    ----------
    bootstrap : str
        Bootstrap address of the broker.
    case : Case
        Learner, format, partitions; `messages` is the length of the log.
    kills : int
        Kills per state size.
    rate : float
        Live rows per second.
    console : Console
        Shows the progress.
    """

    def __init__(self, bootstrap: str, case: Case, kills: int, rate: float, console: Console) -> None:
        self.bootstrap, self.case, self.kills, self.rate, self.console = bootstrap, case, kills, rate, console
        self.pool = [value for block in blocks(case, min(POOL_ROWS, case.messages)) for value in block]

    def fill(self) -> None:
        """Write the log, and a tenth more for the kill during a backlog."""
        create_topics(self.bootstrap, {}, {"events": (self.case.partitions, {})})
        loader, remaining = self._loader(linger_ms=5), self.case.messages + self.case.messages // TENTHS
        started, total = time.monotonic(), remaining
        with self._progress("filling", total) as progress:
            while remaining:
                for start in range(0, min(remaining, len(self.pool)), 50_000):
                    share = self.pool[start : start + min(remaining, 50_000)]
                    loader.send(share)
                    remaining -= len(share)
                    progress.update(progress.task_ids[0], completed=total - remaining)
            loader.finish()
        self.console.print(f"{total:,} messages written in {time.monotonic() - started:.0f} s")

    def start_once(self) -> FirstStart:
        """Start a worker on an empty topic and end it, so that the measured workers do not compile.

        The compiler's memory would otherwise set the measured worker's peak RSS and hide any growth below it.
        """
        topics, case = Topics("empty", "first"), replace(self.case, window=1)
        create_topics(self.bootstrap, {}, {topics.input: (1, {})})
        with FailoverRun(self.bootstrap, topics, 1, lambda: MeasuredWorker(self.bootstrap, topics, case)) as run:
            started = time.monotonic()
            run.worker.await_until(run.running, START_SECONDS, "the first worker is running")
            first = FirstStart(time.monotonic() - started, run.worker.usage().peak_rss)
        self.console.print(f"first start: running after {first.seconds:.1f} s, peak {first.peak_rss / 1e6:.0f} MB")
        return first

    def measure(self, window: int) -> Measurements:
        """Run and kill workers with one state size."""
        topics, case = Topics("events", f"window-{window}"), replace(self.case, window=window)
        make_outputs(self.bootstrap, {}, topics, case)
        partitions, n = case.partitions, case.messages
        label = f"window {window:,}"

        def make() -> MeasuredWorker:
            return MeasuredWorker(self.bootstrap, topics, case)

        with (
            FailoverRun(self.bootstrap, topics, partitions, make) as run,
            Group(self.bootstrap, topics, partitions) as group,
        ):
            with self._progress(label, n) as progress:

                def tell(done: int, usage: Usage) -> None:
                    text = f"{label}, peak {usage.peak_rss / 1e6:.0f} MB"
                    progress.update(progress.task_ids[0], completed=min(done, n), description=text)

                long_run = follow(run.worker, group, n, n // TENTHS, tell)
            with Traffic(self._loader(linger_ms=0), cycle(self.pool), self.rate):
                run.await_old_snapshot(group, long_run.oldest_snapshot)
                failovers = [self._told(label, run.kill())]
                for _ in range(1, self.kills):
                    run.await_live(group, self.rate)
                    failovers.append(self._told(label, run.kill()))
        drop(self.bootstrap, {}, topics.outputs())
        return Measurements(window, _state_bytes(case), long_run, failovers)

    def _told(self, label: str, takeover: Failover) -> Failover:
        self.console.print(
            f"{label}: killed; assigned after {takeover.assigned:.1f} s, then running after {takeover.running:.2f} s, "
            f"first prediction after {takeover.predicted:.2f} s, {takeover.relearned:,} rows relearned",
            soft_wrap=True,
        )
        return takeover

    def _loader(self, linger_ms: float) -> Loader:
        return Loader(self.bootstrap, {}, "events", self.case.partitions, linger_ms)

    @contextmanager
    def _progress(self, text: str, total: int) -> Iterator[Progress]:
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
        with Progress(*columns, console=self.console, transient=True, disable=not self.console.is_terminal) as progress:
            progress.add_task(text, total=total)
            yield progress


def long_runs(found: Sequence[Measurements], n: int) -> Table:
    """Return the table of memory and speed in the first and the last tenth."""
    early = f"{n // TENTHS:,}"
    made = Table(
        box=None, header_style="bold", padding=(0, 2, 0, 0), title="one process, whole log", title_justify="left"
    )
    headings = ("state, bytes", f"peak RSS after {early}", f"after {n:,}", "ratio", f"messages/s first {early}",
                f"last {early}", "CPU-s/million first", "last")  # fmt: skip
    for heading in headings:
        made.add_column(heading, justify="right")
    for one in found:
        first, last = one.long_run.sections[0], one.long_run.sections[-1]
        peaks = (f"{section.peak_rss / 1e6:.0f} MB" for section in (first, last))
        rates = (f"{section.rate:,.0f}" for section in (first, last))
        cpu = (f"{section.cpu_seconds:.2f}" for section in (first, last))
        made.add_row(f"{one.state_bytes:,}", *peaks, f"{one.growth:.3f}", *rates, *cpu)
    return made


def restores(found: Sequence[Measurements]) -> Table:
    """Return the table of failover times, in seconds from the assignment."""
    title = "after SIGKILL: seconds from assignment, smallest / median / largest"
    made = Table(box=None, header_style="bold", padding=(0, 2, 0, 0), title=title, title_justify="left")
    for heading in ("state, bytes", "kills", "to restored", "to running", "to first prediction", "most rows relearned",
                    "kill to assignment"):  # fmt: skip
        made.add_column(heading, justify="right")
    for one in found:
        seconds = {f: " / ".join(f"{v:.2f}" for v in one.spread(f)) for f in ("restored", "running", "predicted")}
        rows, wait = f"{one.spread('relearned')[2]:,.0f}", f"{one.spread('assigned')[1]:.1f}"
        made.add_row(f"{one.state_bytes:,}", str(len(one.failovers)), *seconds.values(), rows, wait)
    return made


def as_object(
    found: Sequence[Measurements], first: FirstStart, case: Case, given: argparse.Namespace
) -> dict[str, Any]:
    """Return the object written by ``--json``."""
    return {
        "settings": {**asdict(case), "kills": given.kills, "rate": given.rate, "processors": os.cpu_count()},
        "first_start": asdict(first),
        "states": [{**asdict(one), "growth": one.growth, "beyond_bounds": one.beyond()} for one in found],
    }


def _state_bytes(case: Case) -> int:
    settings = ModelSettings((Spec.parse(case.learner),), n_features=case.features, form=case.form, window=case.window)
    return Model(settings, partition=0).save().nbytes


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.long_log", description=__doc__.partition("\n")[0])
    parser.add_argument("--rows", type=int, default=10_000_000, help="messages of the log (%(default)s)")
    parser.add_argument("--format", choices=("json", "packed"), default="json", help="of the events (%(default)s)")
    parser.add_argument("--learner", default="dfop", help="(%(default)s)")
    parser.add_argument("--windows", type=lambda text: [int(w) for w in text.split(",")], default=list(WINDOWS),
                        metavar="ROWS[,..]", help="rolling windows: sizes of the state (1000,16000000)")  # fmt: skip
    parser.add_argument("--kills", type=int, default=5, help="for each state (%(default)s)")
    parser.add_argument("--rate", type=float, default=1000.0, help="live rows a second (%(default)s)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every figure to it")
    given = parser.parse_args()
    if given.rows < 10 * TENTHS or given.rows % TENTHS or given.kills < 1 or given.rate <= 0 or min(given.windows) < 1:
        parser.error(
            f"--rows must be a multiple of {TENTHS} and >= {10 * TENTHS}, --kills and --windows >= 1, --rate > 0"
        )
    if given.json is not None and not given.json.absolute().parent.is_dir():
        parser.error(f"--json: there is no folder {given.json.absolute().parent}")
    return given


def main() -> int:
    """Measure, print, write; return the exit code."""
    given = _arguments()
    console = Console(stderr=True, highlight=False)
    signal.signal(signal.SIGTERM, _leave)
    for name in [name for name in os.environ if name.startswith("DRIFTWAY_")]:
        del os.environ[name]  # they would change the workers' options
    case = Case(learner=given.learner, form=given.format, messages=given.rows)
    started = time.monotonic()
    try:
        free, needed = shutil.disk_usage(tempfile.gettempdir()).free, ROW_BYTES * given.rows
        if free < needed:
            raise Failure(f"{tempfile.gettempdir()} has {free / 1e9:.1f} GB free, {needed / 1e9:.1f} GB may be needed")
        console.print(f"{case.named()}; starting a local Kafka", soft_wrap=True)
        with LocalKafka(properties=BROKER) as kafka:
            log = LongLog(kafka.bootstrap, case, given.kills, given.rate, console)
            first = log.start_once()
            log.fill()
            found = [log.measure(window) for window in given.windows]
    except Failure as failure:
        console.print(str(failure), style="red", markup=False, soft_wrap=True)
        return 1
    except KeyboardInterrupt:
        console.print("interrupted; everything started has been ended")
        return 130
    out = Console(highlight=False) if sys.stdout.isatty() else Console(width=TABLE_WIDTH, highlight=False)
    out.print(long_runs(found, given.rows), "", restores(found), "", sep="\n")
    for one in found:
        out.print(
            f"state of {one.state_bytes:,} bytes: {'; '.join(one.beyond()) or 'every bound kept'}", soft_wrap=True
        )
    seconds = time.monotonic() - started
    out.print(f"{seconds:.0f} s in all, {os.cpu_count()} processors shared with the broker", soft_wrap=True)
    if given.json is not None:
        given.json.write_text(json.dumps(as_object(found, first, case, given), indent=2) + "\n")
    return 0


def _leave(number: int, _frame: object) -> None:
    """Unwind on SIGTERM as on Ctrl-C: workers ended, Kafka stopped, its folder removed."""
    raise SystemExit(128 + number)


if __name__ == "__main__":
    sys.exit(main())
