"""How often workers promote a challenger that is not better, and how long they take to promote one that is.

    nice python -m tests.bench.promotions null
    DRIFTWAY_DATA=FOLDER nice python -m tests.bench.promotions delay

The first measures `driftway.worker.state.plans.promotion` on streams whose models are equally good, the second whole
models on `sea` and electricity, without Kafka: a plan is taken with the next accuracy point. Both write Markdown.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from statistics import median
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from driftway.learners.metrics.e_process import EProcess
from driftway.learners.spec import Spec
from driftway.producers.streams import open_stream
from driftway.worker.settings import ModelSettings
from driftway.worker.settings.option_values import PromoteOption
from driftway.worker.state.model import Model
from driftway.worker.state.plans.model_plan import first_plan
from driftway.worker.state.plans.next_plan import promoted
from driftway.worker.state.plans.promotion import PromotionRule
from driftway.worker.wire.codec import encode_events, read_json
from driftway.worker.wire.columns import ListColumn
from driftway.worker.wire.events import Records

STREAMS, PIECE, ROWS, EVERY = 1000, 50, 10_000, 250
ALPHAS = 0.05, 0.01
NAMES = "pa1", "arow", "dfop", "rls"
"""Stand for equally good models: the first is the champion."""
BY_HAND = 2000
"""Rows between two promotions by hand, which are plans as well and begin new tests."""
DRIFTING, AFTER_MISTAKES, COMMON = "drifting, mistakes in common", "after mistakes", "the same events in all partitions"
KINDS = "independent", DRIFTING, AFTER_MISTAKES, COMMON
SEEDS, POINT_ROWS = range(10), 100
CASES = (
    ("sea", "perceptron", "arow"), ("sea", "pa1", "dfop"), ("sea", "arow", "dfop"),
    ("electricity", "perceptron", "arow"), ("electricity", "arow", "dfop"), ("electricity", "arow", "auto"),
)  # fmt: skip
Errors = NDArray[np.bool_]


def fair_errors(kind: str, rng: np.random.Generator, partitions: int) -> Errors:
    """Return mistakes bool[PIECE, partitions, models, ROWS] of models that are all equally likely to be wrong."""
    shape = PIECE, partitions, len(NAMES), ROWS
    if kind == COMMON:
        return np.repeat(rng.random((PIECE, 1, len(NAMES), ROWS)) < 0.2, partitions, axis=1)
    if kind == DRIFTING:
        rate = 0.05 + 0.4 * np.exp(-(np.arange(ROWS) % 500) / 100)
        together = rng.random((PIECE, partitions, 1, ROWS)) < 0.5 * rate
        return (rng.random(shape) < rate) | together
    errors = rng.random(shape) < 0.2
    if kind == AFTER_MISTAKES:  # all are wrong more often after a mistake of the first model
        for t in range(1, ROWS):
            rate = np.where(errors[:, :, :1, t - 1], 0.6, 0.1)
            errors[:, :, :, t] = rng.random(shape[:3]) < rate
    return errors


def promotes_falsely(errors: Errors, by_hand: bool) -> list[bool]:
    """For each of ALPHAS, whether a group with these mistakes, bool[partitions, models, rows], promotes a model."""
    partitions, _, rows = errors.shape
    losses, offsets, found = errors.astype(float), np.arange(rows), [False] * len(ALPHAS)
    plans = [first_plan(tuple(Spec(name) for name in NAMES))]
    rules, tests = list[PromotionRule](), dict[tuple[int, str], EProcess]()
    for start in range(0, rows, EVERY):
        if by_hand and start and start % BY_HAND == 0:
            plans.append(replace(plans[-1], number=len(plans) + 1, models=promoted(plans[-1], plans[-1].names[1])))
            rules.clear()
            tests.clear()
        rules = rules or [PromotionRule(PromoteOption(alpha, 0, 0), plans, partitions) for alpha in ALPHAS]
        champion, *challengers = (NAMES.index(name) for name in plans[-1].names)
        for partition, one in ((p, c) for p in range(partitions) for c in challengers):
            test = tests.setdefault((partition, NAMES[one]), EProcess())
            test.counter(losses[partition, champion], losses[partition, one], offsets)(start, start + EVERY)
            place = {"partition": partition, "offset": start + EVERY - 1, "learner": NAMES[one]}
            for rule in rules:
                rule.add({**place, "plan": plans[-1].number, **test.point()})
        found = [already or rule.decide() is not None for already, rule in zip(found, rules, strict=True)]
    return found


def null() -> Iterator[str]:
    """Count the streams with a false promotion."""
    yield f"| of {STREAMS:,} streams of {ROWS:,} rows a partition | " + " | ".join(KINDS) + " |"
    yield "|---" * (1 + len(KINDS)) + "|"
    for partitions, by_hand in ((1, False), (2, True)):
        counts = np.zeros((len(KINDS), len(ALPHAS)), int)
        for number, kind in enumerate(KINDS):
            rng = np.random.default_rng(23)
            for _ in range(STREAMS // PIECE):
                for errors in fair_errors(kind, rng, partitions):
                    counts[number] += promotes_falsely(errors, by_hand)
        how = f", a promotion by hand every {BY_HAND:,} rows" if by_hand else ""
        for alpha, of_kinds in zip(ALPHAS, counts.T, strict=True):
            many = " | ".join(map(str, of_kinds))
            yield f"| alpha {alpha}, {partitions} partition{'s' * (partitions > 1)}{how} | {many} |"


class Run(NamedTuple):
    """What became of a group."""

    promotions: list[tuple[int, str]]
    """Rows of the group before each, and the new champion."""
    accuracy: float
    """Share of labels that the predictions written had right."""
    of_models: list[float]
    """The same if champion and challenger had each predicted all rows."""


def run(X: NDArray[Any], y: NDArray[Any], names: Sequence[str], partitions: int) -> Run:
    """Deal rows f8[n, d], f8[n] to partitions in turn, and promote as workers do."""
    settings = ModelSettings(tuple(map(Spec.parse, names)), accuracy_every=POINT_ROWS)
    models = [Model(settings, p, "group") for p in range(partitions)]
    events = [encode_events(X[p::partitions], y[p::partitions], 0) for p in range(partitions)]
    plans = [first_plan(settings.specs)]
    rule = PromotionRule(PromoteOption(), plans, partitions)
    promotions, hits = list[tuple[int, str]](), list[bool]()
    for start in range(0, len(events[0]), POINT_ROWS):
        for p, values in enumerate(events):
            columns = Records.of_values(ListColumn(values[start : start + POINT_ROWS]), start)
            outputs = models[p].advance(replace(columns, partition=p))
            hits += [one["prediction"] == one["y"] for one in map(read_json, outputs.predictions.to_list())]
            for _, value in outputs.points:
                rule.add(read_json(value))
        if (found := rule.decide()) is not None:
            plan = replace(plans[-1], number=len(plans) + 1, models=promoted(plans[-1], found.challenger))
            plans.append(plan)
            models = [model.followed_by(plan) for model in models]
            rule = PromotionRule(PromoteOption(), plans, partitions)
            promotions.append(((start + POINT_ROWS) * partitions, plan.champion))
    points = [model.latest_points() for model in models]
    of_models = [float(np.mean([point[name]["accuracy"] for point in points])) for name in names]
    return Run(promotions, float(np.mean(hits)), of_models)


def rows_of(stream: str, seed: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """All rows of a stream; a real one has no seed."""
    blocks = list(open_stream(stream, seed=seed).blocks())
    return np.concatenate([block.X for block in blocks]), np.concatenate([block.y for block in blocks])


def delay() -> Iterator[str]:
    """Measure when the challenger is promoted, and what that is worth."""
    figures = "accuracy | of the champion | of the challenger"
    yield f"| stream | champion, challenger | partitions | promoted at row | promotions | {figures} |"
    yield "|---|---|---|---|---|---|---|---|"
    for stream, *pair in CASES:
        for partitions in (1, 4):
            streams = [rows_of(stream, seed) for seed in (SEEDS if stream == "sea" else [0])]
            runs = [run(X, y, pair, partitions) for X, y in streams]
            firsts = sorted(one.promotions[0][0] if one.promotions else np.inf for one in runs)
            first = median(firsts)
            counts = sorted(len(one.promotions) for one in runs)
            fewest, most = counts[0], counts[-1]
            means = np.mean([(one.accuracy, *one.of_models) for one in runs], axis=0)
            accuracies = " | ".join(f"{100 * mean:.2f}" for mean in means)
            at = "never" if np.isinf(first) else f"{first:,.0f}"
            many = str(most) if fewest == most else f"{fewest} to {most}"
            yield f"| `{stream}` | `{pair[0]}`, `{pair[1]}` | {partitions} | {at} | {many} | {accuracies} |"


def main() -> None:
    """Print the table that the command line names."""
    for line in {"null": null, "delay": delay}[sys.argv[1]]():
        print(line, flush=True)


if __name__ == "__main__":
    main()
