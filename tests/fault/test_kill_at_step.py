"""SIGKILL at each step of the commit: whoever takes over, nothing is lost, repeated or changed."""

from __future__ import annotations

import pytest

from tests.support.crash import CrashingDriftway
from tests.support.kafka import await_until
from tests.support.process import Driftway
from tests.support.stage import Stage
from worker.checkpoint import Step

NTH = 7
"""Which occurrence of the step is deadly: past the first commits of the partitions, so that a state is at stake."""


@pytest.mark.parametrize("step", list(Step), ids=lambda step: step.name.lower())
def test_killed_worker_is_replaced_by_the_other_one(kafka: str, step: Step) -> None:
    stage = Stage(kafka)
    with stage.auditor() as auditor, CrashingDriftway(step, NTH, *stage.worker()) as victim:
        victim.await_text("subscribed")
        with Driftway(*stage.worker()) as heir:
            heir.await_text("running")
            victim.await_text("running")
            stage.feed(auditor, victim)
            assert victim.wait() == -9, victim.story()
            await_until(lambda: auditor.seen >= len(stage.expected), 60, "every row predicted")
            heir.terminate()
            assert heir.wait() == 0, heir.story()
    auditor.require(stage.expected)


@pytest.mark.parametrize("step", list(Step), ids=lambda step: step.name.lower())
def test_killed_worker_goes_on_after_its_restart(kafka: str, step: Step) -> None:
    stage = Stage(kafka)
    static = ("-X", "group.instance.id=one")  # the restarted worker is let in at once
    with stage.auditor() as auditor:
        with CrashingDriftway(step, NTH, *stage.worker(*static)) as victim:
            victim.await_text("running")
            stage.feed(auditor, victim)
            assert victim.wait() == -9, victim.story()
        with Driftway(*stage.worker(*static, "--stop-at-end")) as again:
            assert again.wait() == 0, again.story()
        await_until(lambda: auditor.seen >= len(stage.expected), 30, "every row predicted")
    auditor.require(stage.expected)
