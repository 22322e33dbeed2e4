"""`--table auto`: format and write the page."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from pathlib import Path
from statistics import mean

from driftway.workbench.paper_tables.auto.ablation import HISTORY
from driftway.workbench.paper_tables.auto.beside_peers import beside_peers
from driftway.workbench.paper_tables.auto.claims import WHY, bar_of, best_printed, claims, least_dfop
from driftway.workbench.paper_tables.auto.measure import AUTO, AutoResults, measure
from driftway.workbench.paper_tables.auto.peers import PeerFigure, read
from driftway.workbench.paper_tables.auto.streams import (
    BATCH_SETS,
    FACTORS,
    OF_THE_PAPERS,
    ORDER_TELLS,
    PROBABILITY_STREAMS,
)
from driftway.workbench.paper_tables.request import TableRequest
from driftway.worker.evaluation.results import NONE, markdown

HEAD = """# One learner for every stream: `auto`

All figures are prequential: each row is predicted before its label is used. `auto` and the other learners have their
defaults, unless a parameter is named, and all use the online standardiser. The figures are from this run, except those
that papers print, and those of peers, which were measured separately.

{missing}Made by `driftway evaluate --table auto --seed {seed}` in {seconds:.0f} s on {processes} processes.

"""

PAPERS = """
## Ten pieces of each stream, as in the papers

Accuracy in per cent, as mean ± standard deviation (n - 1) over ten pieces of 4T/5 rows, each from scratch
(docs/decisions/0016), beside the best printed column of Zhao and Zhou's Table 1 and of Zhang, Zhao and Jin's Table 2.
The parameters of their methods differ between data sets. `auto` holds if its mean is at least the printed mean minus
its deviation.

"""

WHOLE = """
## Whole streams

Accuracy in per cent over all rows. All registered learners would take hours. So this run has `dfop`, `pa` and
`weighted_majority`, and on each stream those that were best when all were measured (on streams of more than 60,000 rows
without `svm_ada`, `svm_fix` and `particle_filter`). *Best single* is the best of them and of the two baselines. The
data folder's batch sets ({batch}) have no order in time and are left out.

"""

ORDER = """
## Where the order of the labels predicts the next one

On these streams the labels follow a pattern, so that one can predict the next label without the features. `auto` has
experts for the order of labels. What they gain says nothing about the features, and is lost if a topic has the same
events in another order. So the table also has `auto` with a mixture that ignores these experts; *difference* is what
they contribute. [auto-ablation.md](auto-ablation.md) has the other families of experts.

"""

TARGETS = """
## Targets

Mean squared error over all rows. *Best of the registry* is the lowest error of all registered regressors with their
defaults, and of `no_change`. `dfop` has the forgetting factor in brackets: that of `--table dfop-regression`, 0.2 for
the two real streams that move (docs/algorithms/reference-results.md#accuracy-and-forgetting-factors-in-dfop), and 0.001
for `fried`, where nothing changes. It is the better of two: with the standardiser, or on raw rows without an intercept.

"""

LIKELY = """
## Probabilities

Log loss and Brier score over all rows, beside learners whose scores are probabilities too; lower is better. With more
than two classes, Brier scores are summed over the classes.

"""


def write(asked: TableRequest) -> list[Path]:
    """Measure the table and write `auto.md` and `auto.png`."""
    from driftway.workbench.paper_tables.auto.picture import draw

    results, peers = measure(asked), read()
    page, picture = asked.out / "auto.md", asked.out / "auto.png"
    drawn = draw(results, str(picture), peers)
    page.write_text(auto_page(results, asked, picture.name if drawn else None, peers), encoding="utf-8")
    return [page, picture] if drawn else [page]


def auto_page(results: AutoResults, asked: TableRequest, picture: str | None, peers: Sequence[PeerFigure] = ()) -> str:
    """Return the page as Markdown."""
    text = _filled(
        HEAD,
        missing=f"Not there: {', '.join(results.missing)}. " if results.missing else "",
        seed=asked.seed,
        seconds=results.seconds,
        processes=asked.processes,
    )
    text += _claims(results, peers)
    text += f"\n![Differences]({picture})\n" if picture else ""
    for part in (_papers, _whole, _order, _targets, _likely):
        text += part(results)
    return text + beside_peers(results, peers)


def _filled(text: str, **values: object) -> str:
    """Wrap the paragraphs of a heading to lines of at most 120 characters."""
    filled = (textwrap.fill(one, 120, break_on_hyphens=False) for one in text.format(**values).strip().split("\n\n"))
    return "\n\n".join(filled) + "\n\n"


def _claims(results: AutoResults, peers: Sequence[PeerFigure]) -> str:
    lines, missed = [], dict[tuple[str, str], str]()
    for one in claims(results, peers):
        misses = one.misses
        word = "holds" if len(misses) <= one.spared else "**does not hold**"
        shown = ", ".join(f"{name} ({margin:+.2g}{one.unit})" for name, margin in misses.items())
        lines.append([one.text, f"{one.of - one.spared} of {one.of}", f"{one.of - len(misses)}", word, shown])
        missed |= {(one.key, name): WHY.get((one.key, name), "**not explained**") for name in misses}
    text = "## Claims, and whether they hold\n\n"
    text += "In brackets is by how much a claim is missed: points of accuracy, or per cent of the error.\n\n"
    text += markdown(["claim", "required", "found", "", "misses"], lines, text_columns=5)
    text += "\n" if missed else ""
    for (_, name), why in missed.items():
        text += textwrap.fill(f"- {name}: {why}", 120, subsequent_indent="  ", break_on_hyphens=False) + "\n"
    return text


def _papers(results: AutoResults) -> str:
    lines = []
    for name in (one for one in OF_THE_PAPERS if one in results.pieces):
        figure = results.pieces[name]
        column, printed = best_printed(name)
        average, beyond = figure.mean or 0.0, (figure.mean or 0.0) - bar_of(printed)
        best = f"{printed.mean:.2f}±{printed.deviation or 0.0:.2f}"
        ours = f"{average:.2f}±{figure.deviation or 0.0:.2f}"
        word = "holds" if beyond >= 0.0 else "**no**"
        lines.append([name, ours, best, column, f"{average - printed.mean:+.2f}", f"{beyond:+.2f}", word])
    head = ["data set", AUTO, "best printed", "column", "difference", "to mean - sd", ""]
    return PAPERS + markdown(head, lines) if lines else ""


def _whole(results: AutoResults) -> str:
    lines, to_single = [], []
    for name in results.compared:
        ours = results.accuracy(name, AUTO)
        single, best = results.best_single(name)
        to_single.append(ours - best)
        baselines = [f"{results.accuracy(name, f'{one}_accuracy'):.2f}" for one in ("no_change", "majority")]
        beside_best = [f"{best:.2f}", f"`{single}`", f"{ours - best:+.2f}"]
        lines.append([name, f"{results.rows[name]:,}", *baselines, f"{ours:.2f}", *beside_best])
    if not lines:
        return ""
    head = ["stream", "rows", "no change", "majority", AUTO, "best single", "which", "difference"]
    text = "\n" + _filled(WHOLE, batch=", ".join(BATCH_SETS)) + markdown(head, lines)
    text += f"\nOn average {mean(to_single):+.2f} points beside the best single learner of each stream"
    return text + ".\n" + _ran(results)


def _ran(results: AutoResults) -> str:
    """List every rival's figure, a line per stream."""
    text = "\nAll that ran, in per cent:\n\n"
    for name in results.compared:
        rivals = sorted(
            (one for one in results.whole[name] if one != AUTO), key=lambda one: -results.accuracy(name, one)
        )
        text += f"- {name}: {', '.join(f'`{one}` {results.accuracy(name, one):.2f}' for one in rivals)}\n"
    return text


def _order(results: AutoResults) -> str:
    lines = []
    for name in ORDER_TELLS:
        if name in results.ablated:
            ours, without = results.accuracy(name, AUTO), results.ablated[name]
            single, best = results.best_single(name)
            beside = [f"{results.accuracy(name, 'no_change_accuracy'):.2f}", f"{ours:.2f}", f"{without:.2f}"]
            lines.append([name, *beside, f"{without - ours:+.2f}", f"{best:.2f}", f"`{single}`"])
    head = ["stream", "no change", AUTO, f"without {HISTORY}", "difference", "best single", "which"]
    return ORDER + markdown(head, lines) if lines else ""


def _targets(results: AutoResults) -> str:
    lines = []
    for name, mu in FACTORS.items():
        if name not in results.whole:
            continue
        ours, (learner, least) = float(results.whole[name][AUTO]["mse"]), results.least_error(name)
        dfop = least_dfop(results, name)
        no_change = float(results.whole[name]["no_change"]["mse"])
        cells = [f"{value:.4g}" for value in (no_change, ours, least)]
        beside = [f"`{learner}`", f"{ours / least - 1:+.1%}", f"{dfop:.4g} ({mu:g})", f"{ours / dfop - 1:+.1%}"]
        lines.append([name, *cells, *beside])
    head = ["stream", "no change", AUTO, "best of the registry", "which", "difference", "`dfop`", "difference"]
    return TARGETS + markdown(head, lines) if lines else ""


def _likely(results: AutoResults) -> str:
    names = [n for n, likely in PROBABILITY_STREAMS.items() if likely[0] in results.whole.get(n, {})]
    if not names:
        return ""
    columns = list(dict.fromkeys((AUTO, *(one for n in names for one in PROBABILITY_STREAMS[n]))))
    text = LIKELY
    for metric, title in (("log_loss", "log loss"), ("brier", "Brier")):
        lines = []
        for name in names:
            found = {c: results.whole[name][c][metric] for c in columns if c in results.whole[name]}
            best = min(found.values())
            shown = {c: f"**{v:.4f}**" if v == best else f"{v:.4f}" for c, v in found.items()}
            lines.append([name, *(shown.get(column, NONE) for column in columns)])
        text += markdown([title, *columns], lines) + "\n"
    return text.rstrip("\n") + "\n"
