"""`driftway train --topic`: offsets read, options refused, and a log that grows before a resume."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result
from confluent_kafka import Producer, TopicPartition

from driftway.cli import main
from driftway.producers.streams import open_stream
from driftway.worker.errors import Failure, no_topic
from driftway.worker.evaluation.training.topic import TopicPart, TopicRows
from driftway.worker.kafka.client_config import NATIVE, PYTHON, quiet
from driftway.worker.state import model_file
from driftway.worker.wire import packed
from driftway.worker.wire.codec import encode_events
from driftway.worker.wire.events import Target
from tests.support.kafka import END_SECONDS, admin, create_topic, produce
from tests.support.process import Driftway
from tests.support.selection import slow_but

pytestmark = pytest.mark.broker

SECOND = 1000
ROWS = 600


@pytest.fixture(scope="module")
def rows() -> tuple[np.ndarray, np.ndarray]:
    block = next(iter(open_stream("sea:rows=600,noise=0.1").blocks()))
    return block.X, block.y


def produce_at(kafka: str, topic: str, values: list[bytes]) -> None:
    """Produce to partition 0, with timestamps one second apart from 1970 on."""
    producer = Producer(quiet({"bootstrap.servers": kafka}))
    for i, value in enumerate(values):
        producer.produce(topic, value, partition=0, timestamp=max(1, i * SECOND))
    assert producer.flush(END_SECONDS) == 0


def delete_before(kafka: str, topic: str, offset: int) -> None:
    client = admin(kafka)  # keep a reference: a collected client never answers
    for future in client.delete_records([TopicPartition(topic, 0, offset)]).values():
        future.result(timeout=END_SECONDS)


def run(kafka: str, topic: str, out: Path, *options: str) -> Result:
    arguments = ["train", "--topic", topic, "--bootstrap", kafka, "--out", str(out), "--json", *options]
    return CliRunner(env={"DRIFTWAY_DATA": None}).invoke(main, arguments)


def trained(kafka: str, topic: str, out: Path, *options: str) -> tuple[dict[str, Any], bytes]:
    """The JSON report, and the champion's state."""
    done = run(kafka, topic, out, "--force", *options)
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout), model_file.load(out).model().champion.state.memory.tobytes()


def from_a_file(folder: Path, X: np.ndarray, y: np.ndarray) -> bytes:
    """State after training on the same rows from a file."""
    file, out = folder / "rows.csv", folder / "file.driftway"
    lines = [",".join(map(repr, [*x, label])) for x, label in zip(X.tolist(), y.tolist(), strict=True)]
    file.write_text("\n".join(["a,b,c,y", *lines]))
    done = CliRunner().invoke(main, ["train", str(file), "--out", str(out), "--force"])
    assert done.exit_code == 0, done.output
    return model_file.load(out).model().champion.state.memory.tobytes()


def ranges(found: dict[str, Any]) -> list[tuple[int, int, int]]:
    return [(one["partition"], one["from"], one["to"]) for one in found["source"]["ranges"]]


@pytest.mark.parametrize("client", slow_but([NATIVE], [PYTHON, NATIVE]))
def test_offsets_select_rows_of_each_partition_in_order(
    kafka: str, topic: str, tmp_path: Path, rows: tuple[np.ndarray, np.ndarray], client: str
) -> None:
    X, y = rows
    create_topic(kafka, topic, 2)
    values = encode_events(X, y, 0)
    values[150] = b'{"x": [1, 2, 3]}'
    values[160:162] = [b"nonsense", b'{"x": [1, 2], "y": 1}']
    produce(kafka, topic, values[:300], partition=1)
    produce(kafka, topic, values[300:], partition=0)
    out = tmp_path / "m.driftway"

    found, state = trained(kafka, topic, out, "--client", client, "--partition", "1", "--from", "100", "--to", "200")
    assert ranges(found) == [(1, 100, 200)]
    assert (found["rows"], found["unlabelled"], found["rejected"]) == (97, 1, 2)
    assert found["first_rejected"] == f"{topic}/1@160: not JSON"
    keep = np.array([i for i in range(100, 200) if i not in (150, 160, 161)])
    assert state == from_a_file(tmp_path, X[keep], y[keep])
    origin = model_file.load(out).origin
    assert origin is not None
    assert origin["source"] == found["source"]

    found, state = trained(kafka, topic, out, "--client", client)
    assert ranges(found) == [(0, 0, 300), (1, 0, 300)]
    keep = np.array([*range(300, 600), *(i for i in range(300) if i not in (150, 160, 161))])
    assert state == from_a_file(tmp_path, X[keep], y[keep])


def test_times_select_offsets(kafka: str, topic: str, tmp_path: Path, rows: tuple[np.ndarray, np.ndarray]) -> None:
    X, y = rows
    create_topic(kafka, topic, retention_ms="-1")
    produce_at(kafka, topic, encode_events(X, y, 0))
    out = tmp_path / "m.driftway"
    found, state = trained(kafka, topic, out, "--from", "1970-01-01T00:01:39.5Z", "--to", "1970-01-01T01:06:40+01:00")
    assert ranges(found) == [(0, 100, 400)]
    assert state == from_a_file(tmp_path, X[100:400], y[100:400])
    assert ranges(trained(kafka, topic, out, "--from", "1970-01-01T00:05:00", "--to", "2026-01-01")[0]) == [
        (0, 300, 600)
    ]
    done = run(kafka, topic, tmp_path / "none.driftway", "--from", "2026-01-01")
    assert (done.exit_code, done.stderr) == (
        1,
        f"driftway: there is nothing to read: {topic}, partition 0 from 600 to 600\n",
    )


@pytest.mark.parametrize("client", slow_but([NATIVE], [PYTHON, NATIVE]))
def test_training_reads_packed_events_and_skips_aborted_transactions(
    kafka: str, topic: str, tmp_path: Path, rows: tuple[np.ndarray, np.ndarray], client: str
) -> None:
    X, y = rows
    create_topic(kafka, topic)
    values = packed.encode_events(X, y)
    producer = Producer(quiet({"bootstrap.servers": kafka, "transactional.id": topic}))
    producer.init_transactions(END_SECONDS)
    for finish, end in ((producer.commit_transaction, 200), (producer.abort_transaction, 100)):
        producer.begin_transaction()
        for value in values[:end]:
            producer.produce(topic, value, partition=0)
        assert producer.flush(END_SECONDS) == 0
        finish()
    out = tmp_path / "m.driftway"
    # 200 rows, a marker, 100 aborted rows, a marker: the committed rows end at 200, the log at 302.
    found, state = trained(kafka, topic, out, "--client", client, "--format", "packed")
    assert (ranges(found), found["rows"]) == ([(0, 0, 302)], 200)
    assert state == from_a_file(tmp_path, X[:200], y[:200])
    assert trained(kafka, topic, out, "--client", client, "--format", "packed", "--to", "250")[0]["rows"] == 200


def test_rows_that_the_log_does_not_have_are_refused(
    kafka: str, topic: str, tmp_path: Path, rows: tuple[np.ndarray, np.ndarray]
) -> None:
    X, _ = rows
    out = tmp_path / "m.driftway"

    def refusal(code: int, *options: str, of: str = topic) -> str:
        done = run(kafka, of, out, *options)
        assert (done.exit_code, done.stdout) == (code, ""), done.output
        assert done.stderr.count("\n") == 1
        assert not out.exists()
        return done.stderr.removeprefix("driftway: ").rstrip()

    assert refusal(2) == no_topic(topic)
    create_topic(kafka, topic)
    assert refusal(1) == f"there is nothing to read: {topic}, partition 0 from 0 to 0"
    assert refusal(2, "--partition", "1") == f"topic {topic} has no partition 1, only 0 to 0"
    produce(kafka, topic, encode_events(X, np.full(ROWS, np.nan), 0))
    assert refusal(1, "--to", "601") == f"{topic}/0 ends at offset 600: there is no offset 600 yet"
    assert refusal(1, "--from", "601") == f"{topic}/0 ends at offset 600: there is no offset 600 yet"
    assert refusal(1).startswith(f"none of the 600 rows of {topic} could be used: 600 without a label; the first, ")
    assert refusal(1, "--format", "packed").startswith(
        f"none of the 600 rows of {topic} could be used: 600 rejected; the first, "
    )
    delete_before(kafka, topic, 50)
    lost = f"retention has passed offset 10 of {topic}/0, where the range begins: the log begins at 50"
    assert refusal(1, "--from", "10") == lost
    assert refusal(1, "--to", "10") == f"retention has passed offset 9 of {topic}/0: the log begins at 50"
    assert refusal(1, "--from", "50").startswith("none of the 550 rows")


def test_rows_deleted_while_reading_are_detected(kafka: str, topic: str, rows: tuple[np.ndarray, np.ndarray]) -> None:
    create_topic(kafka, topic)
    produce(kafka, topic, encode_events(*rows, 0))
    source = TopicRows(kafka, {}, TopicPart(topic), Target())
    blocks = source.blocks()
    next(blocks)
    delete_before(kafka, topic, 20)
    with pytest.raises(Failure, match=f"retention has passed offset 0 of {topic}/0, where the range begins"):
        list(blocks)


def test_a_killed_training_resumes_with_its_original_offsets(
    kafka: str, topic: str, tmp_path: Path, rows: tuple[np.ndarray, np.ndarray]
) -> None:
    X, y = rows
    create_topic(kafka, topic)
    produce(kafka, topic, encode_events(X, y, 0))
    out, whole = tmp_path / "m.driftway", tmp_path / "whole.driftway"
    long = ("--algorithm", "ii:phi_max=3000", "--save-interval", "0.02")
    with Driftway("train", "--topic", topic, "--bootstrap", kafka, "--out", str(out), *long) as child:
        child.await_condition(lambda: Path(f"{out}.partial").exists(), "a resume file")
        child.kill()
    produce(kafka, topic, encode_events(X, 1.0 - y, 0))
    assert run(kafka, topic, out, *long, "--resume").exit_code == 0
    assert run(kafka, topic, whole, *long, "--to", str(ROWS)).exit_code == 0
    assert out.read_bytes() == whole.read_bytes()
