"""Headers copied to predictions are written exactly once, like the predictions, if a worker dies at any step."""

from __future__ import annotations

import pytest

from driftway.worker.kafka.client_config import NATIVE, PYTHON
from driftway.worker.stream.task.checkpoint import Step
from tests.support.audit import placed_score
from tests.support.crash import CrashingDriftway
from tests.support.fault_scenario import LEARNER, FaultScenario
from tests.support.kafka import await_until, produce, read_all
from tests.support.process import Driftway, driftway

ROWS, PIECE, NTH = 1200, 100, 4


def headers(offset: int) -> list[tuple[str, bytes]]:
    return [("trace", b"%d" % offset), ("trace", b"")] if offset % 5 else []


@pytest.mark.parametrize(
    ("step", "victim", "heir"),
    [pytest.param(Step.OUTPUTS_PRODUCED, NATIVE, PYTHON, marks=pytest.mark.slow), (Step.OFFSETS_SENT, PYTHON, NATIVE)],
)
def test_killed_worker_is_succeeded_with_all_headers(kafka: str, step: Step, victim: str, heir: str) -> None:
    stage = FaultScenario(kafka, partitions=2, rows=ROWS)

    def fill(first: int, last: int) -> None:
        for partition, events in stage.events.items():
            produce(kafka, stage.topic, events[first:last], partition, headers=list(map(headers, range(first, last))))

    asked, fed = ("--pass-headers", "trace"), 0
    with stage.auditor() as auditor:
        with CrashingDriftway(step, NTH, *stage.worker(*asked, "--client", victim)) as worker:
            worker.await_text("running partition=1")
            while not worker.ended and fed < ROWS:
                fill(fed, fed + PIECE)
                fed += PIECE
                wanted = 2 * fed
                await_until(lambda wanted=wanted: worker.ended or auditor.seen >= wanted, 30, "predicted, or killed")
            assert worker.ended, "its step was never reached"
        fill(fed, ROWS)
        with Driftway(*stage.worker(*asked, "--client", heir, "--stop-at-end")) as worker:
            assert worker.wait(60) == 0, worker.story()
        auditor.await_all(len(stage.expected))
    auditor.require(stage.expected)
    found = read_all(kafka, f"{stage.prefix}.predictions")
    assert [r.headers for r in found] == [headers(placed_score(r.value or b"")[0][1]) for r in found]
    options = "--input", stage.topic, "--group", stage.group, "--bootstrap", kafka, "--learner", LEARNER
    assert driftway("audit", *options, *asked).code == 0
