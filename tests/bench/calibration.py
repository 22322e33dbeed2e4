"""How well probabilities of predictions are calibrated on streams with drift, see docs/decisions/0055.

    DRIFTWAY_DATA=FOLDER nice python -m tests.bench.calibration methods
    DRIFTWAY_DATA=FOLDER nice python -m tests.bench.calibration streams
    nice python -m tests.bench.calibration speed

The first compares ways to calibrate, the second writes the figures of each learner and stream, the third the cost per
row beside that of a partition's model. The first two write Markdown.
"""

from __future__ import annotations

import json
import math
import sys
import time
from collections.abc import Callable, Iterator
from functools import cache

import numpy as np
from numba import njit
from numpy.typing import NDArray

from driftway.learners.metrics.calibrator import Calibrator
from driftway.learners.metrics.evidence import evidence_of
from driftway.learners.metrics.prequential import predicted_class
from driftway.learners.metrics.probabilities import link_of, probabilities
from driftway.learners.metrics.reliability import FIGURES, MILLION, ReliabilityMetrics
from driftway.learners.preprocessing.maps import create_mapped
from driftway.learners.spec import Spec
from driftway.producers.streams import open_stream
from driftway.worker.settings import ModelSettings
from driftway.worker.state.model import Model
from driftway.worker.state.monitoring.monitors import StateForm
from driftway.worker.wire.codec import encode_events
from driftway.worker.wire.columns import ListColumn
from driftway.worker.wire.events import Records

Floats = NDArray[np.float64]
Hits = NDArray[np.bool_]

STREAMS = {
    "sea": 2, "sine": 2, "agrawal": 2, "electricity": 2, "hyperplane_moa": 2, "powersupply_ampm": 2, "occupancy": 2,
    "spam500": 2, "2CDT": 2, "UG-2C-2D": 2, "MG-2C-2D": 2, "5CVT": 5, "keystroke": 4, "movingSquares": 4,
    "interchangingRBF": 15, "transientChessboard": 8,
}  # fmt: skip
LEARNERS = "auto", "arow", "dfop", "pa1"
ROWS = 50_000
TIMED_ROWS, ROUNDS, BATCH = 20_000, 30, 2000


class LabelledPredictions:
    """Predictions of a learner on a stream, and whether they were right; rows without a label are left out."""

    def __init__(self, stream: str, learner: str) -> None:
        n_classes = STREAMS[stream]
        opened = open_stream(stream)
        blocks = list(opened.blocks())
        X = np.ascontiguousarray(np.concatenate([block.X for block in blocks])[:ROWS])
        y = np.concatenate([block.y for block in blocks])[:ROWS].astype(np.float64)
        name = learner if n_classes == 2 or learner == "auto" else f"ova:{learner}"
        made = create_mapped(Spec.parse(name), (), X.shape[1], n_classes, "classification", True)
        score = np.empty((len(X), made.n_scores))
        made.predict_then_update(X, y, score)
        known = ~np.isnan(y)
        self.kind, self.link, self.n_classes = made.kind, link_of(made), n_classes
        self.score, self.y = score[known], y[known]
        self.predicted = predicted_class(self.score, self.kind)
        self.right: Hits = self.predicted == self.y


@cache
def judged(stream: str, learner: str) -> LabelledPredictions:
    """Run a learner on a stream, once."""
    return LabelledPredictions(stream, learner)


def figures(millionths: NDArray[np.int64], one: LabelledPredictions) -> list[float]:
    """Calibration error, log loss and Brier score."""
    metrics = ReliabilityMetrics()
    metrics.counter(millionths, one.predicted, one.y)(0, len(one.y))
    point = metrics.point()
    return [point[name] for name in (FIGURES[2], *FIGURES[:2])]


def in_millionths(p: Floats, n_classes: int) -> NDArray[np.int64]:
    """Probabilities within the bounds of the calibrator's."""
    return np.clip((p * MILLION + 0.5).astype(np.int64), math.ceil(MILLION / n_classes), MILLION - 1)


def own_link(one: LabelledPredictions) -> NDArray[np.int64]:
    """What the learner's own link says."""
    assert one.link is not None
    p = probabilities(one.score, one.link)[np.arange(len(one.y)), one.predicted]
    return in_millionths(p, one.n_classes)


def regressed(one: LabelledPredictions, beta: bool, of_class: bool) -> Floats:
    """Platt scaling, or beta calibration of the probability that the evidence stands for, by Newton steps that forget.

    With `of_class`, each class predicted has a regression of its own.
    """
    evidence = evidence_of(one.score, one.predicted, one.link)
    keeps, prior = (0.995, 1.0) if one.link is None else (0.998, 50.0)
    groups = one.predicted if of_class else np.zeros(len(evidence), np.int64)
    return _regress(evidence, one.right, groups, (one.link is None, beta), (keeps, prior, 1.0 / one.n_classes))


@njit
def _regress(
    evidence: Floats,
    hits: Hits,
    groups: NDArray[np.int64],
    form: tuple[bool, bool],
    numbers: tuple[float, float, float],
) -> Floats:
    (scaled, beta), (keeps, prior, least) = form, numbers
    k = 3 if beta else 2
    theta, H = np.zeros((groups.max() + 1, k)), np.zeros((groups.max() + 1, k, k))
    theta[:, 1:] = 1.0 / (k - 1)
    for g in range(len(H)):
        H[g] = np.eye(k) * prior
    total, labels, found = 0.0, 0.0, np.empty(len(evidence))
    for t in range(len(evidence)):
        value, right, g = evidence[t], 1.0 if hits[t] else 0.0, groups[t]
        z = value
        if scaled:
            z = value * labels / total if total > 0.0 else min(value, 1.0)
        z = max(min(z, 8.0 if scaled else 14.0), -14.0)
        x = np.ones(k)
        x[1] = z
        if beta:
            wide = math.log1p(math.exp(-abs(z)))
            x[1], x[2] = max(z, 0.0) + wide, -max(-z, 0.0) - wide
        q = 1.0 / (1.0 + math.exp(-max(-30.0, min((theta[g] * x).sum(), 30.0))))
        found[t] = min(max(q, least), 1.0 - 1e-6)
        H[g] = keeps * H[g] + max(q * (1.0 - q), 1e-3) * np.outer(x, x) + np.eye(k) * (1.0 - keeps) * prior
        step = np.linalg.solve(H[g] + 0.25 * np.outer(x, x), (right - q) * x)
        theta[g] = np.minimum(np.maximum(theta[g] + step, -30.0), 30.0)
        theta[g, 1:] = np.maximum(theta[g, 1:], 0.0)
        if scaled and value < 1e200:
            total, labels = 0.99 * total + value, 0.99 * labels + 1.0
    return found


def corrected(p: Floats, one: LabelledPredictions) -> Floats:
    """Probabilities corrected in each bin by its recent mean error."""
    return _correct(p, one.right, 10.0 if one.link is None else 50.0)


@njit
def _correct(p: Floats, hits: Hits, prior: float) -> Floats:
    missed, weight, found = np.zeros(20), np.zeros(20), np.empty(len(p))
    for t in range(len(p)):
        j = int(p[t] * 20)
        found[t] = p[t] + missed[j] / (weight[j] + prior)
        missed[j] = 0.998 * missed[j] + (1.0 if hits[t] else 0.0) - p[t]
        weight[j] = 0.998 * weight[j] + 1.0
    return found


Method = Callable[[LabelledPredictions], NDArray[np.int64]]


def methods() -> dict[str, Method]:
    """Name -> how probabilities come from scores."""

    def of(beta: bool, of_class: bool, bins: bool) -> Method:
        def calibrated(one: LabelledPredictions) -> NDArray[np.int64]:
            p = regressed(one, beta, of_class)
            return in_millionths(corrected(p, one) if bins else p, one.n_classes)

        return calibrated

    def ours(one: LabelledPredictions) -> NDArray[np.int64]:
        return Calibrator(one.n_classes, one.link).calibrate(one.score, one.y)

    return {
        "Platt": of(False, False, False),
        "beta": of(True, False, False),
        "Platt, bins": of(False, False, True),
        "beta, bins": of(True, False, True),
        "Platt of each class, bins": of(False, True, True),
        "as built": ours,
    }


def compare_methods() -> Iterator[str]:
    """Means over all streams, two classes and more apart."""
    yield "| learner | classes | own link | " + " | ".join(methods()) + " |"
    yield "|---|---|" + "---|" * (1 + len(methods()))
    for learner in LEARNERS:
        for several in (False, True):
            names = [name for name, n_classes in STREAMS.items() if (n_classes > 2) == several]
            every = [judged(name, learner) for name in names]
            cells = [cell([figures(own_link(one), one) for one in every]) if every[0].link else "–"]
            cells += [cell([figures(method(one), one) for one in every]) for method in methods().values()]
            yield f"| `{learner}` | {'several' if several else 'two'} | {' | '.join(cells)} |"


def cell(found: list[list[float]]) -> str:
    """Mean and largest calibration error in per cent, and mean log loss."""
    errors = [one[0] for one in found]
    return f"{100 * np.mean(errors):.1f} ({100 * max(errors):.1f}), {np.mean([one[1] for one in found]):.3f}"


def by_stream() -> Iterator[str]:
    """Calibration error in per cent, log loss and Brier score of each learner and stream."""
    yield "| stream | classes | " + " | ".join(f"`{learner}`" for learner in LEARNERS) + " |"
    yield "|---|--:|" + "---|" * len(LEARNERS)
    for name, n_classes in STREAMS.items():
        cells = []
        for learner in LEARNERS:
            one = judged(name, learner)
            error, log_loss, brier = figures(Calibrator(n_classes, one.link).calibrate(one.score, one.y), one)
            cells.append(f"{100 * error:.2f} % {log_loss:.3f} {brier:.3f}")
        yield f"| {name} | {n_classes} | {' | '.join(cells)} |"


def speed() -> Iterator[str]:
    """Times per row of a partition's model with `pa1`, and of what probabilities add, in one process."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(TIMED_ROWS, 8))
    y = (X[:, 0] + X[:, 1] + rng.normal(0, 0.5, TIMED_ROWS) > 0).astype(float)
    values = ListColumn(list(encode_events(X, y, 0)))
    no_keys, offsets, stamps = ListColumn([None] * TIMED_ROWS), np.arange(TIMED_ROWS), [0] * TIMED_ROWS
    whole = Records(0, offsets, values, no_keys, stamps)
    best: dict[str, float] = {}
    for _ in range(ROUNDS):
        for name, form in (("without", 0), ("with", 1)):
            model = Model(ModelSettings((Spec.parse("pa1"),)), 0)
            model.continue_as(StateForm(True, form))
            rest = whole
            while len(rest):  # the fastest of all batches: a busy machine interrupts most of them
                part, started = rest.before(BATCH), time.perf_counter()
                model.advance(part).predictions.release()
                best[name] = min(best.get(name, math.inf), (time.perf_counter() - started) / BATCH * 1e9)
                rest = rest.after(len(part))
    score = rng.normal(size=(TIMED_ROWS, 1))
    predicted = predicted_class(score, "binary")
    for _ in range(ROUNDS):
        calibrator, metrics = Calibrator(2, None), ReliabilityMetrics()
        started = time.perf_counter()
        sure = calibrator.calibrate(score[:BATCH], y[:BATCH])
        between = time.perf_counter()
        metrics.counter(sure, predicted[:BATCH], y[:BATCH])(0, BATCH)
        ended = time.perf_counter()
        for _ in range(100):
            metrics.point()
        for name, seconds, rows in (
            ("calibrate", between - started, BATCH),
            ("count", ended - between, BATCH),
            ("point", time.perf_counter() - ended, 100),
        ):
            best[name] = min(best.get(name, math.inf), seconds / rows * 1e9)
    yield json.dumps({name: round(nanoseconds, 1) for name, nanoseconds in best.items()})


if __name__ == "__main__":
    for line in {"methods": compare_methods, "streams": by_stream, "speed": speed}[sys.argv[1]]():
        print(line, flush=True)
