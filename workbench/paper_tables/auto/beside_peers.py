"""`--table auto`: the part of the page on learners of River and MOA, and on `auto` before it had forests."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Sequence

from driftway.workbench.paper_tables.auto.measure import AUTO, AutoResults
from driftway.workbench.paper_tables.auto.peers import (
    BEHIND,
    NEAR_ACCURACY,
    NEAR_ERROR,
    PLAIN,
    RECENT,
    Comparison,
    PeerFigure,
    compared,
    counts,
    least_log_loss,
)
from driftway.workbench.paper_tables.auto.streams import BEFORE_FORESTS, BESIDE_PEERS
from driftway.worker.evaluation.results import NONE, markdown

HEAD = f"""
## Beside River and MOA

The peers are learners of {{libraries}} with the defaults of these libraries, except that ensembles have 10 members
(gradient boosting has 100 steps, the default). Each was evaluated prequentially, in one run with one seed. They read
the same rows in the same order, raw, with all columns as numbers; River's linear learners and neighbours use its
`StandardScaler`. *Rows*: slow peers got only the first rows of a stream, and `auto` is compared on the same rows. *Best
peer* is the one furthest ahead of `auto`, or least behind. *Even* is within {NEAR_ACCURACY} points, or {NEAR_ERROR:g} %
of the peer's MSE. *Log loss* is that of `auto` and, on the same rows, of the peer with the best log loss, clamped as
everywhere here; – means that no peer has probabilities, or that their log loss was not measured.

`python -m tests.regenerate.auto_peers` measures the peers again, and has their settings;
`workbench/paper_tables/auto/peers.csv` has all figures, each with its library's version and date.

"""

GIVEN = {
    PLAIN: "Peers that read only the features",
    RECENT: "Peers that also read the last label, or the last three targets",
}

BEFORE = """
### Before it had forests

The table compares `auto` with its version without forests, on whole streams (further streams: at most their first
60,000 rows, magic04 in another random order): accuracy in per cent, or MSE.

"""


def beside_peers(results: AutoResults, figures: Sequence[PeerFigure]) -> str:
    """Return the part of the page, empty without figures of peers."""
    tables = ""
    for given, title in GIVEN.items():
        found = compared(results, figures, given)
        classes = {name: those for name, those in found.items() if BESIDE_PEERS[name]}
        targets = {name: those for name, those in found.items() if not BESIDE_PEERS[name]}
        if found:
            tables += f"\n### {title}\n"
        if classes:
            tables += f"\nAccuracy in per cent: {_counted(classes)}\n\n{_of_classes(classes)}"
        if targets:
            tables += f"\nMSE: {_counted(targets)}\n\n{_of_targets(targets)}"
    head = HEAD.format(libraries=" and ".join(sorted({one.library for one in figures})))
    text = "\n\n".join(textwrap.fill(one, 120, break_on_hyphens=False) for one in head.strip().split("\n\n"))
    return (f"\n{text}\n{tables}" if tables else "") + _before(results)


def _counted(found: dict[str, list[Comparison]]) -> str:
    best = [those[0] for those in found.values()]
    behind = ", ".join(one.figure.stream for one in best if one.outcome == BEHIND)
    text = f"`auto` is {counts(best)}{f' ({behind})' if behind else ''}."
    losses = [one for those in found.values() if (one := least_log_loss(those)) is not None]
    if losses:
        less = sum((one.log_loss or 0.0) < (one.figure.log_loss or 0.0) for one in losses)
        text += f" Its log loss is the least on {less} of {len(losses)}."
    return text


def _of_classes(found: dict[str, list[Comparison]]) -> str:
    lines = []
    for name, those in found.items():
        best, likely = those[0], least_log_loss(those)
        cells = [name, _rows(best), f"{best.accuracy:.2f}", f"{best.figure.accuracy:.2f}", best.figure.peer]
        losses = [NONE, NONE, ""]
        if likely is not None:
            losses = [f"{likely.log_loss:.4f}", f"{likely.figure.log_loss:.4f}", likely.figure.peer]
        lines.append([*cells, f"{best.margin:+.2f}", best.outcome, *losses, f"{len(those)}"])
    head = ["stream", "rows", AUTO, "best peer", "which", "difference", ""]
    return markdown([*head, "log loss", "best peer", "which", "peers"], lines)


def _of_targets(found: dict[str, list[Comparison]]) -> str:
    lines = []
    for name, those in found.items():
        best = those[0]
        cells = [name, _rows(best), f"{best.mse:.4g}", f"{best.figure.mse:.4g}", best.figure.peer]
        lines.append([*cells, f"{-best.margin:+.1f} %", best.outcome, f"{len(those)}"])
    return markdown(["stream", "rows", AUTO, "best peer", "which", "difference", "", "peers"], lines)


def _rows(one: Comparison) -> str:
    rows, length = one.figure.rows, one.figure.length
    return f"{rows:,}" if rows == length else f"{rows:,} of {length:,}"


def _before(results: AutoResults) -> str:
    lines, outcomes = [], Counter[str]()
    for name, before in BEFORE_FORESTS.items():
        now = results.whole.get(name, {}).get(AUTO)
        if now is None:
            continue
        if BESIDE_PEERS[name]:
            accuracy = 100.0 * float(now["accuracy"])
            gained, near = accuracy - before, NEAR_ACCURACY
            lines.append([name, f"{before:.2f}", f"{accuracy:.2f}", f"{gained:+.2f}"])
        else:
            gained, near = 100.0 * (1.0 - float(now["mse"]) / before), NEAR_ERROR
            lines.append([name, f"{before:.4g}", f"{float(now['mse']):.4g}", f"{-gained:+.1f} %"])
        outcomes["even" if abs(gained) <= near else "better" if gained > 0.0 else "worse"] += 1
    if not lines:
        return ""
    said = f"{outcomes['better']} better, {outcomes['even']} even, {outcomes['worse']} worse.\n"
    return BEFORE + markdown(["stream", "before", "now", "difference"], lines) + f"\n{said}"
