"""`driftway evaluate --plan` on a stream: the worker's own outputs, without Kafka."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from driftway.learners.spec import Spec
from driftway.producers.streams import open_stream
from driftway.worker.state.model import Model
from driftway.worker.state.plans.model_plan import ModelPlan, PlannedModel
from driftway.worker.wire.codec import encode_events
from tests.support.cli_runner import run
from tests.unit.worker.rows import model_settings, records

SEA, ROWS, EVERY = "sea:rows=900", 900, 100
PLANS: list[dict[str, Any]] = [
    {"plan": 1, "models": [{"learner": "pa1"}]},
    {"plan": 2, "models": [{"learner": "arow"}, {"learner": "pa1"}], "adopted_at": {"0": 120, "1": 130}},
    {"plan": 3, "models": [{"learner": "pa1"}, {"learner": "arow"}], "adopted_at": {"0": 270, "1": 280}},
]


evaluate = partial(run, "evaluate")


@pytest.fixture
def plans(tmp_path: Path) -> str:
    path = tmp_path / "plans.json"
    path.write_text(json.dumps(PLANS), encoding="utf-8")
    return str(path)


def expected(values: list[bytes], partition: int, own: int) -> tuple[list[Any], list[Any]]:
    """Predictions and points of a worker's model; its plans are taken at the places of partition `own`."""
    model = Model(model_settings("pa1", accuracy_every=EVERY, window=1000), partition, "g")
    predictions, points, start = list[Any](), list[Any](), 0
    for plan in [*PLANS[1:], None]:
        end = len(values) if plan is None else plan["adopted_at"][str(own)]
        outputs = model.advance(records(values, partition=partition).before(end).after(start))
        predictions += [json.loads(value or b"") | {"t": None} for value in outputs.predictions]
        points += [json.loads(value) | {"t": None} for _, value in outputs.points]
        start = end
        if plan is not None:
            made = tuple(PlannedModel(Spec.parse(one["learner"])) for one in plan["models"])
            model = model.followed_by(ModelPlan(plan["plan"], made))
    return predictions, points


def lines(path: Path) -> list[Any]:
    return [json.loads(line) | {"t": None} for line in path.read_bytes().splitlines()]


def test_rows_are_the_offsets_of_the_named_partition(tmp_path: Path, plans: str) -> None:
    files = "--scores", str(tmp_path / "scores"), "--points", str(tmp_path / "points")
    place = "--partition", "1", "--group", "g", "--accuracy-every", str(EVERY)
    done = evaluate(SEA, "--plan", plans, *place, *files, "--json")
    assert done.exit_code == 0, done.output
    block = list(open_stream(SEA, seed=1).blocks())
    values = [value for one in block for value in encode_events(one.X, one.y, 0)]
    values = [json.dumps(json.loads(value) | {"id": i}).encode() for i, value in enumerate(values)]
    predictions, points = expected(values, 1, 1)
    assert lines(tmp_path / "scores") == predictions
    assert lines(tmp_path / "points") == points
    emitted, champion, challenger = json.loads(done.stdout)
    assert (emitted["learner"], emitted["champions"]) == ("emitted", ["pa1", "arow", "pa1"])
    assert emitted["accuracy"] == sum(one["prediction"] == one["y"] for one in predictions) / ROWS
    assert (champion["learner"], challenger["learner"], champion["plan"]) == ("pa1", "arow", 3)
    assert challenger["labels"] == ROWS - 130


def test_a_relearned_model_equals_one_that_was_there_from_the_start(tmp_path: Path) -> None:
    scores, path = tmp_path / "scores", tmp_path / "plans.json"
    joined = {
        "plan": 2,
        "models": [{"learner": "arow", "relearned": True}, {"learner": "pa1"}],
        "adopted_at": {"0": 400},
    }
    path.write_text(json.dumps([PLANS[0], joined]), encoding="utf-8")
    done = evaluate(SEA, "--plan", str(path), "--partition", "0", "--scores", str(scores))
    assert done.exit_code == 0, done.output
    values = [value for one in open_stream(SEA, seed=1).blocks() for value in encode_events(one.X, one.y, 0)]
    always = Model(model_settings("arow"), 0).advance(records(values, partition=0)).predictions.to_list()
    want = [json.loads(value)["score"] for value in always]
    assert [one["score"] for one in lines(scores)][400:] == want[400:]


def test_a_stream_is_split_over_partitions_as_by_replay(tmp_path: Path, plans: str) -> None:
    scores = tmp_path / "scores"
    more = "--partitions", "2", "--group", "g", "--accuracy-every", str(EVERY), "--scores", str(scores)
    done = evaluate(SEA, "--plan", plans, *more)
    assert done.exit_code == 0, done.output
    block = list(open_stream(SEA, seed=1).blocks())
    values = [value for one in block for value in encode_events(one.X, one.y, 0)]
    values = [json.dumps(json.loads(value) | {"id": i}).encode() for i, value in enumerate(values)]
    for partition in range(2):
        found = [one for one in lines(scores) if one["partition"] == partition]
        assert found == expected(values[partition::2], partition, partition)[0]


def test_events_of_a_file_are_read_up_to_the_limit(tmp_path: Path, plans: str) -> None:
    """With a schema the events are read as they stand in the file; a bad one keeps its offset."""
    rows, scores = tmp_path / "rows.jsonl", tmp_path / "scores"
    block = next(iter(open_stream(SEA, seed=1).blocks()))
    wanted = [
        {"a": x[0], "b": x[1], "bought": bool(y)} for x, y in zip(block.X.tolist(), block.y.tolist(), strict=True)
    ]
    wanted[5] = {"a": 1.0}
    rows.write_text("\n".join(map(json.dumps, wanted)), encoding="utf-8")
    schema = "--feature", "a", "--feature", "b", "--label", "bought", "--labels", "false,true"
    more = "--plan", plans, "--partition", "0", "--limit", "300", "--scores", str(scores), "--json"
    done = evaluate(str(rows), *schema, *more)
    assert done.exit_code == 0, done.output
    found = lines(scores)
    assert [one["offset"] for one in found] == [i for i in range(300) if i != 5]
    assert {one["offset"] for one in found if one.get("plan") == 2} == set(range(120, 270))
    row = json.loads(done.stdout)[0]
    assert (row["rows"], row["rejected"]) == (299, 1)


def test_a_plan_beyond_the_end_is_reported(plans: str) -> None:
    done = evaluate(SEA, "--plan", plans, "--partition", "0", "--limit", "200")
    assert done.exit_code == 0, done.output
    assert "partition 0 ends at 200, before it adopts plan 3 at 270" in done.stderr
    assert "emitted: pa1, arow" in done.stdout


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((SEA, "--plan", "PLANS"), "partitions 0, 1: say with --partition"),
        (("--plan", "PLANS"), "name one STREAM"),
        ((SEA, SEA, "--plan", "PLANS"), "name one STREAM"),
        ((SEA, "--plan", "PLANS", "--learner", "pa1"), "--learner does not go with --plan"),
        ((SEA, "--plan", "PLANS", "--protocol", "segments"), "--protocol does not go with --plan"),
        ((SEA, "--plan", "PLANS", "--from", "7"), "--from does not go with --plan"),
        ((SEA, "--plan", "PLANS", "--partition", "0", "--partitions", "2"), "leave --partitions out"),
        ((SEA, "--plan", "PLANS", "--partition", "0", "--task", "regression"), "pa1"),
        ((SEA, "--plan", "none.json"), "cannot read none.json"),
        ((SEA, "--plan", "PLANS", "--partition", "0", "--scores", "none/s"), "cannot write none/s"),
        ((SEA, "--points", "p"), "--points needs --plan"),
        ((SEA, "--group", "g"), "--group needs --topic or --plan"),
        ((SEA, "--topic", "EVENTS"), "leave one of them out"),
        (("--topic", "EVENTS"), "name the learners"),
        (("--topic", "EVENTS", "--group", "g", "--learner", "pa1", "--limit", "5"), "--limit does not go with --topic"),
        (("--topic", "E", "--group", "g", "--learner", "pa1", "--scores", "s"), "--scores does not go with --topic"),
    ],
)
def test_conflicting_options_are_refused_in_one_sentence(plans: str, words: tuple[str, ...], said: str) -> None:
    done = evaluate(*(plans if word == "PLANS" else word for word in words))
    assert done.exit_code == 2, done.output
    assert said in done.stderr
    assert done.stderr.count("\n") == 1
