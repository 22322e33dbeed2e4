"""Random SIGKILLs on generated and real streams: the job of the README, interrupted repeatedly."""

from __future__ import annotations

import os
import random
import time

import pytest

from driftway.producers.streams import open_stream
from tests.support.audit import Auditor, dealt, expected_scores
from tests.support.kafka import await_until, create_topic, unique
from tests.support.process import Driftway
from tests.support.real_streams import RealStreams
from tests.support.selection import slow_but

LEARNER = "dfop:mu=0.01"
RATE = 1200.0
KILLS = 20


@pytest.mark.parametrize("partitions", slow_but([4], [1, 4]))
@pytest.mark.timeout(400)
@pytest.mark.slow
def test_scores_of_generated_rows_equal_those_of_evaluate_despite_random_kills(kafka: str, partitions: int) -> None:
    require_scores_of_evaluate(kafka, "hyperplane_rotating:rows=45000", partitions)


@pytest.mark.parametrize("partitions", [1, 4])
@pytest.mark.timeout(400)
def test_scores_of_electricity_equal_those_of_evaluate_despite_random_kills(
    kafka: str, real_streams: RealStreams, partitions: int
) -> None:
    require_scores_of_evaluate(kafka, str(real_streams.file("electricity")), partitions)


def require_scores_of_evaluate(kafka: str, stream: str, partitions: int) -> None:
    """Kill workers at random times while a stream is replayed, and compare every score."""
    kills = KILLS if partitions == 1 else KILLS // 4
    seed = int(os.environ.get("DRIFTWAY_FAULT_SEED", random.randrange(2**32)))
    print(f"DRIFTWAY_FAULT_SEED={seed} replays this schedule")
    rng = random.Random(seed)
    topic, group = unique("events"), unique("group")
    create_topic(kafka, topic, partitions)
    for name in ("predictions", "accuracy", "rejected"):
        create_topic(kafka, f"{topic}.{group}.{name}", partitions)
    ((X, y),) = open_stream(stream).blocks(1 << 20)
    expected = expected_scores(LEARNER, dealt(X, y, partitions))
    work = (
        "worker", "--input", topic, "--group", group, "--bootstrap", kafka, "--learner", LEARNER,
        "--commit-interval", "0.05", "--snapshot-rows", "2000", "-X", "group.instance.id=one",
    )  # fmt: skip
    pace = ("--rate", str(RATE * (1 if partitions == 1 else 4)))
    with (
        Auditor(kafka, f"{topic}.{group}") as auditor,
        Driftway("replay", stream, "--to", topic, "--bootstrap", kafka, *pace) as replay,
    ):
        for _ in range(kills):
            with Driftway(*work) as worker:
                before = auditor.seen
                await_until(
                    lambda before=before: auditor.seen > before or auditor.seen == len(expected), 60, "progress"
                )
                delay = rng.uniform(0.0, 0.5)
                time.sleep(delay)  # no condition to wait for: the schedule sets the time
                worker.kill()
        with Driftway(*work) as last:
            assert replay.wait(120) == 0, replay.summary()
            await_until(lambda: auditor.seen >= len(expected), 120, "every row predicted")
            last.await_text("running")
            last.terminate()
            assert last.wait() == 0, last.summary()
    auditor.require(expected)
