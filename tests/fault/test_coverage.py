"""Workers with --coverage and late labels are killed repeatedly: outputs equal those of an undisturbed run."""

from __future__ import annotations

import json
import os
import random
import time
from typing import Any, NamedTuple

import pytest

from driftway.worker.settings.option_values import EVERY_MODEL, LabelWait
from driftway.worker.state.model import Model
from driftway.worker.wire.codec import JSON, PACKED
from tests.support.audit import Auditor
from tests.support.delayed_labels import late_stream
from tests.support.kafka import await_until, create_topic, produce, read_all, unique
from tests.support.process import Driftway, driftway
from tests.support.selection import slow_but
from tests.unit.worker.rows import model_settings, records

OF_TIME = "t", "delay_ms"
LEVEL, WAIT, EVERY, PARTITIONS = 0.9, "200", 100, 2


class Case(NamedTuple):
    """A task, its learners, and how often workers are killed."""

    learners: tuple[str, ...]
    task: str
    form: str
    kills: int
    rows: int


SHORT = Case(("pa1", "arow"), "classification", JSON, 3, 500)
FORESTS = "auto", "adaptive_random_forest"
CASES = [SHORT, Case(FORESTS, "classification", JSON, 20, 3000), Case(FORESTS, "regression", PACKED, 20, 3000)]


def undated(points: list[bytes]) -> list[dict[str, Any]]:
    """Accuracy points without the fields that depend on the records' timestamps."""
    return [{name: value for name, value in json.loads(one).items() if name not in OF_TIME} for one in points]


@pytest.mark.parametrize("case", slow_but([SHORT], CASES), ids=lambda case: f"{case.learners[0]}-{case.task}")
@pytest.mark.timeout(3600)
@pytest.mark.slow
def test_thresholds_of_rows_that_wait_for_labels_survive_kills(kafka: str, case: Case) -> None:
    seed = int(os.environ.get("DRIFTWAY_FAULT_SEED", random.randrange(2**32)))
    print(f"DRIFTWAY_FAULT_SEED={seed} replays this schedule")
    rng, topic, group = random.Random(seed), unique("events"), unique("group")
    prefix = f"{topic}.{group}"
    for name in (topic, f"{prefix}.predictions", f"{prefix}.accuracy", f"{prefix}.rejected"):
        create_topic(kafka, name, PARTITIONS)
    events = {p: late_stream(case.rows, seed=p, task=case.task) for p in range(PARTITIONS)}
    chosen = [word for learner in case.learners for word in ("--learner", learner)]
    place = "--input", topic, "--group", group, "--bootstrap", kafka, *chosen, "--task", case.task
    place = *place, "--label-wait", WAIT, "--coverage", str(LEVEL), "--accuracy-every", str(EVERY)
    work = (
        "worker", *place, "--emit", EVERY_MODEL, "--output-format", case.form, "--commit-interval", "0.05",
        "--snapshot-rows", "100", "-X", "group.instance.id=one",
    )  # fmt: skip
    piece = -(-max(map(len, events.values())) // (case.kills + 1))

    def feed(number: int) -> None:
        for partition, values in events.items():
            produce(kafka, topic, values[number * piece : (number + 1) * piece], partition)

    with Auditor(kafka, prefix) as auditor:
        for number in range(case.kills):
            feed(number)
            with Driftway(*work) as worker:
                before = auditor.seen
                await_until(lambda before=before: auditor.seen > before, 300, "progress")
                time.sleep(rng.uniform(0.0, 0.3))  # no condition to wait for: the schedule sets the time
                worker.kill()
    feed(case.kills)
    last = driftway(*work, "--stop-at-end")
    assert last.code == 0, last.stderr

    settings = model_settings(
        *case.learners, task=case.task if case.task == "regression" else None, wait=LabelWait.parse(WAIT),
        accuracy_every=EVERY, window=1000, coverage=LEVEL, output_form=case.form, emit=EVERY_MODEL,
    )  # fmt: skip
    written = {name: read_all(kafka, f"{prefix}.{name}") for name in ("predictions", "challengers", "accuracy")}
    for partition, values in events.items():
        expected = Model(settings, partition, group).advance(records(values, partition=partition))
        found = {name: [one.value for one in some if one.partition == partition] for name, some in written.items()}
        assert found["predictions"] == expected.predictions.to_list()
        assert found["challengers"] == expected.challengers[0].predictions.to_list()
        assert undated(found["accuracy"]) == undated([value for _, value in expected.points])
    audit = driftway("audit", *place)
    assert audit.code == 0, audit.stderr
