"""Names of classes that are whole numbers beyond 2^53, such as ids of campaigns: float64 would round them."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import driftway as dw
from driftway.cli import main
from driftway.producers.streams import open_events, open_stream
from driftway.worker.wire.codec import write_events, write_label
from driftway.worker.wire.events import Target
from driftway.worker.wire.json_tokens.text_values import as_number

LARGE = ["1372636858620000589", "18446744073709551617", "-9007199254740993", "100000000000000000000"]


@pytest.mark.parametrize("label", [*LARGE, "+9007199254740993", "007"])
def test_a_class_keeps_the_digits_of_its_name(label: str) -> None:
    target = Target(n_classes=2, labels=("5", label))
    word = str(int(label))
    assert target.class_json() == ["5", word]
    assert as_number(label) == int(label)
    for value in (int(label), float(label)):
        assert target.index(value) == 1.0
    indices, known = target.indices(np.array([float(label), 5.0, 6.0]))
    assert (indices[:2].tolist(), known.tolist()) == ([1.0, 0.0], [True, True, False])
    (event,) = write_events(np.ones((1, 1)), np.ones(1), 0, None, ("5", label)).to_list()
    for text in (event, write_label(0, 1.0, ("5", label))):
        assert target.index(json.loads(text or b"")["y"]) == 1.0
    if word != "100000000000000000000":
        assert word.encode() in (event or b"")


@pytest.mark.parametrize("label", LARGE)
@pytest.mark.parametrize("way", [(), ("--feature", "a")])
def test_evaluate_knows_the_class_that_was_named(tmp_path: Path, label: str, way: tuple[str, ...]) -> None:
    path, scores = tmp_path / "x.csv", tmp_path / "scores.jsonl"
    path.write_text("a,y\n" + f"3,{label}\n-3,5\n" * 20)
    words = "evaluate", str(path), "--learner", "pa1", "--labels", f"5,{label}", "--scores", str(scores), "--json", *way
    done = CliRunner().invoke(main, words)
    assert done.exit_code == 0, done.output
    (result,) = json.loads(done.stdout)
    assert (result["labelled"], result["rejected"]) == (40, 0)
    assert [json.loads(line)["y"] for line in scores.read_text().splitlines()[-2:]] == [1, 0]


@pytest.mark.parametrize("label", LARGE)
def test_files_have_the_class_that_was_named(tmp_path: Path, label: str) -> None:
    path = tmp_path / "x.csv"
    path.write_text(f"a,y\n3,{label}\n-3,5\n")
    target = Target(n_classes=2, labels=("5", label))
    assert next(open_stream(str(path), labels=target.labels).blocks()).y.tolist() == [1.0, 0.0]
    rows = [
        json.loads(row) for block in open_events(str(path), label="y", labels=target.labels).blocks() for row in block
    ]
    assert [target.index(row["y"]) for row in rows] == [1.0, 0.0]
    if int(label) < 2**64:
        assert rows[0]["y"] == int(label)


def test_a_model_file_has_the_class_that_was_named(tmp_path: Path) -> None:
    model = dw.create("pa1", classes=[int(LARGE[0]), 5])
    model.learn_one([3.0], int(LARGE[0]))
    model.save(tmp_path / "m")
    assert dw.load(tmp_path / "m").predict_one([3.0]) == int(LARGE[0])


def test_two_names_of_one_float64_are_refused(tmp_path: Path) -> None:
    (path := tmp_path / "x.csv").write_text("a,y\n1,9007199254740993\n2,9007199254740992\n")
    done = CliRunner().invoke(main, ["evaluate", str(path), "--labels", "9007199254740993,9007199254740992"])
    assert done.exit_code == 2
    assert "two of them are the same number once they are float64" in done.stderr
