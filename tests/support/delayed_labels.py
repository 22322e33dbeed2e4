"""A stream with delayed labels, and a worker on it that is killed."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from typing import Any, NamedTuple

from tests.support.crash import CrashingDriftway, Step
from tests.support.kafka import await_until, produce, read_all
from tests.support.process import Driftway

D = 3


def late_stream(n: int, seed: int, delay: int = 20, task: str = "classification") -> list[bytes]:
    """Events with classes or targets: some labels come at once, most late and unordered, some never or twice."""
    draw, due, values = random.Random(seed), dict[int, list[dict[str, Any]]](), list[bytes]()
    for i in range(n):
        x = [draw.gauss(0.0, 1.0) for _ in range(D)]
        y: Any = x[0] + 0.5 * x[1] * (1 if i < n // 2 else -1)
        y = y if task == "regression" else int(y > 0.0)
        event: dict[str, Any] = {"id": i if i % 3 else f"event-{i}", "x": x}
        if draw.random() < 0.1:
            event["y"] = y
        elif draw.random() < 0.9:
            at = i + draw.randrange(2 * delay)
            due.setdefault(at, []).append({"id": event["id"], "y": y})
            if draw.random() < 0.1:
                due.setdefault(at + 2, []).append({"id": event["id"], "y": y if draw.random() < 0.5 else 1 - y})
        values.append(json.dumps(event).encode())
        values += [json.dumps(label).encode() for label in due.pop(i, [])]
    values.append(b'{"id":"nobody","y":1}')
    values.append(b'{"id":1,"y":null}')
    return values


def feed_pieces(kafka: str, topic: str, events: dict[int, list[bytes]], piece: int) -> Iterator[int]:
    """Send the next piece of each partition's records; yield the number of events sent so far."""
    for start in range(0, max(map(len, events.values())), piece):
        for partition, values in events.items():
            produce(kafka, topic, values[start : start + piece], partition)
        yield sum(b'"x"' in value for values in events.values() for value in values[: start + piece])


class Outputs(NamedTuple):
    """Output topics of a group."""

    kafka: str
    prefix: str

    def records(self, kind: str) -> list[Any]:
        """All committed records of one of the topics."""
        return read_all(self.kafka, f"{self.prefix}.{kind}")

    def written(self, partition: int) -> tuple[list[tuple[int, float]], list[str]]:
        """(offset, score) of every prediction of a partition, and the reasons of its rejections."""
        predictions = [
            json.loads(one.value or b"") for one in self.records("predictions") if one.partition == partition
        ]
        rejected = [dict(one.headers) for one in self.records("rejected") if one.partition == partition]
        return [(one["offset"], one["score"]) for one in predictions], [one["reason"].decode() for one in rejected]


def kill_and_replace(
    step: Step, work: tuple[str, ...], clients: tuple[str, str], feed: Iterator[int], outputs: Outputs, commits: int = 6
) -> None:
    """Feed a worker until it dies at a step of a commit, then run a second worker to the end.

    `feed` sends the next piece of the stream and yields the number of events sent so far.
    """
    with CrashingDriftway(step, commits, *work, clients[0]) as worker:
        worker.await_text("running partition=1")
        for sent in feed:
            await_until(
                lambda sent=sent: worker.ended or len(outputs.records("predictions")) >= sent,
                30,
                "predicted, or killed",
            )
            if worker.ended:
                break
        assert worker.ended, "its step was never reached"
    for _ in feed:
        pass
    with Driftway(*work, clients[1], "--stop-at-end") as worker:
        assert worker.wait(90) == 0, worker.summary()
