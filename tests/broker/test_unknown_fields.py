"""`driftway worker --unknown-fields count` on a real topic: /metrics, the log, and counts after a restart."""

from __future__ import annotations

import json

from tests.broker.test_endpoint import event, get, log_of, metrics
from tests.support.kafka import create_topic, produce, read_all
from tests.support.process import Driftway

FIRST, COMMITTED, LAST = 100, 400, 600


def changes(first: int, last: int) -> list[bytes]:
    """Debezium events: every second has a field `note`, every third `user.name`, every tenth is a deletion."""
    events = []
    for i in range(first, last):
        row = {"id": i, "amount": i * 7 % 31, "label": i % 2, "user": {"age": i % 50}}
        row |= {"note": "x"} if i % 2 else {}
        row["user"] |= {"name": "y"} if i % 3 == 0 else {}
        gone = i % 10 == 9
        event_ = {"before": row if gone else None, "after": None if gone else row, "op": "d" if gone else "c"}
        events.append(json.dumps({"schema": {}, "payload": event_}).encode())
    return events


def expected(first: int, last: int) -> dict[str, float]:
    rows = [i for i in range(first, last) if i % 10 != 9]
    return {"note": sum(i % 2 for i in rows), "user.name": sum(i % 3 == 0 for i in rows)}


def test_a_successor_counts_unknown_fields_of_the_events_that_it_predicts(kafka: str, topic: str, group: str) -> None:
    create_topic(kafka, topic)
    worker = (
        "worker", "--input", topic, "--group", group, "--bootstrap", kafka, "--learner", "arow", "--http-port", "0",
        "--envelope", "debezium", "--feature", "amount", "--feature", "user.age", "--label", "label",
        "--log-format", "json", "--snapshot-interval", "1000", "--snapshot-rows", "1000000",
        "-X", "group.instance.id=one",
    )  # fmt: skip

    def done(so_far: int) -> bool:
        found = (read_all(kafka, f"{topic}.{group}.{name}") for name in ("predictions", "rejected"))
        return sum(map(len, found)) == so_far

    produce(kafka, topic, changes(0, FIRST))
    with Driftway(*worker) as victim:
        event(victim, "running")
        victim.await_condition(lambda: done(FIRST), "the rows before the snapshot")
        produce(kafka, topic, changes(FIRST, COMMITTED))
        victim.await_condition(lambda: done(COMMITTED), "the rows after it")
        assert "unknown_fields_total{" not in get(event(victim, "listening")["port"], "/metrics")[2]
        victim.kill()
    produce(kafka, topic, changes(COMMITTED, LAST))
    with Driftway(*worker, "--unknown-fields", "count") as successor:  # the option is not part of the state
        successor.await_condition(lambda: done(LAST), "the rest predicted or rejected")
        restored = event(successor, "restored")
        assert restored["position"] <= FIRST
        assert restored["committed"] == COMMITTED
        value, wanted = metrics(event(successor, "listening")["port"]), expected(COMMITTED, LAST)
        assert {field: value("unknown_fields_total", field=field) for field in wanted} == wanted
        logged = {line["field"]: line["at"] for line in log_of(successor) if line["event"] == "unknown field"}
        assert logged == {"note": f"{topic}/0@{COMMITTED + 1}", "user.name": f"{topic}/0@{COMMITTED + 2}"}
        successor.terminate()
        assert successor.wait() == 0, successor.summary()
