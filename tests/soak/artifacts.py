"""What is kept of a soak that has a complaint: without it nobody can tell afterwards whose fault it was.

Every member's log, the broker's data and logs of all its starts, and the records around the first difference of each
partition, those that a read_committed reader is not given too.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer, KafkaError, TopicPartition

from driftway.workbench.broker import LocalKafka
from driftway.worker.kafka.client_config import base_properties, quiet
from driftway.worker.kafka.topics import Topics
from driftway.worker.wire.codec import read_json
from tests.soak.reader import OWN

AROUND = 300
"""Input offsets on each side of a difference whose records are dumped."""
POLL_SECONDS = 5.0


def keep(folder: Path, kafka: LocalKafka, topics: Topics, places: Mapping[int, int | None]) -> None:
    """Dump the records around input offset `places[partition]`, and copy what the broker has; it is ended for that."""
    folder.mkdir(parents=True, exist_ok=True)
    for partition, offset in places.items():
        if offset is not None:
            dump(folder / f"partition-{partition}-around-{offset}.jsonl", kafka.bootstrap, topics, partition, offset)
    kafka.terminate()
    home = kafka.log.parents[1]
    for part in ("data", "logs"):
        shutil.copytree(home / part, folder / "broker" / part, dirs_exist_ok=True)


def dump(file: Path, bootstrap: str, topics: Topics, partition: int, offset: int) -> None:
    """One line per record, in the order of the log: where it is, what it answers, and whether everybody sees it."""
    with file.open("w", encoding="utf-8") as out:
        for topic in (topics.predictions, topics.rejected, topics.snapshots):
            seen = {place for place, _ in _records(bootstrap, topic, partition, "read_committed")}
            for place, told in _records(bootstrap, topic, partition, "read_uncommitted"):
                answered = told.get("answers")
                if answered is None or abs(answered - offset) <= AROUND:
                    line = {"topic": topic, "offset": place, "visible": place in seen, **told}
                    out.write(json.dumps(line, default=repr) + "\n")


def _records(bootstrap: str, topic: str, partition: int, level: str) -> Iterable[tuple[int, dict[str, Any]]]:
    """Offset, and what is told of each record up to the log's end."""
    own = {"enable.partition.eof": True, "isolation.level": level, "auto.offset.reset": "earliest"}
    reader = Consumer(quiet({**base_properties(bootstrap, {}), **OWN, **own}))
    reader.assign([TopicPartition(topic, partition, 0)])
    try:
        while (message := reader.poll(POLL_SECONDS)) is not None:
            error = message.error()
            if error is not None:
                if error.code() == KafkaError._PARTITION_EOF:
                    return
                continue
            yield message.offset() or 0, _told(message)
    finally:
        reader.close()


def _told(message: Any) -> dict[str, Any]:
    headers, key, value = dict(message.headers() or ()), message.key(), message.value() or b""
    if "offset" in headers:
        return {"answers": int(headers["offset"]), "reason": headers["reason"].decode()}
    if key is not None and key.endswith(b".position"):
        told = read_json(value)
        return {"answers": told["offset"], "position": told, "time": message.timestamp()[1]}
    if key is not None:
        return {"key": key.decode(), "bytes": len(value), "time": message.timestamp()[1]}
    told = read_json(value)
    return {"answers": told["offset"], "score": told["score"], "time": message.timestamp()[1]}
