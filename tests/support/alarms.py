"""Expected content of the alarms topic, computed offline by separate detectors."""

from __future__ import annotations

import json
from collections import defaultdict

import numpy as np

from driftway.learners import Spec
from driftway.learners.drift.detector import DRIFT
from driftway.learners.drift.registry import create
from driftway.worker.settings import ModelSettings
from driftway.worker.state.model import Model
from driftway.worker.wire.codec import read_json
from tests.support.fault_scenario import LEARNER, FaultScenario
from tests.support.kafka import read_all
from tests.unit.worker.rows import records

KeysAndValues = list[tuple[bytes, bytes]]
"""Keys and values, in order."""


def expected_alarms(scenario: FaultScenario) -> dict[int, KeysAndValues]:
    """Partition -> alarms of the scenario's detectors over all errors of its learner."""
    alarms: dict[int, KeysAndValues] = {}
    for partition, events in scenario.events.items():
        y = np.array([read_json(event)["y"] for event in events], np.float64)
        scores = np.array([scenario.expected[partition, offset] for offset in range(len(y))])
        errors = ((scores >= 0) != y).astype(np.float64)
        found = []
        for place, text in enumerate(scenario.detectors):
            spec = Spec.parse(text)
            rows = np.flatnonzero(create(spec.name, **dict(spec.parameters)).observe(errors) == DRIFT)
            found += [(offset, place) for offset in rows.tolist()]
        alarms[partition] = [
            _record(scenario, partition, offset, scenario.detectors[place]) for offset, place in sorted(found)
        ]
    return alarms


def _record(scenario: FaultScenario, partition: int, offset: int, detector: str) -> tuple[bytes, bytes]:
    model = Model(ModelSettings((Spec.parse(LEARNER),)), partition)
    model.decode(records(scenario.events[partition][:1]))
    value = {
        "detector": detector,
        "partition": partition,
        "offset": offset,
        "learner": LEARNER,
        "group": scenario.group,
        "model_digest": model.digests[0],
        "id": offset,
        "t": None,
    }
    return f"{detector}/{partition}".encode(), json.dumps(value, separators=(",", ":")).encode()


def seen_alarms(scenario: FaultScenario) -> dict[int, KeysAndValues]:
    """Partition -> alarms that a read_committed reader sees."""
    found: dict[int, KeysAndValues] = defaultdict(list)
    for record in read_all(scenario.bootstrap, f"{scenario.prefix}.alarms"):
        found[record.partition].append((record.key or b"", record.value or b""))
    return found


def require_alarms(scenario: FaultScenario) -> None:
    """Fail unless the topic holds exactly the alarms of the offline run, once, in order and byte for byte."""
    expected, seen = expected_alarms(scenario), seen_alarms(scenario)
    for partition, alarms in expected.items():
        assert alarms, "the test would see nothing"
        assert seen[partition] == alarms, f"partition {partition}"
    assert seen.keys() == expected.keys()
