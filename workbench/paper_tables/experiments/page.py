"""Page of an experiment: our figures beside the printed ones, wins and losses, ranks, robustness, and differences."""

from __future__ import annotations

import textwrap
from pathlib import Path

from driftway.workbench.paper_tables.experiments.experiment import PaperExperiment, PaperResults, measure_experiment
from driftway.workbench.paper_tables.published import BETTER, WORSE, PublishedFigure
from driftway.workbench.paper_tables.request import TableRequest
from driftway.worker.evaluation.comparison import ranks_in_words
from driftway.worker.evaluation.protocols import Figure
from driftway.worker.evaluation.results import NONE, markdown
from driftway.worker.evaluation.significance import LOSS, WIN, paired_t, robustness, special, win_tie_loss

NEAR = 0.5
"""Points of accuracy that a figure may fall short of the printed one.

See docs/algorithms/reference-results.md#our-reproduction-of-dfop.
"""
NEAR_SHARE = 0.1
"""Share of a printed error by which ours may exceed it."""

HEAD = """# {title}

This page repeats the table of {source}: {measure}, mean ± standard deviation (n - 1) over ten pieces of each stream.
The pieces have 4T/5 of the T rows, begin at row 0, T/50, .., 9T/50, and are learned from scratch
(docs/algorithms/reference-results.md#protocol-of-the-accuracy-tables). In brackets is the mean that the paper prints.
{rows}; an intercept unless the parameters say otherwise. **Bold**: the best of ours on a data set. {better} {method} is
significantly better than this contender, {worse} significantly worse, by a paired t test on the ten pieces, two-sided,
95 %. {dash}: not measured.

Made by `{command}` in {seconds:.0f} s on {processes} processes."""


def write_experiment(contest: PaperExperiment, asked: TableRequest) -> list[Path]:
    """Measure, then write the page and the picture.

    Raises
    ------
    UsageFailure
        None of the streams is available.
    """
    from driftway.workbench.paper_tables.experiments.picture import draw_robustness

    special()  # fails early if it is not installed
    results = measure_experiment(contest, asked)
    page, picture = asked.out / f"{contest.name}.md", asked.out / f"{contest.name}.png"
    drawn = draw_robustness(contest, results, str(picture))
    page.write_text(experiment_page(contest, results, asked, picture.name if drawn else None), encoding="utf-8")
    return [page, picture] if drawn else [page]


def experiment_page(contest: PaperExperiment, results: PaperResults, asked: TableRequest, picture: str | None) -> str:
    """Return the page as Markdown."""
    regression = not contest.larger_is_better
    head = HEAD.format(
        title=contest.title,
        source=contest.source,
        measure="100 times the mean squared error" if regression else "prequential accuracy in per cent",
        method=contest.method,
        better=BETTER,
        worse=WORSE,
        dash=NONE,
        rows="Rows are standardised online" if contest.standardize else "Rows are not standardised",
        command=f"driftway evaluate --table {contest.name} --seed {asked.seed}",
        seconds=results.seconds,
        processes=asked.processes,
    )
    text = "\n\n".join(textwrap.fill(part, 120, break_on_hyphens=False) for part in head.split("\n\n"))
    text += "\n\n" + _main_table(contest, results)
    text += f"\n{contest.remarks}\n" if contest.remarks else ""
    text += _missing(results)
    text += _learners(contest, results)
    text += _checks(contest, results)
    text += _ranks(contest, results)
    if not regression:
        text += _robustness(contest, results, picture)
    return text


def verdicts(contest: PaperExperiment, results: PaperResults, column: str) -> list[int]:
    """Return the verdicts on the paper's method against a contender, on each data set where both were measured."""
    found = []
    for figures in results.figures.values():
        if column in figures and contest.method in figures:
            found.append(_verdict(contest, figures[contest.method], figures[column]))
    return found


def _verdict(contest: PaperExperiment, ours: Figure, theirs: Figure) -> int:
    if ours.mean is None or theirs.mean is None:
        return 0
    verdict = paired_t(_known(ours), _known(theirs)).verdict
    return verdict if contest.larger_is_better else -verdict


def _known(figure: Figure) -> list[float]:
    return [value for value in figure.values if value is not None]


def _main_table(contest: PaperExperiment, results: PaperResults) -> str:
    digits = 2 if contest.larger_is_better else 3
    lines = []
    for name, printed in contest.printed.items():
        figures = results.figures.get(name, {})
        means = [figure.mean for figure in figures.values() if figure.mean is not None]
        best = (max if contest.larger_is_better else min)(means, default=None)
        cells = []
        for column in contest.contenders:
            mark = ""
            if column in figures and contest.method in figures and column != contest.method:
                verdict = _verdict(contest, figures[contest.method], figures[column])
                mark = {WIN: BETTER, LOSS: WORSE}.get(verdict, "")
            cells.append(_cell(figures.get(column), printed.get(column), best, mark, digits))
        lines.append([name, *cells])
    counts = []
    for column in contest.contenders:
        verdicts_found = verdicts(contest, results, column) if column != contest.method else []
        counts.append("/".join(map(str, win_tie_loss(verdicts_found))) if verdicts_found else "")
    lines.append([f"{contest.method}: win/tie/loss, ours", *counts])
    marks = [_printed_counts(contest, column) if column != contest.method else "" for column in contest.contenders]
    lines.append([f"{contest.method}: win/tie/loss, printed marks", *marks])
    return markdown(["data set", *contest.contenders], lines)


def _cell(figure: Figure | None, printed: PublishedFigure | None, best: float | None, mark: str, digits: int) -> str:
    theirs = "" if printed is None else f" ({printed.mean:.{digits}f})"
    if figure is None or figure.mean is None:
        return NONE + theirs
    text = f"{figure.mean:.{digits}f}±{figure.deviation:.{digits}f}"
    shown = f"**{text}**" if round(figure.mean, digits) == round(best or 0.0, digits) else text
    return shown + mark + theirs


def _printed_counts(contest: PaperExperiment, column: str) -> str:
    marks = [printed[column].mark for printed in contest.printed.values() if column in printed]
    return f"{marks.count(BETTER)}/{marks.count('')}/{marks.count(WORSE)}"


def _missing(results: PaperResults) -> str:
    text = ""
    if results.missing_streams:
        names = "; ".join(f"{name} ({why})" for name, why in results.missing_streams.items())
        text += f"\nData sets that are not available: {names}.\n"
    if results.missing_learners:
        names = "; ".join(f"{column}: {why}" for column, why in results.missing_learners.items())
        text += f"\nContenders with the printed figure only: {names}.\n"
    return text


def _learners(contest: PaperExperiment, results: PaperResults) -> str:
    lines = []
    for name in contest.data_sets:
        if name in results.figures:
            specs = [f"`{results.learners[name][c]}`" for c in results.columns if c in results.learners[name]]
            lines.append([name, f"`{results.streams[name]}`", ", ".join(specs)])
    seconds = ", ".join(f"{column} {spent:.0f} s" for column, spent in results.kernel_seconds.items())
    text = "\n## What ran\n\n" + markdown(["data set", "stream", "learners"], lines, text_columns=3)
    return f"{text}\nTime in kernels: {seconds}.\n"


def _checks(contest: PaperExperiment, results: PaperResults) -> str:
    """Compare our figures with the printed ones, and give a reason for those that are worse."""
    regression = not contest.larger_is_better
    rule = f"at most {NEAR_SHARE:.0%} above the printed error" if regression else f"at most {NEAR} points below"
    text = f"\n## Compared with the printed figures\n\nA figure *holds* if it is {rule}, or better.\n\n"
    lines = []
    short = 0
    for name, figures in results.figures.items():
        for column in contest.checked:
            figure, printed = figures.get(column), contest.printed[name].get(column)
            if figure is None or figure.mean is None or printed is None:
                continue
            difference = figure.mean - printed.mean
            holds = difference <= NEAR_SHARE * printed.mean if regression else difference >= -NEAR
            why = "" if holds else contest.differences.get((name, column), "**not explained**")
            short += not holds
            digits = 3 if regression else 2
            figures_shown = [f"{value:.{digits}f}" for value in (figure.mean, printed.mean)]
            word = "holds" if holds else "worse"
            lines.append([name, column, *figures_shown, f"{difference:+.{digits}f}", word, why])
    head = ["data set", "learner", "ours", "printed", "difference", "", "why"]
    table = markdown(head, lines, text_columns=len(head))
    return f"{text}{table}\n{len(lines) - short} of {len(lines)} figures hold.\n"


def _complete(results: PaperResults) -> tuple[list[str], list[str], list[list[float]]]:
    """Return the data sets on which all measured columns have a figure, the columns, and the means."""
    columns = results.columns
    names = [
        name
        for name, figures in results.figures.items()
        if all(column in figures and figures[column].mean is not None for column in columns)
    ]
    return names, columns, [[float(results.figures[name][c].mean or 0.0) for c in columns] for name in names]


def _ranks(contest: PaperExperiment, results: PaperResults) -> str:
    names, columns, table = _complete(results)
    if len(columns) < 2 or len(names) < 2:
        return ""
    words = ranks_in_words(columns, table, contest.larger_is_better, "data sets")
    return f"\n## Ranks\n\n{words}\n"


def _robustness(contest: PaperExperiment, results: PaperResults, picture: str | None) -> str:
    names, columns, table = _complete(results)
    if len(columns) < 2:
        return ""
    ours = robustness(table).sum(axis=0)
    printed = robustness([[contest.printed[name][c].mean for c in columns] for name in names]).sum(axis=0)
    text = (
        "\n## Robustness\n\nA learner's accuracy divided by the lowest on the data set, summed over "
        f"{len(names)} data sets, for the contenders that were measured.\n\n"
    )
    text += markdown(
        ["", *columns],
        [["ours", *(f"{value:.2f}" for value in ours)], ["printed", *(f"{value:.2f}" for value in printed)]],
    )
    return text + (f"\n![Robustness]({picture})\n" if picture else "")
