"""`driftway train` on files: what it writes and prints, its errors, and a run that is killed and resumed."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from driftway.producers.streams import open_stream
from driftway.worker.state import model_file
from driftway.worker.wire.codec import encode_events
from driftway.worker.wire.columns import ListColumn
from driftway.worker.wire.events import Records
from tests.support import cli_runner
from tests.support.process import Driftway

ROWS = "sea:rows=3000,noise=0.1"
LONG = ("sea:rows=10000", "--algorithm", "ii:phi_max=400", "--save-interval", "0.02")
"""Seconds of work; the resume file exists after the first hundredths of a second."""


run = partial(cli_runner.run, "train")


def trained(*arguments: str, out: Path) -> tuple[dict[str, Any], model_file.ModelFile]:
    done = run(*arguments, "--out", str(out), "--json")
    assert done.exit_code == 0, done.output
    assert not Path(f"{out}.partial").exists()
    found: dict[str, Any] = json.loads(done.stdout)
    return found, model_file.load(out)


def rows_of(name: str) -> tuple[np.ndarray, np.ndarray]:
    blocks = list(open_stream(name, seed=1).blocks())
    return np.concatenate([block.X for block in blocks]), np.concatenate([block.y for block in blocks])


def mistakes(file: model_file.ModelFile, X: np.ndarray, y: np.ndarray) -> int:
    """Count the mistakes by the perceptron's formula on rows scaled by hand."""
    state = file.model().champion.state
    mean, deviation = state["scaled.mean"], state["scaled.deviation"]
    wrong = 0
    for x, label in zip(X.tolist(), y.tolist(), strict=True):
        z = [(v - m) / s if s else 0.0 for v, m, s in zip(x, mean.tolist(), deviation.tolist(), strict=True)] + [1.0]
        wrong += (sum(a * b for a, b in zip(state["weight"].tolist(), z, strict=True)) >= 0.0) != bool(label)
    return wrong


# What it makes.


def test_a_model_is_trained_scaled_and_reported(tmp_path: Path) -> None:
    X, y = rows_of(ROWS)
    found, file = trained(ROWS, "--limit", "2000", "--test-skip", "2000", out=tmp_path / "m.driftway")
    state = file.model().champion.state
    np.testing.assert_allclose(state["scaled.mean"], X[:2000].mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(state["scaled.deviation"], X[:2000].std(axis=0), rtol=1e-12)
    assert mistakes(file, X[:2000], y[:2000]) == round(found["empirical_error"] * 2000)
    assert mistakes(file, X[2000:], y[2000:]) == round(found["test_error"] * 1000)
    assert 0.0 < found["empirical_error"] < 0.2
    assert (found["rows"], found["features"], found["test_rows"], found["complete"]) == (2000, 3, 1000, True)
    assert (found["algorithm"], found["learner"]) == ("iii", "perceptron:ties=correct")
    assert found["digest"] == file.digest
    assert found["passes"] > 1
    assert found["seconds"] >= 0.0


def test_the_file_has_its_origin_and_starts_a_model(tmp_path: Path) -> None:
    found, file = trained(ROWS, "--skip", "10", "--limit", "500", "--seed", "4", out=tmp_path / "m.driftway")
    origin = file.origin
    assert origin is not None
    assert origin["source"] == {"stream": ROWS, "seed": 4, "label": "y", "labels": None, "from": 10, "to": 510}
    assert (origin["algorithm"], origin["learner"], origin["seed"]) == ("iii", "perceptron:ties=correct", 4)
    assert (origin["rows"], origin["complete"], origin["empirical_error"]) == (500, True, found["empirical_error"])
    assert origin["made_by"].startswith("driftway ")
    model, start = file.model(), file.model().champion.state.memory.copy()
    assert [spec.text for spec in model.settings.specs] == ["scaled:perceptron:ties=correct"]
    assert (model.champion.state.memory == start).all()
    values = encode_events(*rows_of("sea:rows=50"), 0)
    outputs = model.advance(Records(0, np.arange(50), ListColumn(values), ListColumn([None] * 50), [0] * 50))
    assert outputs.rows == 50


def test_quadratic_features_and_parameters_of_the_algorithm_apply(tmp_path: Path) -> None:
    linear, _ = trained("mixed:rows=1500", out=tmp_path / "l.driftway")
    found, file = trained(
        "mixed:rows=1500", "--features", "quadratic", "--algorithm", "ii:phi_max=7", out=tmp_path / "q.driftway"
    )
    assert found["learner"] == "quadratic_perceptron:ties=correct"
    assert found["report"]["parameters"]["phi_max"] == 7
    assert len(found["report"]["curve"]) == 7
    assert found["empirical_error"] < linear["empirical_error"]
    assert file.model().settings.specs[0].text == "scaled:quadratic_perceptron:ties=correct"


def test_any_binary_learner_can_be_trained(tmp_path: Path) -> None:
    found, file = trained(ROWS, "--learner", "pa1:C=0.5", "--algorithm", "i", out=tmp_path / "m.driftway")
    assert found["learner"] == "pa1:C=0.5"
    model = file.model().champion
    X, y = rows_of(ROWS)
    score = np.empty((len(X), 1))
    model.predict(X, score)
    assert ((score[:, 0] >= 0) != y).mean() == found["empirical_error"]


def test_the_same_options_give_the_same_bytes_and_another_seed_others(tmp_path: Path) -> None:
    files = [tmp_path / f"{i}.driftway" for i in range(3)]
    for file, seed in zip(files, ("1", "1", "2"), strict=True):
        trained("sea:rows=2000,noise=0.1,seed=5", "--seed", seed, out=file)
    first, again, other = (file.read_bytes() for file in files)
    assert first == again
    assert model_file.load(files[2]).saved.parts[0].tobytes() != model_file.load(files[0]).saved.parts[0].tobytes()
    assert other != first


def test_labels_names_and_left_out_rows_are_reported(tmp_path: Path) -> None:
    file = tmp_path / "shop.csv"
    lines = ["b,a,bought"] + [f"{i},{i % 7},{'yes' if i > 50 else 'no'}" for i in range(100)]
    lines += ["1,,yes", "2,3,", "4,5,"]
    file.write_text("\n".join(lines) + "\n")
    options = (str(file), "--label", "bought", "--labels", "no,yes", "--named")
    out = tmp_path / "m.driftway"
    done = run(*options, "--out", str(out))
    assert done.exit_code == 0, done.output
    assert done.stdout == ""
    printed = done.stderr.splitlines()
    assert printed[0].startswith(f"wrote {out}: iii with perceptron:ties=correct on 100 rows of 2 features")
    assert printed[1].startswith("empirical error ")
    assert printed[2:] == [
        "left out 2 rows without label",
        "left out 1 unusable row; the first, row 100: a is missing or infinite",
    ]
    model = model_file.load(out).model()
    assert model.settings.target.labels == ("no", "yes")
    assert model.schema is not None
    assert model.schema.names == ("a", "b")
    np.testing.assert_allclose(model.champion.state["scaled.mean"], [np.mean([i % 7 for i in range(100)]), 49.5])


def test_an_algorithm_stopped_by_its_own_limit_is_reported(tmp_path: Path) -> None:
    done = run(ROWS, "--algorithm", "i:max_passes=1", "--out", str(tmp_path / "m.driftway"))
    assert done.exit_code == 0
    assert "its guarantee does not hold" in done.stderr


def test_rows_of_another_stream_can_be_held_out(tmp_path: Path) -> None:
    found, file = trained(
        ROWS, "--test", "sea:rows=700", "--test-limit", "600", "--seed", "3", out=tmp_path / "m.driftway"
    )
    assert found["test_rows"] == 600
    assert file.origin is not None
    assert file.origin["test"]["source"]["stream"] == "sea:rows=700"


# What it refuses.


@pytest.mark.parametrize(
    ("arguments", "code", "sentence"),
    [
        ((), 2, "name what to learn from: a SOURCE, or a --topic"),
        ((ROWS, "--topic", "EVENTS"), 2, "name what to learn from: a SOURCE, or a --topic"),
        ((ROWS, "--partition", "0"), 2, "--partition belongs to --topic"),
        ((ROWS, "--from", "5"), 2, "--from belongs to --topic"),
        ((ROWS, "--format", "packed"), 2, "--format belongs to --topic"),
        (("--topic", "EVENTS", "--label", "bought"), 2, "--label belongs to a SOURCE"),
        (("--topic", "EVENTS", "--skip", "5"), 2, "--skip belongs to a SOURCE"),
        (("--topic", "EVENTS", "--named"), 2, "--named belongs to a SOURCE"),
        (("--topic", "EVENTS", "--test-limit", "5"), 2, "--test-skip and --test-limit with --topic need --test"),
        (("--topic", "EVENTS", "--from", "5", "--to", "5"), 2, "--from is not before --to"),
        (("--topic", "EVENTS", "--from", "soon"), 2, "--from soon: write an offset"),
        ((ROWS, "--algorithm", "iv"), 2, "--algorithm iv: no batch algorithm 'iv'; available: i, ii"),
        ((ROWS, "--algorithm", "ii:phi_max=0"), 2, "--algorithm ii:phi_max=0: phi_max must be >= 1"),
        ((ROWS, "--learner", "perceptorn"), 2, "did you mean 'perceptron'?"),
        ((ROWS, "--learner", "perceptron:eta=0"), 2, "--learner perceptron:eta=0: eta must be > 0"),
        ((ROWS, "--learner", "pa_regressor"), 2, "--learner pa_regressor: pa_regressor does not learn binary"),
        ((ROWS, "--learner", "arow", "--features", "quadratic"), 2, "--features quadratic is for the perceptron"),
        ((ROWS, "--labels", "a,b,c"), 2, "training takes two classes"),
        (("seaa",), 2, "there is no stream 'seaa'"),
        ((ROWS, "--test", "seaa"), 2, "there is no stream 'seaa'"),
        ((ROWS, "--test", "mixed"), 1, "mixed has 4 features, the training rows have 3"),
        ((ROWS, "--skip", "3000"), 1, "has 3,000 rows: none is left after the first 3000"),
        ((ROWS, "--resume"), 2, "there is nothing to resume"),
        ((ROWS, "--resume", "--force"), 2, "there is nothing to resume"),
        ((ROWS, "--learner", "majority_class"), 2, "majority_class ignores features"),
        ((ROWS, "--learner", "scaled:pa1"), 2, "already has its scaling"),
        (("waveform:rows=500",), 2, "is neither 0 nor 1: training takes two classes"),
    ],
)
def test_conflicting_options_are_refused_in_one_sentence(
    tmp_path: Path, arguments: tuple[str, ...], code: int, sentence: str
) -> None:
    done = run(*arguments, "--out", str(tmp_path / "m.driftway"))
    assert (done.exit_code, done.stdout) == (code, ""), done.output
    assert sentence in done.stderr
    assert done.stderr.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_an_existing_file_is_kept_unless_forced(tmp_path: Path) -> None:
    out = tmp_path / "m.driftway"
    out.write_bytes(b"precious")
    done = run(ROWS, "--out", str(out))
    assert done.exit_code == 2
    assert "already exists: --force overwrites it" in done.stderr
    assert out.read_bytes() == b"precious"
    assert run(ROWS, "--out", str(out), "--force").exit_code == 0
    assert model_file.load(out).origin is not None
    missing = tmp_path / "no" / "m.driftway"
    assert "there is no directory" in run(ROWS, "--out", str(missing)).stderr
    assert "it is a directory" in run(ROWS, "--out", str(tmp_path), "--force").stderr


# Killed, stopped, resumed.


def interrupted(out: Path, how: str) -> Driftway:
    """Return a run that was killed or terminated as soon as it had left a resume file."""
    with Driftway("train", *LONG, "--out", str(out)) as child:
        child.await_condition(lambda: Path(f"{out}.partial").exists(), "a resume file")
        if how == "kill":
            child.kill()
        else:
            child.terminate()
            assert child.wait() == 1
            assert f"{out}.partial holds the work so far: --resume continues it" in child.stderr
            assert child.stderr.count("\n") == 1
    assert not out.exists()
    return child


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    out = tmp_path_factory.mktemp("whole") / "m.driftway"
    trained(*LONG, out=out)
    return out.read_bytes()


@pytest.mark.parametrize("how", ["kill", "terminate"])
def test_a_killed_run_that_is_resumed_ends_with_the_same_bytes(tmp_path: Path, how: str, undisturbed: bytes) -> None:
    out = tmp_path / "m.driftway"
    interrupted(out, how)
    again = run(*LONG, "--out", str(out))
    assert again.exit_code == 2
    assert "holds an unfinished run: --resume continues it, --force starts over" in again.stderr
    other = run(*LONG, "--out", str(out), "--seed", "2", "--resume")
    assert other.exit_code == 2
    assert "was started with --seed 1, not 2" in other.stderr
    out.write_bytes(b"an older model")
    trained(*LONG, "--resume", "--force", out=out)
    assert out.read_bytes() == undisturbed


def test_rows_that_have_changed_since_are_detected(tmp_path: Path) -> None:
    out, file = tmp_path / "m.driftway", tmp_path / "rows.csv"
    X, y = rows_of(ROWS)
    lines = [",".join(map(repr, [*x, label])) for x, label in zip(X.tolist(), y.tolist(), strict=True)]
    file.write_text("\n".join(["a,b,c,y", *lines]))
    options = (str(file), "--algorithm", "ii:phi_max=1000", "--save-interval", "0.02", "--out", str(out))
    with Driftway("train", *options) as child:
        child.await_condition(lambda: Path(f"{out}.partial").exists(), "a resume file")
        child.kill()
    file.write_text("\n".join(["a,b,c,y", *reversed(lines)]))
    done = run(*options, "--resume")
    assert done.exit_code == 1
    assert "cannot resume: the saved batch procedure has problem" in done.stderr
