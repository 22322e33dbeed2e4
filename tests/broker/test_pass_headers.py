"""Headers of events on a real Kafka: read by either client, copied to predictions, verified by the audit."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from typing import Any

import numpy as np
import pytest

from driftway.worker.kafka import client_factory
from driftway.worker.kafka.client_config import NATIVE, PYTHON, quiet
from driftway.worker.kafka.interface import OffsetRange
from driftway.worker.kafka.librdkafka.headers import HeaderProducer
from driftway.worker.kafka.librdkafka.library import COPY
from driftway.worker.kafka.librdkafka.message import LENGTH, PAYLOAD, WORDS
from driftway.worker.kafka.librdkafka.sender import LibrdkafkaSender
from driftway.worker.state.changelog.commit_record import CommitRecord
from driftway.worker.state.model import Model
from driftway.worker.wire.columns import ListColumn
from driftway.worker.wire.headers import Header, Headers, LazyHeaders, passed_headers
from tests.broker.test_log_decides import SECONDS, Forger, settings_of
from tests.broker.test_policies import EVERY_COMMIT, last_commit
from tests.support.audit import placed_score
from tests.support.fault_scenario import LEARNER, FaultScenario
from tests.support.kafka import Record, create_topic, empty, produce, read_all, unique
from tests.support.process import Finished, driftway
from tests.support.selection import slow_but, slow_but_each_once
from tests.unit.worker.rows import records

pytestmark = pytest.mark.broker

ROWS = 300
WAYS = NATIVE, PYTHON
EXOTIC: list[tuple[Header, ...]] = [
    (("a", b"1"), ("a", None), ("é", b"\0\xff"), ("b", b""), ("", b"nameless")),
    (),
    (("a", b"x" * 3000),),
    tuple((str(i), b"%d" % i) for i in range(40)),
]


def headers_of_event(offset: int) -> list[Header]:
    """Headers of an event; some have the names of headers of rejections."""
    if offset % 4 == 0:
        return []
    return [("trace", b"%d" % offset), ("other", None), ("trace", b""), ("offset", b"junk"), ("partition", b"0")]


HEADERS: Headers = [tuple(headers_of_event(offset)) for offset in range(ROWS)]
BAD = 100


def new_scenario(kafka: str) -> FaultScenario:
    """A scenario with one unusable event, whose headers are not copied."""
    scenario = FaultScenario(kafka, 1, ROWS)
    scenario.events[0][BAD] = b"not JSON"
    return scenario


def fill_with_headers(scenario: FaultScenario, first: int = 0, last: int = ROWS) -> None:
    produce(
        scenario.bootstrap,
        scenario.topic,
        scenario.events[0][first:last],
        headers=list(map(headers_of_event, range(first, last))),
    )


def run_worker(scenario: FaultScenario, *more: str) -> str:
    done = driftway(*scenario.worker("--stop-at-end", *more))
    assert done.code == 0, done
    return done.stderr


def audit(scenario: FaultScenario, *more: str) -> Finished:
    """Run the audit with both clients, which must agree."""
    options = (
        *scenario.options,
        "--learner",
        LEARNER,
    )
    done, other = (driftway("audit", *options, *more, "--client", way) for way in WAYS)
    assert done == other
    assert "Traceback" not in done.stderr
    return done


def predictions(scenario: FaultScenario) -> list[Record]:
    return read_all(scenario.bootstrap, f"{scenario.prefix}.predictions")


def copied_headers(scenario: FaultScenario) -> dict[int, list[Header]]:
    """Input offset -> headers of its one prediction."""
    found = [(placed_score(record.value or b"")[0][1], record.headers) for record in predictions(scenario)]
    assert len(dict(found)) == len(found)
    return dict(found)


def expected(*names: str, among: Sequence[int] = range(ROWS)) -> dict[int, list[Header]]:
    wanted = passed_headers(HEADERS, names) or ()
    return {offset: list(wanted[offset]) for offset in among if offset != BAD}


@pytest.mark.parametrize(("writer", "reader"), slow_but_each_once(WAYS, WAYS[::-1]))
def test_each_client_reads_headers_that_the_other_has_written(kafka: str, topic: str, writer: str, reader: str) -> None:
    """Headers are equal byte for byte; records with headers count in the offset ranges like all others."""
    create_topic(kafka, topic)
    sender = client_factory.make_sender(writer, {"bootstrap.servers": kafka, "linger.ms": 50}, 0, every_report=False)
    sender.load_metadata(topic, SECONDS)
    values, keys = ListColumn([b"v", None, b"", b"w"]), ListColumn([None, b"", b"k", None])
    sender.send(topic, values, keys)
    sender.send(topic, values, keys, EXOTIC)
    sender.send_one(topic, b"one", b"key")
    assert sender.flush(SECONDS) == 0
    assert sender.ranges({}) == {topic: OffsetRange(0, 8, 9)}
    for asked in (True, False):
        properties = quiet({"bootstrap.servers": kafka, "group.id": unique("g"), "enable.partition.eof": True})
        with closing(client_factory.make_fetcher(reader, properties, topic, asked)) as fetcher:
            fetcher.assign({0: 0})
            found: list[tuple[Any, ...]] = []
            while len(found) < 9:
                for part in fetcher.poll(100, 5.0).records:
                    assert isinstance(part.headers, LazyHeaders) is not asked
                    found += zip(part.offsets.tolist(), part.values, part.keys, part.headers or (), strict=True)
        headers = [*[()] * 4, *EXOTIC, ()]
        assert found == list(zip(range(9), [*values, *values, b"one"], [*keys, *keys, b"key"], headers, strict=True))


@pytest.mark.parametrize("reader", WAYS)
def test_a_header_name_that_is_not_text_drops_all_headers_of_the_record(kafka: str, topic: str, reader: str) -> None:
    """The Python client then fails to read any header; no worker may stop, and both clients must see the same."""
    create_topic(kafka, topic)
    sender = client_factory.make_sender(NATIVE, {"bootstrap.servers": kafka}, 0, every_report=False)
    assert isinstance(sender, LibrdkafkaSender)
    sender.load_metadata(topic, SECONDS)
    rows, text, names = np.zeros((1, WORDS), np.int64), *(np.frombuffer(b, np.uint8) for b in (b"value", b"\xff\xfe\0"))
    rows[0, [PAYLOAD, LENGTH]] = text.ctypes.data, len(text)
    broken = HeaderProducer((sender._handle.topic(topic), 0, COPY), rows, [(("a", b"1"), ("b", b"2"))])
    broken._pieces[-1, 1] = names.ctypes.data
    broken.produce(sender._library, sender._handle.address)
    sender.send(topic, ListColumn([b"next"]), ListColumn([None]), [(("a", b"1"),)])
    assert sender.flush(SECONDS) == 0
    properties = quiet({"bootstrap.servers": kafka, "group.id": unique("g")})
    with closing(client_factory.make_fetcher(reader, properties, topic, headers=True)) as fetcher:
        fetcher.assign({0: 0})
        found: list[Any] = []
        while len(found) < 2:
            for part in fetcher.poll(100, 5.0).records:
                found += zip(part.values, part.headers or (), strict=True)
    assert found == [(b"value", ()), (b"next", (("a", b"1"),))]


@pytest.mark.parametrize("guarantee", slow_but(["exactly-once"], ["exactly-once", "at-least-once"]))
@pytest.mark.parametrize("client", slow_but(["native"], WAYS))
def test_predictions_have_the_requested_headers(kafka: str, client: str, guarantee: str) -> None:
    scenario = new_scenario(kafka)
    fill_with_headers(scenario)
    options = ("--client", client, "--guarantee", guarantee)
    run_worker(scenario, *options, "--pass-headers", "trace,other")
    assert copied_headers(scenario) == expected("trace", "other")
    (bad,) = read_all(kafka, f"{scenario.prefix}.rejected")
    assert [name for name, _ in bad.headers] == ["reason", "topic", "partition", "offset", "timestamp", "headers"]
    assert audit(scenario, "--pass-headers", "trace, other").code == 0
    assert audit(scenario).code == 0, "a worker without the option ignores headers"
    done = audit(scenario, "--pass-headers", "*")
    assert done.code == 1
    assert done.stderr.endswith("EVENTS/0@1 differs: expected the header ('offset', b'junk'), found none\n".replace(
        "EVENTS", scenario.topic)), done  # fmt: skip


def test_an_audit_reports_a_changed_header(kafka: str) -> None:
    scenario = new_scenario(kafka)
    fill_with_headers(scenario)
    run_worker(scenario, "--pass-headers", "*", "--output-format", "packed")
    assert copied_headers(scenario) == expected("*")
    assert audit(scenario, "--pass-headers", "*").code == 0
    found = predictions(scenario)
    empty(kafka, f"{scenario.prefix}.predictions", 1)
    place = 201
    found[place].headers[2] = "trace", None
    keys, headers = [record.key for record in found], [record.headers for record in found]
    produce(kafka, f"{scenario.prefix}.predictions", [record.value for record in found], keys=keys, headers=headers)
    done = audit(scenario, "--pass-headers", "*")
    assert done.code == 1
    assert (
        f".predictions/0@{place}: the prediction of {scenario.topic}/0@{place + 1} differs: "
        "expected the header ('trace', b''), found ('trace', None)"
    ) in done.stderr


def test_a_group_may_change_the_requested_headers_at_any_start(kafka: str) -> None:
    scenario, half = new_scenario(kafka), ROWS // 2
    fill_with_headers(scenario, 0, half)
    run_worker(scenario, "--pass-headers", "trace")
    fill_with_headers(scenario, half)
    run_worker(scenario, "--client", PYTHON)
    wanted = expected("trace", among=range(half)) | expected(among=range(half, ROWS))
    assert copied_headers(scenario) == wanted
    assert audit(scenario).code == 0


@pytest.mark.parametrize("names", slow_but(["trace"], ["*", "trace"]))
def test_missing_predictions_are_written_again_with_their_headers(kafka: str, names: str) -> None:
    """Half of a commit is visible, with headers like a rejection's; a changed option applies from now on."""
    scenario = new_scenario(kafka)
    fill_with_headers(scenario, 0, 120)
    run_worker(scenario, "--pass-headers", "*", *EVERY_COMMIT)
    fill_with_headers(scenario, 120, 220)
    model, topic = Model(settings_of(scenario).model, 0, scenario.group), f"{scenario.prefix}.predictions"
    model.advance(records(scenario.events[0][:120], partition=0), emit=False)
    there, missing = (
        model.advance(records(scenario.events[0][first:last], first, 0)) for first, last in ((120, 150), (150, 200))
    )
    seen = Forger(scenario)
    for offset, value in zip(there.offsets.tolist(), there.predictions, strict=True):
        seen.producer.produce(topic, value, None, 0, headers=list(HEADERS[offset]))
    assert seen.producer.flush(SECONDS) == 0
    seen.producer.commit_transaction(SECONDS)
    unseen = Forger(scenario)
    unseen.write(topic, list(missing.predictions))
    last = unseen.flush()[topic].last
    unseen.abort()
    first = last - 81  # 30 predictions, their commit marker, and 50 that are aborted
    Forger(scenario).commit(CommitRecord(200, 120, last_commit(scenario)[1], {topic: OffsetRange(first, last, 80)}))
    fill_with_headers(scenario, 220)
    log = run_worker(scenario, "--pass-headers", names)
    assert "writing the missing outputs again" in log
    wanted = expected("*", among=range(150)) | expected(names, among=range(150, ROWS))
    assert copied_headers(scenario) == wanted
    assert audit(scenario).code == 0
    assert audit(scenario, "--pass-headers", names).code == (0 if names == "*" else 1)


def test_values_and_keys_are_the_same_with_and_without_headers(kafka: str) -> None:
    scenario, other = new_scenario(kafka), unique("plain")
    fill_with_headers(scenario)
    run_worker(scenario, "--pass-headers", "*")
    run_worker(scenario, "--group", other)
    plain = read_all(kafka, f"{scenario.topic}.{other}.predictions")
    assert [(r.key, r.value) for r in plain] == [(r.key, r.value) for r in predictions(scenario)]
    assert not any(r.headers for r in plain)
