"""`python -m tests.regenerate.odm_regret`: docs/results/odm-regret.md and .png, the regret of D-ODM and its bounds.

The streams have two Gaussian classes whose means jump k - 1 times. The comparator is refitted on each true segment, so
the regret is the cost of not knowing the segments. Theorem 1 bounds the regret, Theorem 2 the excess risk of the mean
weights of each segment, which is computed exactly here because the margin of a Gaussian row is Gaussian.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from driftway import learners
from driftway.learners.hindsight.odm_batch import odm_batch, odm_objective

PAGE = Path(__file__).parents[2] / "docs" / "results" / "odm-regret.md"
COMMAND = "python -m tests.regenerate.odm_regret"

D = 5
SWITCHES = (1, 2, 4, 8, 16)
"""k, the number of segments of a stream."""
ROWS = (1024, 3072, 10_240, 30_720)
"""T, the number of rows, divisible by every k."""
SEEDS = range(10)
LAM, MU, THETA = 3.0, 0.5, 0.3
"""Defaults of the learners."""
BALL = math.sqrt(2 * LAM)
"""Radius of a ball that contains every minimiser of the loss, of one row or of many."""

AT_SWITCHES, BEST = "restarted_odm at the switches", "restarted_odm, best epoch"
ANYTIME, ADAHEDGE, ONLINE = "d_odm", "d_odm, adahedge", "online_odm"
CURVES = (ONLINE, BEST, AT_SWITCHES, ANYTIME, ADAHEDGE)
WEIGHTS = (AT_SWITCHES, ANYTIME, ADAHEDGE)
"""Curves for which the excess risk of the mean weights is measured."""


class Stream(NamedTuple):
    """Rows, class indices, and the mean of class 1 in each segment, all of equal length; class 0 has its negative."""

    X: np.ndarray
    y: np.ndarray
    means: np.ndarray

    def segments(self) -> np.ndarray:
        """Return the row numbers, one line per segment."""
        return np.arange(len(self.y)).reshape(len(self.means), -1)


class Cell(NamedTuple):
    """Results of all seeds at one k and T: regret and excess risk by curve, the best epoch, the mean V_T."""

    regret: dict[str, np.ndarray]
    excess: dict[str, np.ndarray]
    epoch: int
    variation: float


def stream(k: int, T: int, seed: int) -> Stream:
    """Draw classes of unit variance around means of length 1, in a new direction per segment; best error 16 %."""
    rng = np.random.default_rng([seed, k, T])
    means = rng.standard_normal((k, D))
    means /= np.linalg.norm(means, axis=1, keepdims=True)
    y = rng.integers(0, 2, T).astype(float)
    return Stream(rng.standard_normal((T, D)) + (2 * y - 1)[:, None] * means.repeat(T // k, axis=0), y, means)


def play(rows: Stream, name: str, parameters: dict[str, Any]) -> tuple[np.ndarray, np.ndarray]:
    """Run a learner over the stream; return the losses f_t(w_t), f8[T], and the weights w_t, f8[T, D].

    Every learner here is linear in the row, so its score of the j-th unit vector is its j-th weight. By contract,
    unlabelled rows change nothing, so the D unit vectors before each row reveal the current weights.
    """
    T = len(rows.y)
    X, y = np.empty((T, D + 1, D)), np.full((T, D + 1), np.nan)
    X[:, :D], X[:, D], y[:, D] = np.eye(D), rows.X, rows.y
    score = np.empty((T * (D + 1), 1))
    learner = learners.create(name, D, intercept=False, **parameters)
    learner.predict_then_update(X.reshape(-1, D), y.ravel(), score)
    weights, margin = score.reshape(T, D + 1)[:, :D], (2 * rows.y - 1) * score.reshape(T, D + 1)[:, D]
    off = np.maximum(1 - THETA - margin, 0) ** 2 + MU * np.maximum(margin - 1 - THETA, 0) ** 2
    return 0.5 * (weights**2).sum(axis=1) + LAM * off / (1 - THETA) ** 2, weights


def expected_excess(mean: np.ndarray, deviation: np.ndarray) -> np.ndarray:
    """Return the mean of [z]+^2 of a normal z."""
    u = np.clip(mean / np.maximum(deviation, 1e-12), -37.0, 37.0)  # beyond it, the tail is less than 1e-299
    density = np.exp(-0.5 * u * u) / math.sqrt(2 * math.pi)
    below = 0.5 * (1 + np.vectorize(math.erf)(u / math.sqrt(2)))
    return (mean**2 + deviation**2) * below + mean * deviation * density


def risk(along: np.ndarray, length: np.ndarray) -> np.ndarray:
    """Return the mean of f(w; x) over a segment's rows, which depends only on w'mean and |w|."""
    short, beyond = expected_excess(1 - THETA - along, length), expected_excess(along - 1 - THETA, length)
    return 0.5 * length**2 + LAM * (short + MU * beyond) / (1 - THETA) ** 2


def variation(rows: Stream) -> float:
    """Return V_T of the risks: the sum over the switches of the largest change within the ball."""
    length, turn = np.meshgrid(np.linspace(0, BALL, 13)[1:], np.linspace(0, 2 * math.pi, 49)[1:])
    total = 0.0
    for before, after in zip(rows.means[:-1], rows.means[1:], strict=True):
        angle = math.acos(min(1.0, max(-1.0, float(before @ after))))
        total += np.abs(risk(length * np.cos(turn), length) - risk(length * np.cos(turn - angle), length)).max()
    return total


def least_risk() -> float:
    """Return the risk of the best weights, which point along the mean of class 1; it is the same in every segment."""
    length = np.linspace(0, BALL, 10_001)
    return float(risk(length, length).min())


def measure(k: int, T: int) -> Cell:
    """Run every learner on the streams of all seeds."""
    epochs = [2**i for i in range(4, 16) if 2**i < 2 * T]
    runs = {
        ONLINE: ("online_odm", {}),
        AT_SWITCHES: ("restarted_odm", {"epoch": T // k}),
        ANYTIME: ("d_odm", {}),
        ADAHEDGE: ("d_odm", {"rate": "adahedge"}),
        **{str(epoch): ("restarted_odm", {"epoch": epoch}) for epoch in epochs},
    }
    regret: dict[str, list[float]] = {name: [] for name in runs}
    excess: dict[str, list[float]] = {name: [] for name in WEIGHTS}
    varied = []
    for seed in SEEDS:
        rows = stream(k, T, seed)
        varied.append(variation(rows))
        best = 0.0
        for part in rows.segments():
            w = odm_batch(rows.X[part], rows.y[part])
            best += len(part) * odm_objective(w, rows.X[part], rows.y[part])[0]
        for name, run in runs.items():
            losses, weights = play(rows, *run)
            regret[name].append(losses.sum() - best)
            if name in excess:
                middle = weights[rows.segments()].mean(axis=1)
                along, length = (middle * rows.means).sum(axis=1), np.linalg.norm(middle, axis=1)
                excess[name].append(float(risk(along, length).sum()) - k * least_risk())
    epoch = min(epochs, key=lambda size: np.mean(regret[str(size)]))
    regret[BEST] = regret[str(epoch)]
    return Cell(
        {name: np.array(regret[name]) for name in CURVES},
        {name: np.array(values) for name, values in excess.items()},
        epoch,
        float(np.mean(varied)),
    )


Cells = dict[tuple[int, int], Cell]


def mean_and_error(values: np.ndarray) -> tuple[float, float]:
    """Return the mean and its standard error."""
    return float(values.mean()), float(values.std(ddof=1) / math.sqrt(len(values)))


def table(head: list[str], lines: list[list[str]]) -> str:
    """Return a Markdown table."""
    rule = ["---", *["---:"] * (len(head) - 1)]
    return "\n".join(f"| {' | '.join(line)} |" for line in [head, rule, *lines]) + "\n"


def regret_table(cells: Cells) -> str:
    lines = []
    for (k, T), cell in cells.items():
        shown = ["{:,.0f} ± {:,.0f}".format(*mean_and_error(cell.regret[name])) for name in CURVES]
        shown[1] += f" ({cell.epoch:,})"
        lines.append([str(k), f"{T:,}", *shown, f"{math.sqrt(T * cell.variation):,.0f}"])
    return table(["k", "T", *CURVES, "√(T V_T)"], lines)


def exponent(points: list[tuple[int, float]]) -> float:
    """Return the power of x that fits y best."""
    return float(np.polyfit(*np.log(np.array(points)).T, 1)[0])


def growth_table(cells: Cells) -> str:
    def line(name: str, value: Callable[[int, int], float], ks: tuple[int, ...] = SWITCHES) -> list[str]:
        in_T = {k: f"{exponent([(T, value(k, T)) for T in ROWS]):.2f}" for k in ks}
        in_k = exponent([(k, value(k, ROWS[-1])) for k in SWITCHES[1:]])
        return [name, *(in_T.get(k, "") for k in SWITCHES), f"{in_k:.2f}"]

    lines = [line(name, lambda k, T, n=name: float(cells[k, T].regret[n].mean())) for name in CURVES]
    lines.append(line("√(T V_T)", lambda k, T: math.sqrt(T * cells[k, T].variation), SWITCHES[1:]))
    lines.append(line("K ln(T/K)", lambda k, T: k * math.log(T / k)))
    return table(["", *(f"T, k = {k}" for k in SWITCHES), f"k ≥ 2, T = {ROWS[-1]:,}"], lines)


def excess_table(cells: Cells) -> str:
    lines = []
    for (k, T), cell in cells.items():
        shape = k * k / T * math.log(T / k)
        shown = [
            "{:.2g} ± {:.1g} ({:.1f})".format(*(m := mean_and_error(cell.excess[n])), m[0] / shape) for n in WEIGHTS
        ]
        lines.append([str(k), f"{T:,}", *shown, f"{shape:.2g}"])
    return table(["k", "T", *WEIGHTS, "(K²/T) ln(T/K)"], lines)


def draw(cells: Cells) -> None:
    """Plot regret over k, regret over T, and excess risk over T."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    figure, (over_k, over_T, risks) = plt.subplots(1, 3, figsize=(16, 5), layout="constrained")
    colour = dict(zip(CURVES, ("tab:red", "tab:green", "tab:olive", "tab:blue", "tab:purple"), strict=True))

    def curve(axis: Any, name: str, xs: tuple[int, ...], values: Callable[[int], np.ndarray]) -> None:
        points = [mean_and_error(values(x)) for x in xs]
        axis.errorbar(xs, *zip(*points, strict=True), label=name, color=colour[name], marker="o", ms=4, capsize=3)

    def guide(axis: Any, label: str, xs: tuple[int, ...], value: Callable[[int], float], style: str) -> None:
        axis.plot(xs, [value(x) for x in xs], style, color="grey", label=label)

    most, k = ROWS[-1], 8
    for name in CURVES:
        curve(over_k, name, SWITCHES, lambda x, n=name: cells[x, most].regret[n])
        curve(over_T, name, ROWS, lambda x, n=name: cells[k, x].regret[n])
    for name in WEIGHTS:
        curve(risks, name, ROWS, lambda x, n=name: cells[k, x].excess[n])
    guide(over_k, "√(T V_T)", SWITCHES[1:], lambda x: math.sqrt(most * cells[x, most].variation), "--")
    guide(over_T, "√(T V_T)", ROWS, lambda x: math.sqrt(x * cells[k, x].variation), "--")
    unit = cells[1, most].regret[AT_SWITCHES].mean() / math.log(most)
    label = f"{unit:.0f} K ln(T/K)"
    guide(over_k, label, SWITCHES, lambda x: unit * x * math.log(most / x), ":")
    guide(over_T, label, ROWS, lambda x: unit * k * math.log(x / k), ":")
    first = cells[k, ROWS[0]].excess[AT_SWITCHES].mean() / (math.log(ROWS[0] / k) / ROWS[0])
    guide(risks, "∝ (K²/T) ln(T/K)", ROWS, lambda x: first * math.log(x / k) / x, ":")
    for axis, title, x, y in (
        (over_k, f"Regret, T = {most:,}", "segments k", "regret"),
        (over_T, f"Regret, k = {k}", "rows T", "regret"),
        (risks, f"Excess risk of the segments' mean weights, k = {k}", "rows T", "sum over segments"),
    ):
        axis.set(title=title, xlabel=x, ylabel=y, xscale="log", yscale="log")
        axis.grid(alpha=0.3, which="both")
        axis.legend(fontsize=8)
    figure.savefig(PAGE.with_suffix(".png"), dpi=110, metadata={"Software": None})


HEAD = """# Regret of D-ODM, which does not know the drift

D-ODM is the dynamic optimal margin distribution machine of Zhang, Zhao and Jin (AAAI 2020). Its Theorem 1 bounds the
regret by √(T V_T) times a constant and a logarithm, without knowing V_T. Its Theorem 2 bounds the excess risk of K
stationary pieces by G² K² / (α T) ln(T/K), which is a regret of K G²/α ln(T/K). Made by `{command}`.

**Streams.** T rows in k equal segments. The two classes are Gaussian with unit variance in {d} dimensions, and equally
likely. Their means are ±1 along a direction that is drawn anew for each segment. Figures are the mean ± standard error
of {seeds} seeds.

**Regret.** The sum of f_t(w_t), f = |w|²/2 + {lam:g} l, with the weights before the row's label is used, minus that of
the best weights of each true segment (`odm_batch` on its rows). The paper compares with one minimiser per row, which is
not a predictor on noisy rows. We compare with the best weights that change where the true concept changes.

**V_T.** The sum over the switches of the largest change of the risk, which is the mean of f over a segment's rows,
within the ball |w| ≤ √(2 lam), which contains all minimisers. It grows with k - 1. Computed from f of single rows, it
would be of order T even without a switch.

All learners have their defaults, without intercept. *Best epoch* is the one of 16, 32, 64 .. ≥ T with the lowest mean
regret, chosen afterwards, in brackets; with an epoch above T the learner never restarts. *At the switches* means epoch
T/k, which Theorem 2 assumes to be known.

![Regret and excess risk](odm-regret.png)

## Regret

{regret}
## How it grows

The table has the best fitting exponents: of T for each k, and of k for the largest T.

{growth}
"""

TAIL = """## Each curve

- **online_odm** never forgets. On one segment its regret is logarithmic ({one:.0f} after {T:,} rows). With switches it
  is nearly linear (exponents {online_T:.2f} of T at k = {K}, {online_k:.2f} of k), because late segments are learned
  at a rate of 1/t.
- **restarted_odm, best epoch** pays for restarts within a segment and, after a switch, for the rest of an epoch, and
  grows as √(T V_T) since the best epoch balances both. It would need to know V_T, and T, before the stream begins.
- **restarted_odm at the switches** pays only for the starts of segments: {first:.0f} within the first {short} rows of
  a segment, and logarithmically from there on, as Theorem 2 says. So it is best where segments are long. Where they are
  short, it is worse than learners that start a segment with what they know from the last one.
- **d_odm** knows neither V_T nor T, and with switches its regret is {low:.1f} to {high:.1f} times √(T V_T) on {T:,}
  rows and {anytime:.2f} times that of the best epoch at k = {K}. The excess comes from a rate divided by C, the
  largest loss so far, which makes the weights of better candidates grow slowly: on one segment {anytime_one:.0f}, not
  {one:.0f}.
- **d_odm, adahedge** has no C, and its regret is {least:.2f} to {worst:.2f} times that of the best epoch in every line
  of the table. It can be lower, because no epoch is best in every segment.
- **√(T V_T)** is drawn as it is, without the constant and the logarithm of Theorem 1. Learners that forget at a
  suitable rate grow as it does, as the theorem says; that they are also close to it is chance.
- **K ln(T/K)** is scaled to meet the regret of one segment. It is the cost of K segments if the learner restarts at the
  right row, and `restarted_odm at the switches` follows it.

## Excess risk

The sum over the segments of the risk of the mean weights, less that of the best weights, both exact. In brackets as a
multiple of (K²/T) ln(T/K): Theorem 2 says that for the learner that restarts at the switches it stays below G²/α, and
on longer segments it falls to about 1. The theorem promises nothing for learners that do not know the switches, whose
mean weights contain the rows in which they still follow the segment before.

{excess}"""


def page(cells: Cells) -> str:
    """Return the page."""
    T, K = ROWS[-1], SWITCHES[-1]

    def mean(k: int, rows: int, name: str) -> float:
        return float(cells[k, rows].regret[name].mean())

    beside = [mean(k, T, ANYTIME) / math.sqrt(T * cells[k, T].variation) for k in SWITCHES[1:]]
    lost = [cell.regret[ADAHEDGE].mean() / cell.regret[BEST].mean() for cell in cells.values()]
    head = HEAD.format(
        command=COMMAND, d=D, seeds=len(SEEDS), lam=LAM, regret=regret_table(cells), growth=growth_table(cells)
    )
    return head + TAIL.format(
        T=T,
        K=K,
        one=mean(1, T, ONLINE),
        online_T=exponent([(rows, mean(K, rows, ONLINE)) for rows in ROWS]),
        online_k=exponent([(k, mean(k, T, ONLINE)) for k in SWITCHES[1:]]),
        first=mean(K, ROWS[0], AT_SWITCHES) / K,
        short=ROWS[0] // K,
        low=min(beside),
        high=max(beside),
        anytime=mean(K, T, ANYTIME) / mean(K, T, BEST),
        anytime_one=mean(1, T, ANYTIME),
        least=min(lost),
        worst=max(lost),
        excess=excess_table(cells),
    )


def main() -> None:
    """Measure, write the page, draw the plot."""
    cells = {(k, T): measure(k, T) for k in SWITCHES for T in ROWS}
    PAGE.parent.mkdir(parents=True, exist_ok=True)
    PAGE.write_text(page(cells), encoding="utf-8")
    draw(cells)
    print(f"{PAGE.name} and {PAGE.with_suffix('.png').name} written", file=sys.stderr)


if __name__ == "__main__":
    main()
