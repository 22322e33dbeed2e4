"""A worker that starts from a trained model in the middle of a topic: even if killed, its scores equal those of
`driftway evaluate --warm-start --skip`, and the audit verifies them from the topics and the file."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from driftway.cli import main
from driftway.producers.streams import open_stream
from driftway.worker.state import model_file
from driftway.worker.stream.task.committing.checkpoint import Step
from driftway.worker.wire.codec import encode_events, read_json
from tests.support.audit import Scores, bits, placed_score
from tests.support.crash import CrashingDriftway
from tests.support.fault_scenario import SESSION_MS, FaultScenario
from tests.support.kafka import admin, await_until, create_topic, produce, read_all, unique
from tests.support.process import Finished, driftway
from tests.unit.worker.trained import CHAMPION, perceptron, written

pytestmark = pytest.mark.broker

TRAINED = 20_000
FIRST, ROWS = 25_000, 45_000
"""Rows on the topic when the worker starts, and in total."""
STREAM = f"hyperplane_rotating:rows={ROWS}"


def group_options(topic: str, group: str, kafka: str, *more: object) -> list[str]:
    return ["--input", topic, "--group", group, "--bootstrap", kafka, *map(str, more)]


def frequent_commits(*more: object) -> list[str]:
    """Options for frequent commits and snapshots and a short session timeout."""
    seen = "-X", f"session.timeout.ms={SESSION_MS}", "-X", "heartbeat.interval.ms=300"
    return ["--commit-interval", "0.05", "--snapshot-rows", "1000", *seen, *map(str, more)]


def emitted(kafka: str, prefix: str) -> tuple[Scores, set[str]]:
    """Scores by (partition, offset), each predicted once, and the names of their learners."""
    records = read_all(kafka, f"{prefix}.predictions")
    found = dict(placed_score(record.value or b"") for record in records)
    assert len(found) == len(records), "some offset is predicted twice"
    return found, {read_json(record.value or b"")["learner"] for record in records}


def different(got: Scores, wanted: Scores) -> list[tuple[int, int]]:
    assert got.keys() == wanted.keys()
    return sorted(place for place, score in wanted.items() if bits(score) != bits(got[place]))


def tamper(kafka: str, prefix: str, place: int) -> int:
    """Recreate the predictions topic with the last bit of one score changed; return that row's input offset."""
    name = f"{prefix}.predictions"
    records = read_all(kafka, name)
    client = admin(kafka)  # keep a reference: a collected client never answers
    client.delete_topics([name])[name].result(timeout=30)
    await_until(lambda: name not in client.list_topics(timeout=10).topics, 30, f"{name} gone")
    create_topic(kafka, name)
    values = [record.value or b"" for record in records]
    prediction = read_json(values[place])
    other = float(np.nextafter(prediction["score"], np.inf))
    values[place] = values[place].replace(f'"score":{prediction["score"]!r}'.encode(), f'"score":{other!r}'.encode())
    assert values[place] != records[place].value
    produce(kafka, name, values, keys=[record.key for record in records])
    return int(prediction["offset"])


def sentence(done: Finished, code: int) -> str:
    """Return the error message of a command that failed."""
    assert done.code == code, done
    assert "Traceback" not in done.stderr
    return done.stderr.splitlines()[-1].removeprefix("driftway: ")


def here(*arguments: object) -> Finished:
    """Run a command in this process, where kernels are already loaded."""
    done = CliRunner().invoke(main, [str(one) for one in arguments])
    return Finished(done.exit_code, done.stdout, done.stderr)


@pytest.mark.slow
def test_a_worker_warm_started_after_its_training_rows_survives_a_kill(kafka: str, topic: str, tmp_path: Path) -> None:
    blocks = list(open_stream(STREAM).blocks())
    X, y = np.concatenate([block.X for block in blocks]), np.concatenate([block.y for block in blocks])
    path = tmp_path / "trained.driftway"
    written(path, perceptron(X[:TRAINED], y[:TRAINED]))
    events = encode_events(X, y, 0)
    create_topic(kafka, topic)
    produce(kafka, topic, events[:FIRST])

    group = unique("group")
    begin = "--warm-start", path, "--start", TRAINED, "--learner", "arow", "--accuracy-every", 700
    work = ["worker", *group_options(topic, group, kafka, *begin), *frequent_commits()]
    fed = FIRST
    with CrashingDriftway(Step.FLUSHED, 6, *work) as victim:
        while victim.process.poll() is None and fed < ROWS:
            produce(kafka, topic, events[fed : fed + 200])
            fed += 200
        assert victim.wait() == -9, victim.summary()
    assert fed < ROWS, "killed before the end"
    produce(kafka, topic, events[fed:])
    survivors = len(read_all(kafka, f"{topic}.{group}.predictions"))
    assert 0 < survivors < fed - TRAINED, "rows that were not committed are predicted again"
    done = driftway(*work, "--stop-at-end")
    assert done.code == 0, done
    assert "warm start" in done.stderr

    out = tmp_path / "scores.jsonl"
    words = STREAM, "--warm-start", str(path), "--skip", str(TRAINED), "--scores", str(out)
    assert here("evaluate", *words).code == 0
    lines = [read_json(line) for line in out.read_bytes().splitlines()]
    got, names = emitted(kafka, f"{topic}.{group}")
    assert names == {f"warm:{CHAMPION}"}
    assert not different(got, {(0, line["row"]): line["score"] for line in lines})
    assert len(got) == ROWS - TRAINED

    audit = ["audit", *group_options(topic, group, kafka, *begin)]
    held = here(*audit)
    assert held.code == 0, held
    assert f"{ROWS - TRAINED:,} events have exactly one prediction" in held.stdout
    by_itself = here("audit", *group_options(topic, group, kafka, "--warm-start", path, "--start", TRAINED))
    assert by_itself.stdout == held.stdout, "the challenger and the monitoring are known from the topics"
    early = here("audit", *group_options(topic, group, kafka, "--warm-start", path, "--learner", "arow",
                                             "--start", TRAINED + 5))  # fmt: skip
    assert sentence(early, 1) == (
        f"{topic}/0@{TRAINED} has a prediction in {topic}.{group}.predictions/0: expected none before offset "
        f"{TRAINED + 5}, where the group is said to have started"
    )
    written(tmp_path / "other.driftway", perceptron(X[:1000], y[:1000]))
    other = model_file.load(tmp_path / "other.driftway").digest
    refuted = here("audit", *group_options(topic, group, kafka, "--warm-start", tmp_path / "other.driftway",
                                               "--start", TRAINED, "--learner", "arow"))  # fmt: skip
    assert f"this worker starts with --warm-start of model file {other}" in sentence(refuted, 1)
    offset = tamper(kafka, f"{topic}.{group}", 17_000)
    message = sentence(here(*audit), 1)
    assert f"the prediction of {topic}/0@{offset} differs: expected score" in message


def test_a_frozen_model_never_learns_and_resumes_only_with_its_own_file(kafka: str, tmp_path: Path) -> None:
    """Offsets outside the log are refused."""
    scenario = FaultScenario(kafka, partitions=1, rows=2000)
    rows = [read_json(event) for event in scenario.events[0]]
    X, y = np.array([row["x"] for row in rows]), np.array([row["y"] for row in rows], float)
    path = tmp_path / "m.driftway"
    learner = perceptron(X[:500], y[:500])
    written(path, learner)
    scenario.fill()

    def work(*more: object) -> Finished:
        options = group_options(scenario.topic, scenario.group, kafka, *more)
        return driftway("worker", *options, *frequent_commits("--stop-at-end"))

    frozen = "--warm-start", path, "--frozen", "--start", 500
    assert sentence(work("--warm-start", path, "--frozen", "--start", 2001), 4) == (
        f"cannot start {scenario.topic}/0 at offset 2001: the log holds 0 to 2000"
    )
    options = group_options(scenario.topic, scenario.group, kafka, *frozen)
    with CrashingDriftway(Step.OFFSETS_SENT, 1, "worker", *options, *frequent_commits("--stop-at-end")) as victim:
        assert victim.wait() == -9, victim.summary()
    assert work(*frozen).code == 0
    wanted = np.empty((1500, 1))
    learner.predict(X[500:], wanted)
    got, names = emitted(kafka, scenario.prefix)
    assert names == {f"frozen:{CHAMPION}"}
    assert not different(got, {(0, 500 + i): score for i, score in enumerate(wanted[:, 0].tolist())})
    assert here("audit", *options).code == 0
    assert here("audit", *(word for word in options if word != "--frozen")).code == 0, "the group knows that it is"

    assert sentence(work("--learner", CHAMPION), 4) == (
        f"cannot restore {scenario.topic}/0: the snapshot was made with --warm-start of model file "
        f"{model_file.load(path).digest} and --frozen, this worker starts without --warm-start; a group keeps what it "
        "started with; --on-restore-failure replay relearns the log from offset 0, reset starts with an empty learner "
        "at 2000"
    )
    produce(kafka, scenario.topic, scenario.events[0][:10])
    assert work(*frozen).code == 0, "with its own file it continues"
    assert len(emitted(kafka, scenario.prefix)[0]) == 1510


def test_a_first_event_that_does_not_fit_stops_the_worker(kafka: str, topic: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(8)
    X = rng.normal(size=(200, 4))
    y = (X[:, 0] > 0).astype(float)
    path = tmp_path / "m.driftway"
    written(path, perceptron(X, y))
    create_topic(kafka, topic)
    produce(kafka, topic, encode_events(X[:, :3], y, 0))
    options = group_options(topic, unique("group"), kafka, "--warm-start", path)
    assert sentence(driftway("worker", *options, *frequent_commits("--stop-at-end")), 1) == (
        f"the first usable event of partition 0 has 3 features, model file {path} takes 4"
    )


def test_an_exported_snapshot_continues_on_another_topic(kafka: str, tmp_path: Path) -> None:
    """With a feature map and the online standardiser, the result is as if one worker had processed all rows."""
    scenario = FaultScenario(kafka, partitions=1, rows=2000)
    learner = "--learner", "arow", "--map", "polynomial:degree=2"
    scenario.fill(0, 1000)
    options = group_options(scenario.topic, scenario.group, kafka, *learner)
    # A snapshot with every commit: on a slow machine there are several, and the last one is exported.
    assert driftway("worker", *options, *frequent_commits("--snapshot-rows", "1", "--stop-at-end")).code == 0
    path = tmp_path / "exported.driftway"
    exported = here(
        "snapshot", "export", *group_options(scenario.topic, scenario.group, kafka, "--partition", 0, "--out", path)
    )
    assert exported.code == 0, exported
    scenario.fill(1000)
    assert driftway("worker", *options, *frequent_commits("--stop-at-end")).code == 0
    wanted, _ = emitted(kafka, scenario.prefix)

    topic, group = create_topic(kafka, unique("events")), unique("group")
    produce(kafka, topic, scenario.events[0])
    begin = group_options(topic, group, kafka, "--warm-start", path, "--start", 1000)
    assert driftway("worker", *begin, *frequent_commits("--stop-at-end")).code == 0
    got, names = emitted(kafka, f"{topic}.{group}")
    assert names == {"warm:arow"}
    assert not different(got, {place: score for place, score in wanted.items() if place[1] >= 1000})
    assert here("audit", *begin).code == 0
