"""Evidence kept from a failed soak, needed to find the cause afterwards.

It consists of every member's log, the broker's data and its logs of all starts, and the records around the first
difference of each partition, including those that a read_committed reader does not see.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer, KafkaError, TopicPartition

from driftway.workbench.broker import LocalCluster, LocalKafka
from driftway.worker.kafka.client_config import base_properties, quiet
from driftway.worker.kafka.topics import Topics
from driftway.worker.wire.codec import read_json
from tests.soak.reader import OWN

AROUND = 300
"""Input offsets on each side of a difference whose records are dumped."""
POLL_SECONDS = 5.0


def keep(folder: Path, kafka: LocalKafka | LocalCluster, topics: Topics, places: Mapping[int, int | None]) -> None:
    """Dump the records around input offset `places[partition]`, stop the brokers, and copy their data and logs."""
    folder.mkdir(parents=True, exist_ok=True)
    for partition, offset in places.items():
        if offset is not None:
            dump(folder / f"partition-{partition}-around-{offset}.jsonl", kafka.bootstrap, topics, partition, offset)
    for number, node in enumerate(kafka.nodes if isinstance(kafka, LocalCluster) else [kafka], 1):
        node.terminate()
        home = node.log.parents[1]
        for part in ("data", "logs"):
            shutil.copytree(home / part, folder / f"broker-{number}" / part, dirs_exist_ok=True)


def dump(file: Path, bootstrap: str, topics: Topics, partition: int, offset: int) -> None:
    """Write one line per record in log order: its offset, the input offset it is about, and whether it is committed."""
    with file.open("w", encoding="utf-8") as out:
        for topic in (topics.predictions, topics.rejected, topics.snapshots):
            committed = {place for place, _ in _records(bootstrap, topic, partition, "read_committed")}
            for place, fields in _records(bootstrap, topic, partition, "read_uncommitted"):
                answered = fields.get("answers")
                if answered is None or abs(answered - offset) <= AROUND:
                    line = {"topic": topic, "offset": place, "visible": place in committed, **fields}
                    out.write(json.dumps(line, default=repr) + "\n")


def _records(bootstrap: str, topic: str, partition: int, level: str) -> Iterable[tuple[int, dict[str, Any]]]:
    """Yield the offset and the described content of each record up to the end of the log."""
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
            yield message.offset() or 0, _described(message)
    finally:
        reader.close()


def _described(message: Any) -> dict[str, Any]:
    headers, key, value = dict(message.headers() or ()), message.key(), message.value() or b""
    if "offset" in headers:
        return {"answers": int(headers["offset"]), "reason": headers["reason"].decode()}
    if key is not None and key.endswith(b".position"):
        content = read_json(value)
        return {"answers": content["offset"], "position": content, "time": message.timestamp()[1]}
    if key is not None:
        return {"key": key.decode(), "bytes": len(value), "time": message.timestamp()[1]}
    content = read_json(value)
    return {"answers": content["offset"], "score": content["score"], "time": message.timestamp()[1]}
