"""`driftway worker --coverage` on a real Kafka, compared with `driftway evaluate --coverage`, and its readers."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.kafka import read_all, unique
from tests.support.process import driftway

pytestmark = pytest.mark.broker

FIELDS = (
    *("coverage", "window_coverage", "worst_window_coverage"),
    *("set_size", "window_set_size", "empty_sets", "sets_of_one"),
)
ROWS, MORE = 2000, 300


def test_coverage_of_a_group_equals_evaluate_and_changing_its_level_needs_a_plan(kafka: str, tmp_path: Path) -> None:
    topic = group = unique("covered")
    place = "--input", topic, "--group", group, "--bootstrap", kafka
    learners = "--learner", "pa1", "--learner", "arow"
    work = "worker", *place, *learners, "--emit", "all", "--stop-at-end", "--coverage"
    sent = driftway("replay", f"sea:rows={ROWS}", "--to", topic, "--bootstrap", kafka)
    assert sent.code == 0, sent.stderr
    done = driftway(*work, "0.9")
    assert done.code == 0, done.stderr

    offline = driftway("evaluate", f"sea:rows={ROWS}", *learners, "--coverage", "0.9", "--json")
    points = [json.loads(one.value) for one in read_all(kafka, f"{topic}.{group}.accuracy")]
    last = [{name: point[name] for name in FIELDS} for point in points if point["offset"] == ROWS - 1]
    assert last == [{name: row[name] for name in FIELDS} for row in json.loads(offline.stdout)]
    written = [json.loads(one.value) for one in read_all(kafka, f"{topic}.{group}.predictions")]
    challengers = [json.loads(one.value) for one in read_all(kafka, f"{topic}.{group}.challengers")]
    assert all({"probability", "set"} <= set(one) for one in (*written, *challengers))

    explained = driftway("explain", *place, "--partition", "0", "--offset", "1500", "--json")
    assert explained.code == 0, explained.stderr
    found = json.loads(explained.stdout)
    assert found["emitted"]["verdict"] == "same"
    assert (found["probability"], found["set"]) == (written[1500]["probability"], written[1500]["set"])
    watched = driftway("watch", "--input", topic, "--bootstrap", kafka, "--once", "--json")
    champion, challenger = json.loads(watched.stdout)
    assert champion["newest_prediction"] == {name: written[-1][name] for name in ("prediction", "probability", "set")}
    assert "newest_prediction" not in challenger
    assert champion["window_coverage"] == last[0]["window_coverage"]

    other = driftway(*work, "0.8")
    assert other.code != 0
    assert "coverage 0.9, this worker has 0.8; --plan from-options" in other.stderr
    sent = driftway("replay", f"sea:rows={MORE},seed=5", "--to", topic, "--bootstrap", kafka)
    assert sent.code == 0, sent.stderr
    planned = driftway(*work, "0.8", "--plan", "from-options")
    assert planned.code == 0, planned.stderr
    values = [one.value or b"" for one in read_all(kafka, f"{topic}.{group}.predictions")]
    assert len(values) == ROWS + MORE
    assert all(json.loads(value)["set"] == [0, 1] for value in values[ROWS : ROWS + 4]), "no labels at this level yet"
    audit = driftway("audit", *place)  # the group's models are read from its topics
    assert audit.code == 0, audit.stderr

    plans, scores = tmp_path / "plans.json", tmp_path / "scores.jsonl"
    plans.write_text(driftway("models", "history", *place, "--json").stdout)
    assert json.loads(plans.read_text())[1]["coverage"] == 0.8
    read = "--topic", topic, "--group", group, "--bootstrap", kafka
    repeated = driftway("evaluate", *read, "--plan", str(plans), "--scores", str(scores))
    assert repeated.code == 0, repeated.stderr
    assert scores.read_bytes().splitlines() == values
