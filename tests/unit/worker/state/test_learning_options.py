"""--task, --classes, --labels, --learner, --map: what they mean together, and the error if they contradict."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from driftway.cli import main
from driftway.learners import Spec
from driftway.learners.preprocessing.maps import create_mapped
from driftway.producers.streams import open_stream
from driftway.worker.cli.model_options import make_model_settings, make_target
from driftway.worker.errors import Failure, UsageFailure
from driftway.worker.state import snapshot
from driftway.worker.state.model import Model
from driftway.worker.stream.warm_up import compile_kernels
from driftway.worker.wire.events import Target
from tests.unit.worker.rows import events, model_settings, records, wire


@pytest.mark.parametrize(
    ("task", "classes", "labels", "target"),
    [
        ("classification", None, None, Target("classification", 2)),
        ("classification", 5, None, Target("classification", 5)),
        ("classification", None, "DOWN,UP", Target("classification", 2, ("DOWN", "UP"))),
        ("classification", None, " a , b ,c", Target("classification", 3, ("a", "b", "c"))),
        ("classification", 2, "-1,+1", Target("classification", 2, ("-1", "+1"))),
        ("regression", None, None, Target("regression", 0)),
    ],
)
def test_the_target_follows_from_the_options(
    task: str, classes: int | None, labels: str | None, target: Target
) -> None:
    assert make_target(task, classes, labels) == target


@pytest.mark.parametrize(
    ("task", "classes", "labels", "words"),
    [
        ("classification", None, "UP", "--labels UP: name two or more different labels, separated by commas"),
        ("classification", None, "a,a", "--labels a,a: name two or more different labels, separated by commas"),
        ("classification", None, "a,,b", "--labels a,,b: name two or more different labels, separated by commas"),
        ("classification", None, "1,1.0", "--labels 1,1.0: two of them are the same number"),
        ("classification", 3, "a,b", "--classes 3 contradicts 2 --labels"),
        ("regression", 2, None, "--classes and --labels belong to classification"),
        ("regression", None, "a,b", "--classes and --labels belong to classification"),
    ],
)
def test_contradictory_options_are_refused_in_one_sentence(
    task: str, classes: int | None, labels: str | None, words: str
) -> None:
    with pytest.raises(UsageFailure) as caught:
        make_target(task, classes, labels)
    assert str(caught.value) == words


@pytest.mark.parametrize(
    ("specs", "target", "words"),
    [
        (("dfob",), Target(), "no learner 'dfob'; did you mean 'dfop'?"),
        (("zzz",), Target(), "no learner 'zzz'; see `driftway learners`"),
        (("dfop:nu=1",), Target(), "learner dfop:nu=1: no parameter 'nu'; available: mu, delta, p_max, intercept"),
        (("dfop:mu=1",), Target(), "learner dfop:mu=1: mu must be < 1, got 1"),
        (("dfop:mu=x",), Target(), "learner dfop:mu=x: mu must be a number, got 'x'"),
        (("dfop:mu",), Target(), "learner dfop:mu: 'mu' in 'dfop:mu' is not parameter=value"),
        (("dfop:mu=0.1,mu=0.2",), Target(), "learner dfop:mu=0.1,mu=0.2: mu is given twice in 'dfop:mu=0.1,mu=0.2'"),
        (
            ("dfop",),
            Target("classification", 3),
            "learner dfop: dfop does not learn 3 classes; it learns: binary, regression (ova:dfop learns them one "
            "against all)",
        ),
        (("arow", "arow"), Target(), "the same --learner is given twice"),
        ((), Target(), "name at least one --learner"),
    ],
)
def test_an_invalid_learner_is_refused_in_one_sentence(specs: tuple[str, ...], target: Target, words: str) -> None:
    with pytest.raises(UsageFailure) as caught:
        make_model_settings(specs, target)
    assert str(caught.value) == words


def test_learners_keep_their_order_and_text() -> None:
    parsed = make_model_settings(("dfop: mu = 0.01 ", "arow"), Target(), n_features=7, window=9)
    assert [spec.text for spec in parsed.specs] == ["dfop:mu=0.01", "arow"]
    assert (parsed.n_features, parsed.window) == (7, 9)


MAP = "polynomial:degree=2"


def test_maps_keep_their_order_and_text() -> None:
    parsed = make_model_settings(("dfop",), Target(), (" hashing: buckets = 8", MAP), n_features=3)
    assert [spec.text for spec in parsed.maps] == ["hashing:buckets=8", MAP]
    assert make_model_settings(("dfop",), Target()).maps == ()


@pytest.mark.parametrize(
    ("maps", "words"),
    [
        (("square",), "map square: no feature map 'square'; available: polynomial, fourier, hashing"),
        ((MAP, "fourier:D=x"), "map fourier:D=x: D must be a number, got 'x'"),
        (("fourier:gamma=0",), "map fourier:gamma=0: gamma must be > 0, got 0"),
        (("hashing:buckets",), "map hashing:buckets: 'buckets' in 'hashing:buckets' is not parameter=value"),
        (
            ("polynomial:degree=9",),
            "map polynomial:degree=9: 10,015,004 features from 20 are more than 1,000,000",
        ),
    ],
)
def test_an_invalid_map_is_refused_in_one_sentence(maps: tuple[str, ...], words: str) -> None:
    with pytest.raises(UsageFailure) as caught:
        make_model_settings(("pa1",), Target(), maps, n_features=20)
    assert str(caught.value) == words


COLUMN_3 = "g_dfop:lambda_source=field,column=3"


def test_a_column_that_may_exist_is_accepted_until_the_first_event() -> None:
    parsed = make_model_settings((COLUMN_3,), Target())
    compile_kernels(parsed, "python")
    with pytest.raises(UsageFailure, match="column must be < 1, the number of features, got 3"):
        make_model_settings((COLUMN_3,), Target(), n_features=1)
    with pytest.raises(Failure, match="over 1 feature: column must be < 1, the number of features, got 3"):
        Model(parsed, 3).advance(records([b'{"x":[1],"y":0}']))
    far = make_model_settings(("g_dfop:lambda_source=field,column=1000000000",), Target())
    with pytest.raises(Failure, match="over 10,000 features: column must be < 10000"):
        compile_kernels(far, "python")


def test_a_map_that_does_not_fit_the_first_event_is_refused_in_one_sentence() -> None:
    model = Model(model_settings("pa1", maps=(Spec.parse("polynomial:degree=10"),)), 3)
    with pytest.raises(Failure) as caught:
        model.advance(records(events(d=30)))
    assert str(caught.value) == (
        "learner pa1 over 30 features: map polynomial:degree=10: 847,660,527 features from 30 are more than 1,000,000"
    )


@pytest.mark.parametrize(
    ("command", "needed"),
    [("worker", ("--input", "E", "--group", "g")), ("audit", ("--input", "E", "--group", "g")), ("evaluate", ("sea",))],
)
def test_commands_that_learn_accept_maps(command: str, needed: tuple[str, ...]) -> None:
    assert MAP in CliRunner().invoke(main, [command, "--help"]).stdout
    done = CliRunner().invoke(main, [command, *needed, "--map", "polynomial:degree=0"])
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr == "driftway: map polynomial:degree=0: degree must be >= 1, got 0\n"


def test_evaluate_gives_the_scores_of_the_mapped_learner_bit_for_bit(tmp_path: Path) -> None:
    path = tmp_path / "scores.jsonl"
    maps = ("--map", MAP, "--map", "hashing:buckets=5")
    done = CliRunner().invoke(main, ["evaluate", "sea:rows=500", "--learner", "pa1", *maps, "--scores", str(path)])
    assert done.exit_code == 0, done.output
    learner = create_mapped(Spec("pa1"), (Spec.parse(MAP), Spec.parse("hashing:buckets=5")), 3, standardize=True)
    (block,) = open_stream("sea:rows=500", seed=1).blocks(500)
    score = np.empty((500, 1))
    learner.predict_then_update(block.X, block.y, score)
    assert [json.loads(line)["score"] for line in path.read_text().splitlines()] == score[:, 0].tolist()


def test_a_model_with_a_map_continues_only_from_its_own_snapshot() -> None:
    settings = [
        model_settings("dfop", maps=tuple(Spec.parse(text) for text in texts))
        for texts in ((), (MAP,), ("hashing:buckets=4",), ("hashing:buckets=4,seed=2",))
    ]
    rows = records(events())
    for one in settings:
        first = Model(one, 3)
        first.advance(rows.before(170))
        blob = snapshot.write(first, first.save(), 170)
        for other in settings:
            successor = Model(other, 3)
            if other is one:
                snapshot.read(blob, successor)
                assert wire([successor.advance(rows.after(170))]) == wire([first.advance(rows.after(170))])
                continue
            with pytest.raises(snapshot.ForeignSnapshot) as caught:
                snapshot.read(blob, successor)
            parsed, has = "dfop" + one.maps_suffix, "dfop" + other.maps_suffix
            differs = f"the snapshot was made with learners {parsed}, this worker has {has}"
            assert str(caught.value) == f"{differs}; give it the options that the group began with"
