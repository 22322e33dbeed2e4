"""`python -m tests.regenerate.sharing`: docs/results/sharing.md, the benefit of averaging between partitions.

It compares one partition with all rows, eight partitions with every eighth row each that learn alone, and eight that
share, as in `driftway evaluate --partitions 8 --share-models ..`: an update of one is merged by the others at their
next exchange.
"""

from __future__ import annotations

import textwrap
import time
from pathlib import Path

import numpy as np
from rich.progress import track

from driftway.learners.spec import Spec
from driftway.producers.streams import open_stream
from driftway.worker.evaluation.prequential import Evaluation
from driftway.worker.evaluation.results import markdown
from driftway.worker.settings.option_values import SharingOption
from driftway.worker.wire.events import Target

PAGE = Path(__file__).parents[2] / "docs" / "results" / "sharing.md"
COMMAND = "python -m tests.regenerate.sharing"

STREAMS = "sea", "2CDT", "UG-2C-2D", "hyperplane_moa", "electricity"
LEARNERS = (
    *("dfop:mu=0.0005", "dfop", "rls", "arow", "arow:q=0.0001", "ogd_hinge", "ogd_logistic:schedule=const,eta=0.05"),
    *("pa1", "perceptron"),
)
PARTITIONS = 8
SHARES = (
    *(SharingOption("average", rows) for rows in (1, 10, 100)),
    SharingOption("gossip", 10),
)
WITHIN = 1.0
"""Points within which eight partitions that share count as good as one."""


def measured(stream: str, learner: str, partitions: int, share: SharingOption | None) -> float:
    """Return the accuracy over all rows, in per cent."""
    blocks = list(open_stream(stream).blocks(1 << 20))
    X, y = np.concatenate([X for X, _ in blocks]), np.concatenate([y for _, y in blocks])
    made = Evaluation(Spec.parse(learner), Target(), X.shape[1], partitions=partitions, share=share)
    made.step(X, y)
    found = made.results(stream)
    rows = sum(part["rows"] for part in found)
    return 100.0 * sum(part["rows"] * part["accuracy"] for part in found) / rows


def main() -> None:
    """Measure, and write the page."""
    started, rows, notes = time.time(), list[list[str]](), list[str]()
    pairs = [(stream, learner) for stream in STREAMS for learner in LEARNERS]
    for stream, learner in track(pairs, "sharing"):
        one, alone = (measured(stream, learner, partitions, None) for partitions in (1, PARTITIONS))
        shared = [measured(stream, learner, PARTITIONS, share) for share in SHARES]
        best = max(shared)
        cells = [f"**{value:.1f}**" if value == best and value > alone else f"{value:.1f}" for value in shared]
        rows.append([stream, f"`{learner}`", f"{one:.1f}", f"{alone:.1f}", *cells])
        if best > alone and best > one - WITHIN:
            notes.append(f"`{learner}` on {stream}")
    heads = ["stream", "learner", "one partition", f"{PARTITIONS} alone", *map(str, SHARES)]
    text = f"""\
        # Accuracy of partitions that share their models

        Accuracy in per cent of all rows, with defaults and the standardiser. Row i belongs to partition
        i mod {PARTITIONS}. *One partition* has all rows; *{PARTITIONS} alone* learn without sharing. **Bold**: the best
        option of `--share-models`, if it is better than alone. Made by `{COMMAND}` in {time.time() - started:.0f} s.
        """
    parts = [
        textwrap.dedent(text),
        markdown(heads, rows, text_columns=2),
        f"Better than alone, and within {WITHIN:g} point of one partition with all rows: {', '.join(notes)}.\n",
    ]
    PAGE.write_text("\n".join(parts), encoding="utf-8")


if __name__ == "__main__":
    main()
