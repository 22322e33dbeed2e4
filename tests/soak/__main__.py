"""`python -m tests.soak`: the command line of the soak.

A group of workers on its own local Kafka learns from a paced load while members are killed, terminated, frozen, added
and removed, and the broker is killed and restarted; all faults are drawn from one seed. With `--brokers 3` one of three
brokers is killed, restarted or frozen, two are killed, all are restarted in turn, and leaders move. A read_committed
reader counts the outputs. After the load the group catches up, and `driftway audit` gives the verdict. Ctrl-C ends the
load early, with the same catching up and audit; a second Ctrl-C, or SIGTERM, exits at once. All started processes are
ended and all files removed.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from pathlib import Path

from rich.console import Console
from rich.status import Status

from driftway.workbench.broker import LocalCluster, LocalKafka
from driftway.worker.errors import Failure
from driftway.worker.kafka.client_config import CLIENTS
from driftway.worker.stream.memory import share_arenas
from tests.soak.artifacts import keep
from tests.soak.report import Figures
from tests.soak.run import Settings, Soak
from tests.support.groups import PROTOCOLS

ROW_BYTES = 500
"""Most bytes of disk per row: the event, its prediction, and a margin."""
TABLE_WIDTH = 130
LINE_SECONDS = 60.0
"""Interval between lines of progress where there is no terminal."""


class Progress:
    """Shows the progress: an updated line on a terminal, otherwise a line a minute; a context manager."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._status = Status("starting", console=console) if console.is_terminal else None
        self._told_at = float("-inf")

    def __enter__(self) -> Progress:
        if self._status is not None:
            self._status.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._status is not None:
            self._status.stop()

    def tell(self, line: str) -> None:
        """Show a line; without a terminal, at most one per LINE_SECONDS."""
        if self._status is not None:
            self._status.update(line)
        elif time.monotonic() - self._told_at >= LINE_SECONDS:
            self._told_at = time.monotonic()
            self._console.print(line, soft_wrap=True, markup=False)


def soak(settings: Settings, console: Console, kept: Path, keep_anyway: bool) -> Figures:
    """Start a broker, run the soak, print the unexpected exits at the end, and keep the evidence if it failed."""
    console.print(f"{settings}; starting a local Kafka", soft_wrap=True, markup=False)
    with started(settings.brokers) as kafka, Progress(console) as progress:
        (kept / "members").mkdir(parents=True)
        one = Soak(kafka, settings, progress.tell, kept / "members")
        found = None

        def interrupted(_number: int, _frame: object) -> None:
            if one.over.is_set():
                raise KeyboardInterrupt
            one.over.set()

        before = signal.signal(signal.SIGINT, interrupted)
        try:
            found = one.run()
        finally:
            signal.signal(signal.SIGINT, before)
            for summary in one.members.unexpected:
                console.print(summary, style="red", markup=False, soft_wrap=True)
            if found is None or not found.holds:
                progress.tell("keeping the evidence")
                keep(kept, kafka, one.group.topics, {} if found is None else found.first_differences)
                console.print(f"everything that may tell why is in {kept}", soft_wrap=True, markup=False)
            elif not keep_anyway:
                shutil.rmtree(kept)
        return found


def started(brokers: int) -> LocalKafka | LocalCluster:
    """A broker or a cluster, to be started as a context."""
    return LocalKafka() if brokers == 1 else LocalCluster(brokers)


def main() -> int:
    """Run the soak, print and write its figures; return the exit code."""
    given = _arguments()
    share_arenas()
    console = Console(stderr=True, highlight=False)
    signal.signal(signal.SIGTERM, _leave)
    for name in [name for name in os.environ if name.startswith("DRIFTWAY_")]:
        del os.environ[name]  # they would change the workers' options
    seed = random.randrange(2**32) if given.seed is None else given.seed
    settings = Settings(
        given.minutes,
        given.rate,
        seed,
        given.partitions,
        given.members,
        given.protocol,
        given.client,
        given.broker_seconds,
        given.brokers,
    )
    try:
        free, needed = shutil.disk_usage(tempfile.gettempdir()).free, ROW_BYTES * 60 * given.minutes * given.rate
        if free < needed:
            raise Failure(f"{tempfile.gettempdir()} has {free / 1e9:.1f} GB free, {needed / 1e9:.1f} GB may be needed")
        found = soak(settings, console, given.evidence or Path(f"soak-evidence-{seed}"), given.evidence is not None)
    except (Failure, FileExistsError) as failure:
        console.print(str(failure), style="red", markup=False, soft_wrap=True)
        return 1
    except KeyboardInterrupt:
        console.print("interrupted; everything started has been ended")
        return 130
    if given.json is not None:
        given.json.write_text(json.dumps(found.as_object(), indent=2) + "\n")
    out = Console(highlight=False) if sys.stdout.isatty() else Console(width=TABLE_WIDTH, highlight=False)
    out.print(found.table())
    for note in found.notes:
        out.print(note, markup=False, soft_wrap=True)
    for complaint in found.complaints:
        out.print(complaint, style="red", markup=False, soft_wrap=True)
    out.print(f"the soak of seed {seed} {'holds' if found.holds else 'FAILS'}", soft_wrap=True)
    return 0 if found.holds else 1


def _arguments() -> argparse.Namespace:
    default = Settings()
    parser = argparse.ArgumentParser(prog="python -m tests.soak", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--minutes", type=float, default=default.minutes, help="of load (%(default)s)")
    parser.add_argument("--rate", type=float, default=default.rate, help="rows a second (%(default)s)")
    parser.add_argument("--seed", type=int, help="of faults and rows (drawn, and printed)")
    parser.add_argument("--partitions", type=int, default=default.partitions, help="of the input (%(default)s)")
    parser.add_argument("--members", type=int, default=default.members, help="at the start (%(default)s)")
    parser.add_argument(
        "--protocol", choices=tuple(PROTOCOLS), default=default.protocol, help="of the group (%(default)s)"
    )
    parser.add_argument("--client", choices=CLIENTS, default=default.client, help="of the members (%(default)s)")
    parser.add_argument(
        "--brokers",
        type=int,
        default=default.brokers,
        help="one, or a cluster of three or more, with faults of its own (%(default)s)",
    )
    parser.add_argument(
        "--broker-seconds",
        type=float,
        default=default.broker_seconds,
        metavar="S",
        help="between two faults of the broker, in the mean (%(default)s)",
    )
    parser.add_argument(
        "--evidence",
        type=Path,
        metavar="FOLDER",
        help="a new folder for every member's log and, on a complaint, the broker's data and logs and the records "
        "around the first difference (soak-evidence-SEED, kept on a complaint only)",
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every figure to it")
    given = parser.parse_args()
    if given.minutes <= 0 or given.rate <= 0 or given.partitions < 1 or given.members < 1 or given.broker_seconds <= 0:
        parser.error("--minutes, --rate and --broker-seconds must be > 0, --partitions and --members >= 1")
    if given.brokers != 1 and given.brokers < 3:
        parser.error("--brokers must be 1, or at least 3")
    if given.json is not None and not given.json.absolute().parent.is_dir():
        parser.error(f"--json: there is no folder {given.json.absolute().parent}")
    return given


def _leave(number: int, _frame: object) -> None:
    """Unwind on SIGTERM as on Ctrl-C: workers ended, Kafka stopped, its folder removed."""
    raise SystemExit(128 + number)


if __name__ == "__main__":
    sys.exit(main())
