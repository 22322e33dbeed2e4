"""Model exchange between partitions, offline: the same bits as workers that commit in time, and what it is good for."""

from __future__ import annotations

import json

import numpy as np
import pytest
from click.testing import CliRunner

from driftway.cli import main
from driftway.learners import Spec
from driftway.producers.streams import open_stream
from driftway.worker.evaluation.prequential import Evaluation
from driftway.worker.settings.option_values import SharingOption
from driftway.worker.state.model import Model
from driftway.worker.wire.codec import encode_events
from driftway.worker.wire.events import Target
from tests.support.real_streams import RealStreams
from tests.unit.worker.rows import drifting, model_settings, records

P, D = 4, 4


def models_in_turns(learner: str, share: SharingOption, X: np.ndarray, y: np.ndarray) -> list[list[float]]:
    """Return the scores of each partition's model; updates sent in one turn are received in the next."""
    models, updates, scores = (
        [Model(model_settings(learner, share=share), p) for p in range(P)],
        [],
        [[] for _ in range(P)],
    )
    for model in models:
        model.exchange.replay([], 0)
        model.exchange.start(P, {})
    counts = [0] * P
    for start in range(0, len(X), P * share.rows):
        for update in updates:
            for model in models:
                model.exchange.receive(update.partition, update.round_number, model.exchange.read(update.value), 0)
        updates = []
        for p, model in enumerate(models):
            mine = slice(start + p, min(len(X), start + P * share.rows), P)
            values = encode_events(np.ascontiguousarray(X[mine]), y[mine], 0)
            if not len(values):
                continue
            out = model.advance(records(list(values), counts[p], partition=p))
            counts[p] += len(values)
            updates += out.shares
            scores[p] += [json.loads(value)["score"] for value in out.predictions]
    return scores


@pytest.mark.parametrize("share", [SharingOption("average", 7), SharingOption("gossip", 10)])
@pytest.mark.parametrize("learner", ["dfop:mu=0.01", "pa1"])
def test_evaluate_equals_workers_that_commit_in_time(learner: str, share: SharingOption) -> None:
    X, y = drifting(n=700, d=D)
    evaluation = Evaluation(Spec.parse(learner), Target(), D, partitions=P, share=share)
    found = np.concatenate([evaluation.step(X[i : i + 33], y[i : i + 33])[0][:, 0] for i in range(0, len(X), 33)])
    expected = models_in_turns(learner, share, X, y)
    assert [found[p::P].tolist() for p in range(P)] == expected
    alone = Evaluation(Spec.parse(learner), Target(), D, partitions=P)
    assert alone.step(X, y)[0][:, 0].tolist() != found.tolist()


def accuracy(file: str, share: SharingOption | None, partitions: int) -> float:
    ((X, y),) = open_stream(file).blocks(1 << 20)
    made = Evaluation(Spec.parse("dfop:mu=0.0005"), Target(), X.shape[1], partitions=partitions, share=share)
    made.step(X, y)
    return 100.0 * float(np.mean([part["accuracy"] for part in made.results("x")]))


@pytest.mark.parametrize(("stream", "every"), [("sea", 10), pytest.param("electricity", 1, marks=pytest.mark.slow)])
def test_eight_partitions_that_share_are_nearly_as_accurate_as_one(
    real_streams: RealStreams, stream: str, every: int
) -> None:
    file = str(real_streams.file(stream))
    one, alone = accuracy(file, None, 1), accuracy(file, None, 8)
    shared = accuracy(file, SharingOption("average", every), 8)
    assert shared > one - 1.0
    assert shared > alone


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (("--share-models", "average"), "--share-models works between partitions: give their number with --partitions"),
        (("--share-models", "mean", "--partitions", "2"), "write average:rows=N or gossip:rows=N, N >= 1"),
        (
            ("--share-models", "average", "--partitions", "2", "--label-delay", "3"),
            "--share-models does not go with --label-delay",
        ),
        (
            ("--share-models", "gossip", "--partitions", "2", "--learner", "auto"),
            "--share-models: auto has nothing to share; linear",
        ),
    ],
)
def test_wrong_options_are_refused_in_one_sentence(options: tuple[str, ...], sentence: str) -> None:
    learner = () if "--learner" in options else ("--learner", "dfop")
    done = CliRunner().invoke(main, ["evaluate", "sea", "--limit", "50", *learner, *options])
    assert done.exit_code != 0
    assert sentence in f"{done.output} {done.exception}"
