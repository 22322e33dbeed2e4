"""`--table moving-targets`: the experiment of Kivinen, Smola and Williamson, section 5; the paper prints no figures.

Kivinen, Smola and Williamson compare the perceptron, NORMA and ALMA, the latter two with and without a margin, on
mixtures of Gaussians that drift or switch, with a Gaussian kernel. So does this table. It adds the linear learners, on
random Fourier features, which approximate that kernel, and on the raw plane, to show the effect of the kernel.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable
from functools import cache, lru_cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from driftway import learners
from driftway.learners.preprocessing.fourier import Fourier
from driftway.workbench.paper_tables.request import TableRequest
from driftway.worker.processes import run_jobs

STREAMS = ("gaussian_mixture_drift", "gaussian_mixture_switch")
SEEDS = tuple(range(1, 21))
TUNING_SEEDS = tuple(range(101, 113))
"""Seeds of the streams on which parameters are chosen; none of them is reported."""
FIRST_SEEDS, FINALISTS = 4, 12
"""The whole grid runs on the first FIRST_SEEDS of them; its best FINALISTS then run on all."""
LEARNERS = ("perceptron", "norma_zero_margin", "norma", "alma_zero_margin", "alma")
KERNEL, MAP, PLANE = "Gaussian kernel", "Fourier map", "plane"
SPACES = ((KERNEL, "2"), (MAP, "2"), (MAP, "4"), (MAP, "auto"), (PLANE, "2"))
"""Feature spaces, and the exponent p."""
BUDGET = 1000
"""Most rows that a kernel learner keeps."""
FREQUENCIES = 200
WIDTHS = (3.0, 4.0, 6.0, 8.0, 12.0)
ALPHAS = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0)
DECAYS = {"norma": (0.0003, 0.001, 0.003, 0.01), "norma_zero_margin": (0.00005, 0.0001, 0.0002, 0.0003, 0.0005, 0.001)}
BALLS = {"alma": (1.0, 2.0, 4.0, 8.0, 16.0), "alma_zero_margin": (1.0, 1.3, 1.6, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0)}

Parameters = dict[str, Any]
Array = NDArray[np.float64]
Counts = NDArray[np.int64]
Rows = tuple[Array, Array]
Opener = Callable[..., Any]


class Choice(NamedTuple):
    """The grid's choice for a learner: parameters, gamma (None in the plane), and whether it is at the grid's edge."""

    parameters: Parameters
    gamma: float | None
    at_the_edge: bool


@cache
def plane(open_stream: Opener, stream: str, seed: int) -> Rows:
    """Return the rows of a stream."""
    blocks = list(open_stream(stream, seed=seed).blocks())
    return np.concatenate([block.X for block in blocks]), np.concatenate([block.y for block in blocks])


@lru_cache(maxsize=len(WIDTHS))
def rows_of(open_stream: Opener, stream: str, seed: int, space: str, gamma: float | None) -> Rows:
    """Return the rows, mapped if the space has a map."""
    X, y = plane(open_stream, stream, seed)
    if space != MAP or gamma is None:
        return X, y
    waves = Fourier(2, D=FREQUENCIES, gamma=gamma)
    mapped = np.empty((len(X), waves.width))
    waves.apply(X, mapped)
    return mapped, y


def mistakes(name: str, parameters: Parameters, space: str, p: str, gamma: float | None, rows: Rows) -> int:
    """Count the labels that the learner predicts wrong."""
    X, y = rows
    if space == KERNEL:
        name, given = f"kernel_{name}", {**parameters, "gamma": gamma, "budget": BUDGET}
    else:
        given = {**parameters, "intercept": space == PLANE}
        if name == "perceptron" and p != "2":
            name = "p_norm_perceptron"
        if name != "perceptron":
            given["p"] = p
    score = np.empty((len(X), 1))
    learners.create(name, X.shape[1], **given).predict_then_update(X, y, score)
    return int(((score[:, 0] >= 0.0) != y).sum())


def grid(name: str) -> list[tuple[Parameters, bool]]:
    """Return the parameters to try, and whether each lies at the edge of a range.

    Only ratios matter: NORMA predicts the same with (c alpha, c rho, lam / c), ALMA with (c alpha, c rho, c B). So
    rho = 1 with a margin and alpha = 1 without; decay = alpha lam, and balls are in units of alpha.
    """
    if name == "perceptron":
        return [({}, False)]
    has_margin = name in ("norma", "alma")
    margin = {"rho": 1.0} if has_margin else {}
    seconds = DECAYS.get(name) or BALLS[name]
    found = []
    for alpha, second in itertools.product(ALPHAS if has_margin else (1.0,), seconds):
        extra = {"lam": second / alpha} if name in DECAYS else {"B": second * alpha}
        edge = second in (seconds[0], seconds[-1]) or (has_margin and alpha in (ALPHAS[0], ALPHAS[-1]))
        found.append(({"alpha": alpha, **extra, **margin}, edge))
    return found


def tuned(open_stream: Opener, name: str, stream: str, space: str, p: str) -> Choice:
    """Return the choice with fewest mistakes on the tuning seeds: the whole grid on a few, the best of it on all."""
    widths = (None,) if space == PLANE else WIDTHS
    choices = [Choice(parameters, gamma, edge) for gamma in widths for parameters, edge in grid(name)]
    for seeds, kept in ((TUNING_SEEDS[:FIRST_SEEDS], FINALISTS), (TUNING_SEEDS, 1)):
        total = np.zeros(len(choices), np.int64)
        for seed in seeds:
            for i, one in enumerate(choices):
                rows = rows_of(open_stream, stream, seed, space, one.gamma)
                total[i] += mistakes(name, one.parameters, space, p, one.gamma, rows)
        choices = [choices[i] for i in np.argsort(total, kind="stable")[:kept]]
    return choices[0]


class ExperimentColumn(NamedTuple):
    """Choices, and mistakes by seed, of every learner for a stream, a space and an exponent."""

    stream: str
    space: str
    p: str
    choices: dict[str, Choice]
    mistakes: dict[str, Counts]


def column_of(open_stream: Opener, work: tuple[str, str, str], progress: Callable[[int], None]) -> ExperimentColumn:
    """Measure a column: tune every learner, then run it on the reported seeds."""
    stream, space, p = work
    choices, found = {}, {}
    for name in LEARNERS:
        choices[name] = chosen = tuned(open_stream, name, stream, space, p)
        sets = (rows_of(open_stream, stream, seed, space, chosen.gamma) for seed in SEEDS)
        found[name] = np.array([mistakes(name, chosen.parameters, space, p, chosen.gamma, rows) for rows in sets])
        progress(1)
    return ExperimentColumn(stream, space, p, choices, found)


def mean_and_error(values: Counts) -> tuple[float, float]:
    """Return the mean over seeds and its standard error."""
    return float(values.mean()), float(values.std(ddof=1) / np.sqrt(len(values)))


def verdict(fewer: Counts, more: Counts) -> str:
    """Judge whether one learner makes fewer mistakes than another on the same seeds, by two standard errors."""
    difference, error = mean_and_error(more - fewer)
    word = "holds" if difference > 2.0 * error else "fails" if difference < -2.0 * error else "undecided"
    return f"{word} ({difference:+.1f} ± {error:.1f})"


ORDERS = (
    ("norma", "norma_zero_margin"),
    ("norma_zero_margin", "perceptron"),
    ("alma", "alma_zero_margin"),
    ("alma_zero_margin", "perceptron"),
    ("norma", "alma"),
)
"""(fewer mistakes, more), as Kivinen et al. report; the last pair, which they find even, is for information."""


def heading(one: ExperimentColumn) -> str:
    """Return a column's name."""
    return f"{one.stream.rpartition('_')[2]}, {one.space}, p = {one.p}"


MARGIN, REGULARISATION = (ORDERS[0], ORDERS[2]), (ORDERS[1], ORDERS[3])
"""The two halves of the order, for NORMA and for ALMA: a margin helps, and so does regularisation without one."""


def columns_where(pairs: tuple[tuple[str, str], ...], columns: list[ExperimentColumn], decided: bool = True) -> str:
    """Format in how many columns all pairs have the paper's order: by two standard errors, or by their means."""
    ordered = [
        one
        for one in columns
        if all(
            verdict(one.mistakes[a], one.mistakes[b]).startswith("holds")
            if decided
            else one.mistakes[a].mean() < one.mistakes[b].mean()
            for a, b in pairs
        )
    ]
    return f"{len(ordered)} of {len(columns)}"


def table_of_columns(columns: list[ExperimentColumn]) -> str:
    """Tabulate in how many columns the order and its halves hold, by space."""
    text = (
        "| | margin < no margin | no margin < perceptron | both | both, by the means alone |\n|---|--:|--:|--:|--:|\n"
    )
    for space in (KERNEL, MAP, PLANE):
        chosen = [one for one in columns if one.space == space]
        cells = [columns_where(pairs, chosen) for pairs in (MARGIN, REGULARISATION, MARGIN + REGULARISATION)]
        cells.append(columns_where(MARGIN + REGULARISATION, chosen, decided=False))
        text += f"| {space} | {' | '.join(cells)} |\n"
    return text


def table_of_mistakes(columns: list[ExperimentColumn]) -> str:
    """Tabulate mean mistakes with standard errors."""
    text = f"| column | {' | '.join(LEARNERS)} |\n|---|{'--:|' * len(LEARNERS)}\n"
    for one in columns:
        cells = ["{:.0f} ± {:.0f}".format(*mean_and_error(one.mistakes[name])) for name in LEARNERS]
        text += f"| {heading(one)} | {' | '.join(cells)} |\n"
    return text


def table_of_orders(columns: list[ExperimentColumn]) -> str:
    """Tabulate the verdicts on each pair."""
    text = f"| column | {' | '.join(f'{a} < {b}' for a, b in ORDERS)} |\n|---|{'---|' * len(ORDERS)}\n"
    for one in columns:
        cells = [verdict(one.mistakes[a], one.mistakes[b]) for a, b in ORDERS]
        text += f"| {heading(one)} | {' | '.join(cells)} |\n"
    return text


def table_of_choices(columns: list[ExperimentColumn]) -> str:
    """Tabulate the parameters that the grid chose."""
    text = f"| column | {' | '.join(LEARNERS)} |\n|---|{'---|' * len(LEARNERS)}\n"
    for one in columns:
        cells = []
        for name in LEARNERS:
            chosen = one.choices[name]
            words = [f"{key}={value:g}" for key, value in chosen.parameters.items()]
            words += [f"gamma={chosen.gamma:g}"] if chosen.gamma is not None else []
            cells.append((", ".join(words) or "-") + (" *" if chosen.at_the_edge else ""))
        text += f"| {heading(one)} | {' | '.join(cells)} |\n"
    return text


HEAD = """# Do margins help when the target moves? NORMA and ALMA

This page repeats the experiment of Kivinen, Smola and Williamson (ALT 2002), section 5, on `gaussian_mixture_drift` and
`gaussian_mixture_switch` with their defaults: {seeds} seeds of 10,000 rows, without the standardiser. The paper prints
no figures. It reports three findings: a positive margin makes fewer mistakes than no margin; regularisation without a
margin still makes fewer mistakes than the perceptron; NORMA and ALMA hardly differ.

The first two columns are the paper's learners, with the Gaussian kernel and a budget of {budget:,} rows, where the
oldest row is dropped. In the next columns, linear learners use the feature map `fourier` (D = {frequencies}, seed 1, no
intercept), whose inner products approximate that kernel, so that p can vary. The last two columns use the two features
as they are, with an intercept, where no line separates the classes. With p other than 2, `perceptron` is
`p_norm_perceptron`; `auto` is 2 ln d: {auto_mapped:.1f}. To run one seed:

    driftway evaluate gaussian_mixture_drift gaussian_mixture_switch --seed 1 --no-standardize \\
      --learner kernel_perceptron:gamma=6,budget=1000 \\
      --learner kernel_norma_zero_margin:alpha=1,lam=0.0002,gamma=6,budget=1000 \\
      --learner kernel_norma:alpha=1,lam=0.003,rho=1,gamma=6,budget=1000 \\
      --learner kernel_alma_zero_margin:alpha=1,B=4,gamma=6,budget=1000 \\
      --learner kernel_alma:alpha=1,B=8,rho=1,gamma=6,budget=1000

The next table counts the columns (a stream and a p) in which the paper's order holds for NORMA and ALMA: each step by
more than two standard errors of the paired differences, and in the last cell by the means alone.

{columns}
## Mistakes

Mean over the seeds ± its standard error.

{mistakes}
## Does the order hold?

Each cell has the mean difference of mistakes on the same seed, ± its standard error. *Holds* and *fails* mean beyond
two standard errors. In the paper the last pair is even. +0.0 ± 0.0 means that the tuning chose a ball that is never
reached.

{orders}
## Parameters

Those with the fewest mistakes on seeds {tuning}, which are not reported: all on the first {first}, the best {finalists}
of these on all. Only ratios matter. Tried: gamma in {widths}; with a margin rho = 1, alpha in {alphas},
alpha lam in {decays}, B / alpha in {balls}; without one alpha = 1, lam in {zero_decays},
B in {zero_balls}. A star: at the edge of a range, so that more may be to be had beyond it.

{choices}
Made by `driftway evaluate --table moving-targets` in {seconds:.0f} s on {processes} processes.
"""


def listed(values: tuple[float, ...]) -> str:
    """Format numbers in braces."""
    return "{" + ", ".join(f"{value:g}" for value in values) + "}"


def page(columns: list[ExperimentColumn], seconds: float = 0.0, processes: int = 1) -> str:
    """Return the page as Markdown."""
    return HEAD.format(
        seeds=len(SEEDS),
        frequencies=FREQUENCIES,
        budget=BUDGET,
        auto_mapped=2.0 * np.log(2 * FREQUENCIES),
        columns=table_of_columns(columns),
        mistakes=table_of_mistakes(columns),
        orders=table_of_orders(columns),
        tuning=f"{TUNING_SEEDS[0]} to {TUNING_SEEDS[-1]}",
        first=FIRST_SEEDS,
        finalists=FINALISTS,
        alphas=listed(ALPHAS),
        decays=listed(DECAYS["norma"]),
        balls=listed(BALLS["alma"]),
        zero_decays=listed(DECAYS["norma_zero_margin"]),
        zero_balls=listed(BALLS["alma_zero_margin"]),
        widths=listed(WIDTHS),
        choices=table_of_choices(columns),
        seconds=seconds,
        processes=processes,
    )


def write(asked: TableRequest) -> list[Path]:
    """Tune, measure, write `moving-targets.md`."""
    started = time.perf_counter()
    work = [(stream, space, p) for space, p in SPACES for stream in STREAMS]
    asked.say(f"moving-targets: {len(work) * len(LEARNERS)} learners to tune")
    columns = run_jobs(partial(column_of, asked.open_stream), work, asked.processes)
    out = asked.out / "moving-targets.md"
    out.write_text(page(columns, time.perf_counter() - started, asked.processes), encoding="utf-8")
    return [out]
