"""What `--coverage 0.9` costs a partition: processor time of a row with the option and without, in turn.

    nice python -m tests.bench.coverage_cost --rounds 10

A row is all that a worker's partition does with it between two messages: decoded from JSON, predicted, learned,
counted, and its prediction written as JSON. The client and the broker are left out. Each model goes once over the same
20,000 rows of 8 features in batches of 2,000; of each, the fastest batch at the same place counts, so that other work
on the machine does not.
"""

from __future__ import annotations

import argparse
import sys
import time
from itertools import product

import numpy as np
from numpy.typing import NDArray

from driftway.learners.learner import CLASSIFICATION, REGRESSION
from driftway.learners.spec import Spec
from driftway.worker.evaluation.results import markdown
from driftway.worker.settings import ModelSettings
from driftway.worker.state.model import Model
from driftway.worker.state.monitoring.monitors import StateForm
from driftway.worker.wire.codec import encode_events
from driftway.worker.wire.columns import ListColumn
from driftway.worker.wire.events import Records, Target

Floats = NDArray[np.float64]
ROWS, BATCH, FEATURES, LEVEL = 20_000, 2000, 8, 0.9
TARGETS = {
    "two classes": Target(CLASSIFICATION, 2),
    "five classes": Target(CLASSIFICATION, 5),
    "targets": Target(REGRESSION, 0),
}
LEARNERS = "dfop", "auto"


def records(target: Target) -> Records:
    """Return the same rows for every model that predicts this."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(ROWS, FEATURES))
    y = X[:, 0] + X[:, 1] + rng.normal(0.0, 0.5, ROWS)
    if target.task == CLASSIFICATION:
        y = np.searchsorted(np.quantile(y, np.arange(1, target.n_classes) / target.n_classes), y).astype(float)
    values = ListColumn(list(encode_events(X, y, 0)))
    return Records(0, np.arange(ROWS), values, ListColumn([None] * ROWS), [0] * ROWS)


def microseconds(settings: ModelSettings, rows: Records) -> Floats:
    """Return the processor time of a row in each batch, f8[ROWS / BATCH]."""
    model, rest, found = Model(settings, 0), rows, []
    model.continue_as(StateForm(True, 1))
    while len(rest):
        part, started = rest.before(BATCH), time.process_time()
        model.advance(part).predictions.release()
        found.append((time.process_time() - started) / BATCH * 1e6)
        rest = rest.after(len(part))
    return np.array(found)


def table(rounds: int) -> str:
    """Measure every learner and kind of label; return a table."""
    lines = []
    for name, (kind, target) in product(LEARNERS, TARGETS.items()):
        several = target.task == CLASSIFICATION and target.n_classes > 2
        learner = f"ova:{name}" if several and name != "auto" else name
        rows, best = records(target), np.full((2, ROWS // BATCH), np.inf)
        for i in range(2 * rounds):
            side = (i + i // 2) % 2  # without, with, with, without
            settings = ModelSettings((Spec.parse(learner),), target, coverage=LEVEL if side else 0.0)
            best[side] = np.minimum(best[side], microseconds(settings, rows))
        without, covered = best.mean(axis=1)
        figures = [f"{without:.2f}", f"{covered:.2f}", f"{covered - without:+.2f}", f"{covered / without - 1:+.0%}"]
        lines.append([f"`{learner}`", kind, *figures, f"{1e6 / without:,.0f}", f"{1e6 / covered:,.0f}"])
    heads = ["learner", "label", "µs a row", "with --coverage", "more", "", "rows/s", "with --coverage"]
    return markdown(heads, lines)


def main() -> None:
    """Run it from the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--rounds", type=int, default=10)
    sys.stdout.write(table(parser.parse_args().rounds))


if __name__ == "__main__":
    main()
