"""Warm starts: the champion continues from the file's learner bit for bit, and never from another file's."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from driftway import learners
from driftway.cli import main
from driftway.worker.errors import Failure, UsageFailure
from driftway.worker.settings import ModelSettings
from driftway.worker.state import model_file, snapshot
from driftway.worker.state.model import Model
from driftway.worker.stream.warm_up import compile_kernels
from driftway.worker.wire.codec import encode_events, read_json
from driftway.worker.wire.events import Target
from tests.unit.worker.rows import Array, drifting, model_settings, records, untested, wire
from tests.unit.worker.state.test_snapshot import refusal
from tests.unit.worker.trained import CHAMPION, perceptron, scores, written

TRAINED, REST = 150, 300
"""Number of training rows; number of rows in all."""
NAMES = ("size", "age", "weight", "height")
"""Not sorted, as a file keeps the order of its columns."""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return a file with a perceptron that was trained on the first rows."""
    X, y = drifting(REST)
    written(tmp_path / "m.driftway", perceptron(X[:TRAINED], y[:TRAINED]), NAMES)
    return tmp_path / "m.driftway"


def settings(path: Path, *challengers: str, frozen: bool = False, **rest: Any) -> ModelSettings:
    return model_settings(CHAMPION, *challengers, warm=model_file.load(path).warm_start(frozen), **rest)


def rest_rows() -> tuple[Array, Array]:
    X, y = drifting(REST)
    return X[TRAINED:], y[TRAINED:]


def rest_events(names: tuple[str, ...] | None = None) -> list[bytes]:
    return encode_events(*rest_rows(), TRAINED, names)


def predicted(model: Model, values: list[bytes]) -> list[dict[str, Any]]:
    outputs = model.advance(records(values, first=TRAINED))
    return [read_json(value) for value in outputs.predictions]


def scores_in(rows: list[dict[str, Any]]) -> bytes:
    """Return the bytes of the scores."""
    return np.array([row["score"] for row in rows]).tobytes()


@pytest.mark.parametrize("names", [None, NAMES])
def test_the_champion_continues_from_the_file(path: Path, names: tuple[str, ...] | None) -> None:
    """With names too: an object's features are put in the file's order, not in alphabetical order."""
    expected = scores(model_file.load(path).model().champion, *rest_rows())
    rows = predicted(Model(settings(path), 3), rest_events(names))
    assert scores_in(rows) == expected.tobytes()
    assert {row["learner"] for row in rows} == {f"warm:{CHAMPION}"}
    assert scores_in(rows) != scores(learners.create("scaled:perceptron", 4, ties="correct"), *rest_rows()).tobytes()


def test_a_frozen_champion_only_predicts(path: Path) -> None:
    """Its scores are those of a learner that never learns, its state stays the same; metrics and challengers go on."""
    learner = model_file.load(path).model().champion
    before = learner.state.memory.tobytes()
    expected = np.empty((REST - TRAINED, 1))
    learner.predict(rest_rows()[0], expected)
    model = Model(settings(path, "arow", frozen=True), 3)
    outputs = model.advance(records(rest_events(), first=TRAINED))
    rows = [read_json(value) for value in outputs.predictions]
    assert scores_in(rows) == expected.tobytes()
    assert {row["learner"] for row in rows} == {f"frozen:{CHAMPION}"}
    assert model.save().parts[0].tobytes() == before == learner.state.memory.tobytes()
    keys = [key.decode() for key, _ in outputs.points]
    assert keys == [f"frozen:{CHAMPION}/3", "arow/3"] * (len(keys) // 2)
    assert keys
    assert list(model.latest_points()) == [f"frozen:{CHAMPION}", "arow"]
    labels, right = 0, 0
    for row in rows:
        labels += row["y"] is not None
        right += row["y"] == row["prediction"]
    point = model.latest_points()[f"frozen:{CHAMPION}"]
    assert point["labels"] == labels
    assert point["accuracy"] * labels == pytest.approx(right)


def test_challengers_start_empty(path: Path) -> None:
    both = Model(settings(path, "arow", CHAMPION), 3)
    alone = Model(model_settings("arow", CHAMPION), 3)
    rows = records(rest_events(), first=TRAINED)
    actual, expected = ([(key, untested(value)) for key, value in one.advance(rows).points] for one in (both, alone))
    assert [pair for pair in actual if not pair[0].startswith(b"warm:")] == expected
    assert {key.decode() for key, _ in expected} == {"arow/3", f"{CHAMPION}/3"}


@pytest.mark.parametrize("frozen", [False, True])
@pytest.mark.parametrize("cut", [1, 70])
def test_a_restored_run_equals_the_uninterrupted_one(path: Path, cut: int, frozen: bool) -> None:
    whole, values = Model(settings(path, "arow", frozen=frozen), 3), rest_events(NAMES)
    first, second = records(values[:cut], first=TRAINED), records(values[cut:], first=TRAINED + cut)
    expected = wire([whole.advance(first), whole.advance(second)])
    halved = Model(settings(path, "arow", frozen=frozen), 3)
    before = halved.advance(first)
    blob = snapshot.write(halved, halved.save(), TRAINED + cut)
    again = Model(settings(path, "arow", frozen=frozen), 3)
    snapshot.read(blob, again)
    assert wire([before, again.advance(second)]) == expected
    assert [p.tobytes() for p in again.save().parts] == [p.tobytes() for p in whole.save().parts]


def test_a_group_continues_only_with_the_file_that_it_began_with(path: Path, tmp_path: Path) -> None:
    X, y = drifting(REST)
    written(tmp_path / "other.driftway", perceptron(X[:100], y[:100]), NAMES)
    ours, theirs = (model_file.load(tmp_path / name).digest for name in ("m.driftway", "other.driftway"))
    model = Model(settings(path), 3)
    model.advance(records(rest_events()))
    blob = snapshot.write(model, model.save(), REST)
    keeps = "; a group keeps what it started with"
    assert refusal(blob, settings(tmp_path / "other.driftway")) == (
        f"the snapshot was made with --warm-start of model file {ours}, this worker starts with --warm-start of model "
        f"file {theirs}{keeps}"
    )
    assert refusal(blob, model_settings(CHAMPION)) == (
        f"the snapshot was made with --warm-start of model file {ours}, this worker starts without --warm-start{keeps}"
    )
    cold = Model(model_settings(CHAMPION), 3)
    cold.advance(records(rest_events()))
    assert refusal(snapshot.write(cold, cold.save(), REST), settings(path)) == (
        f"the snapshot was made without --warm-start, this worker starts with --warm-start of model file {ours}{keeps}"
    )
    warmed = f"with --warm-start of model file {ours}"
    assert refusal(blob, settings(path, frozen=True)) == (
        f"the snapshot was made {warmed}, this worker starts {warmed} and --frozen{keeps}"
    )
    model = Model(settings(path, frozen=True), 3)
    model.advance(records(rest_events()))
    assert refusal(snapshot.write(model, model.save(), REST), settings(path)) == (
        f"the snapshot was made {warmed} and --frozen, this worker starts {warmed}{keeps}"
    )


def test_the_same_file_under_another_name_is_the_same(path: Path, tmp_path: Path) -> None:
    (tmp_path / "copy").write_bytes(path.read_bytes())
    model = Model(settings(path), 3)
    model.advance(records(rest_events()))
    snapshot.read(snapshot.write(model, model.save(), REST), Model(settings(tmp_path / "copy"), 3))


@pytest.mark.parametrize("standardize", [True, False])
def test_a_model_may_start_from_an_exported_snapshot(standardize: bool) -> None:
    """Also for a champion behind maps and the online standardiser, whose statistics continue too."""
    maps = (learners.Spec.parse("polynomial:degree=2"),)
    values = encode_events(*drifting(REST), 0)
    model = Model(model_settings("arow:q=0.001", "pa1", maps=maps, standardize=standardize), 3)
    model.advance(records(values[:TRAINED]))
    found = model_file.unpack(model_file.pack(model, model.save(), TRAINED, {"source": "EVENTS/3"}), "x.driftway")
    expected = model.advance(records(values[TRAINED:], first=TRAINED)).predictions
    theirs = found.settings()
    began = model_settings(*(s.text for s in theirs.specs[:1]), maps=theirs.maps, standardize=theirs.standardize,
                           warm=found.warm_start())  # fmt: skip
    actual = predicted(Model(began, 3), values[TRAINED:])
    assert scores_in(actual) == scores_in([read_json(value) for value in expected])


def test_compiling_needs_no_number_of_features(path: Path) -> None:
    compile_kernels(settings(path), "python")
    compile_kernels(settings(path, "arow", frozen=True, form="packed"), "python")


# What does not fit.


def first_event(path: Path, value: bytes) -> str:
    with pytest.raises(Failure) as caught:
        Model(settings(path), 3).advance(records([b"not JSON", value]))
    words = str(caught.value)
    assert words.startswith("the first usable event of partition 3 ")
    assert str(path) in words
    return words.replace(str(path), "FILE").removeprefix("the first usable event of partition 3 ")


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (b'{"x":[1,2,3],"y":1}', "has 3 features, model file FILE takes 4"),
        (b'{"x":{"size":1,"age":2},"y":1}', "has 2 features, model file FILE takes 4"),
        (
            b'{"x":{"size":1,"age":2,"weight":3,"depth":4},"y":1}',
            "has the feature 'depth' instead of 'height', which model file FILE takes",
        ),
    ],
)
def test_a_first_event_of_another_shape_stops_the_worker(path: Path, value: bytes, words: str) -> None:
    assert first_event(path, value) == words


def test_feature_names_are_not_guessed(tmp_path: Path) -> None:
    X, y = drifting()
    written(tmp_path / "m.driftway", perceptron(X, y))
    words = "names its features, model file FILE knows them by their order only"
    assert first_event(tmp_path / "m.driftway", b'{"x":{"a":1,"b":2,"c":3,"d":4},"y":1}') == words


def test_features_that_contradict_the_file_are_refused(path: Path) -> None:
    with pytest.raises(UsageFailure, match=f"--features 5 contradicts model file {path}, which takes 4"):
        settings(path, n_features=5)
    fixed = Model(settings(path, n_features=4), 3)
    outputs = fixed.advance(records([b'{"x":[1,2,3],"y":1}', *rest_events()]))
    assert [bad.reason for bad in outputs.rejected] == ["x has 3 features, expected 4"]
    assert outputs.rows == REST - TRAINED


def run(*arguments: object) -> tuple[int, str]:
    """Return the exit code and the last line of standard error."""
    done = CliRunner().invoke(main, [str(one) for one in arguments])
    lines = done.stderr.strip().splitlines()
    assert "Traceback" not in done.stderr
    return done.exit_code, lines[-1].removeprefix("driftway: ").removeprefix("Error: ")


GROUP = ("--input", "EVENTS", "--group", "g", "-X", "nonsense")
"""Client properties are checked after the model, so an error about them means that the model was accepted."""
NO_BROKER = "client property 'nonsense' is not key=value"
COMMANDS = {"evaluate": ("evaluate", "sea"), "worker": ("worker", *GROUP), "audit": ("audit", *GROUP)}


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--task", "regression"), "--task contradicts FILE: asked for regression, the file has classification"),
        (("--classes", "3"), "--classes contradicts FILE: asked for 3, the file has 2"),
        (("--labels", "a,b,c"), "--labels contradicts FILE: asked for 3 classes, the file has 2 classes"),
        (("--map", "hashing:buckets=8"), "--map contradicts FILE: asked for hashing:buckets=8, the file has no map"),
        (
            ("--no-standardize",),
            "--no-standardize contradicts FILE: asked for --no-standardize, the file has --standardize",
        ),
    ],
)
def test_options_that_contradict_the_file(path: Path, command: str, options: tuple[str, ...], words: str) -> None:
    code, sentence = run(*COMMANDS[command], "--warm-start", path, *options)
    assert (code, sentence) == (2, words.replace("FILE", f"model file {path}"))


@pytest.mark.parametrize("command", ["worker", "audit"])
@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--learner", "arow", "--learner", "arow"), "the same --learner is given twice"),
        (("--learner", "arowx"), "no learner 'arowx'; did you mean 'arow'?"),
        (("--features", "5"), "--features 5 contradicts FILE, which takes 4"),
        (("--learner", "arow", "--learner", CHAMPION), "NO BROKER"),
        (("--task", "classification", "--classes", "2", "--standardize", "--features", "4"), "NO BROKER"),
    ],
)
def test_challengers_are_unaffected(path: Path, command: str, options: tuple[str, ...], words: str) -> None:
    words = words.replace("FILE", f"model file {path}").replace("NO BROKER", NO_BROKER)
    assert run(*COMMANDS[command], "--warm-start", path, *options) == (2, words)


@pytest.mark.parametrize("command", COMMANDS)
def test_invalid_files_and_frozen_without_a_file_are_refused(path: Path, command: str) -> None:
    whole, words = path.read_bytes(), COMMANDS[command]
    assert run(*words, "--frozen") == (
        2, "--frozen needs --warm-start FILE: an empty learner that never learns is useless",
    )  # fmt: skip
    missing = path.with_name("none")
    assert run(*words, "--warm-start", missing) == (2, f"cannot read {missing}: No such file or directory")
    for content, why in (
        (whole[:-30], f"{path} cannot be used: the snapshot is damaged: its checksum does not match"),
        (b"y,x\n", f"{path} is not a model file of Driftway"),
    ):
        path.write_bytes(content)
        assert run(*words, "--warm-start", path) == (1, why)


def test_labels_may_name_the_classes_that_the_file_only_counts(path: Path, tmp_path: Path) -> None:
    X, y = drifting()
    named = written(tmp_path / "n.driftway", perceptron(X, y), target=Target("classification", 2, ("DOWN", "UP")))
    assert named.settings().target.labels == ("DOWN", "UP")
    code, sentence = run(*COMMANDS["worker"], "--warm-start", named.name, "--labels", "UP,DOWN")
    assert (code, sentence) == (
        2, f"--labels contradicts model file {named.name}: asked for UP,DOWN, the file has DOWN,UP",
    )  # fmt: skip
    for file in (named.name, path):
        assert run(*COMMANDS["worker"], "--warm-start", file, "--labels", "DOWN,UP") == (2, NO_BROKER)


# Evaluation.


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """The rows as a file; unknown labels are empty."""
    X, y = drifting(REST)
    lines = [",".join([*map(repr, x), "" if np.isnan(label) else str(int(label))])
             for x, label in zip(X.tolist(), y, strict=True)]  # fmt: skip
    found = tmp_path / "rows.csv"
    found.write_text("\n".join([",".join([*NAMES, "y"]), *lines]) + "\n")
    return found


def evaluated(out: Path, *arguments: object) -> list[dict[str, Any]]:
    done = CliRunner().invoke(main, ["evaluate", *map(str, arguments), "--scores", str(out), "--json"])
    assert done.exit_code == 0, done.stderr
    lines = [read_json(line) for line in out.read_bytes().splitlines()]
    (result, *_) = json.loads(done.stdout)
    assert result["learner"].endswith(CHAMPION)
    return lines


@pytest.mark.parametrize("frozen", [(), ("--frozen",)])
def test_an_evaluation_equals_the_worker(path: Path, table: Path, tmp_path: Path, frozen: tuple[str, ...]) -> None:
    lines = evaluated(tmp_path / "s", table, "--warm-start", path, "--skip", TRAINED, *frozen)
    rows = predicted(Model(settings(path, frozen=bool(frozen)), 3), rest_events())
    assert [line["row"] for line in lines] == list(range(TRAINED, REST))
    assert scores_in(lines) == scores_in(rows)
    some = evaluated(tmp_path / "s", table, "--warm-start", path, "--skip", TRAINED, "--limit", 20, *frozen)
    assert some == lines[:20]


def test_an_evaluation_reorders_columns_as_in_the_file(path: Path, table: Path, tmp_path: Path) -> None:
    moved = tmp_path / "moved.csv"
    cells = [line.split(",") for line in table.read_text().splitlines()]
    moved.write_text("".join(",".join((d, a, c, b, y)) + "\n" for a, b, c, d, y in cells))
    assert evaluated(tmp_path / "s", moved, "--warm-start", path, "--skip", 7) == evaluated(
        tmp_path / "t", table, "--warm-start", path, "--skip", 7
    )
    other = tmp_path / "other.csv"
    other.write_text(table.read_text().replace("height", "depth"))
    assert run("evaluate", other, "--warm-start", path) == (
        2, f"{other} has the feature 'depth' instead of 'height', which model file {path} takes",
    )  # fmt: skip


def test_skipped_rows_still_count_for_the_distribution_over_partitions(path: Path, table: Path, tmp_path: Path) -> None:
    """Row i belongs to partition i mod 3 whatever --skip leaves out, and each partition starts in the file's state."""
    lines = evaluated(tmp_path / "s", table, "--warm-start", path, "--skip", 40, "--partitions", 3)
    X, y = drifting(REST)
    for p in range(3):
        mine = np.arange(40, REST)[np.arange(40, REST) % 3 == p]
        expected = scores(model_file.load(path).model().champion, X[mine], y[mine])
        assert scores_in([lines[row - 40] for row in mine]) == expected.tobytes()


def test_evaluations_with_challengers_in_other_processes(path: Path, table: Path, forked_jobs: None) -> None:
    words = ["evaluate", table, "--warm-start", path, "--skip", TRAINED, "--learner", "arow", "--json"]
    results = []
    for more in ([], ["--jobs", "2"]):
        done = CliRunner().invoke(main, [*map(str, words), *more])
        assert done.exit_code == 0, done.stderr
        results.append([(r["learner"], r["rows"], r["accuracy"]) for r in json.loads(done.stdout)])
    assert results[0] == results[1]
    assert [name for name, *_ in results[0]] == [f"warm:{CHAMPION}", "arow"]
    alone = CliRunner().invoke(main, ["evaluate", str(table), "--skip", str(TRAINED), "--learner", "arow", "--json"])
    assert json.loads(alone.stdout)[0]["accuracy"] == results[0][1][2]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--skip", "300"), "--skip 300 leaves no row of TABLE, which has 300"),
        (("--skip", "5", "--protocol", "segments"), "--skip belongs to --protocol prequential, not segments"),
        (
            ("--warm-start", "FILE", "--protocol", "holdout"),
            "--warm-start belongs to --protocol prequential, not holdout",
        ),
        (
            ("--warm-start", "FILE", "--grid", "dfop:mu=0.1/0.2"),
            "--warm-start does not go with --grid, which sets what is learned and shown",
        ),
    ],
)
def test_impossible_evaluations_are_refused(path: Path, table: Path, options: tuple[str, ...], words: str) -> None:
    given = [path if one == "FILE" else one for one in options]
    assert run("evaluate", table, *given) == (2, words.replace("TABLE", str(table)))


def test_streams_that_do_not_fit_are_refused(path: Path, tmp_path: Path) -> None:
    assert run("evaluate", "sea", "--warm-start", path) == (2, f"sea has 3 features, model file {path} takes 4")
    assert run("evaluate", "friedman", "--warm-start", path) == (
        2, f"friedman is for regression, model file {path} for classification",
    )  # fmt: skip
    X, y = drifting(d=24)
    written(tmp_path / "led.driftway", perceptron(X, y))
    assert run("evaluate", "led", "--warm-start", tmp_path / "led.driftway") == (
        2, f"led has 10 classes, model file {tmp_path / 'led.driftway'} predicts 2",
    )  # fmt: skip
