"""Random schedules of kills, freezes and joins, each drawn from one seed: DRIFTWAY_SEED=N runs schedule N alone."""

from __future__ import annotations

import contextlib
import itertools
import os
import random
import time
from typing import Any, NamedTuple

import pytest

from driftway.worker.kafka.client_config import NATIVE, PYTHON
from tests.support.fault_scenario import SESSION_MS, FaultScenario
from tests.support.groups import PROTOCOLS, member
from tests.support.kafka import await_until
from tests.support.process import Driftway

FEED_SECONDS = 4.0
ROWS, PIECE = 2000, 50
DEFAULT, SLOW = 1, 100
"""Number of schedules of a default run, and with the slow tests."""


class Event(NamedTuple):
    """An event in the group, at a time in seconds since the first row."""

    at: float
    action: str
    choice: float
    """Selects the affected member: a position in [0, 1) among the members that are not frozen."""
    seconds: float
    """Duration of a freeze."""


def schedule(seed: int) -> tuple[str, int, list[Event]]:
    """Draw protocol, number of members at the start, and events from a seed."""
    rng = random.Random(seed)
    protocol = rng.choice([name for name, kind in PROTOCOLS.items() if not kind.static])
    actions = rng.choices(["kill", "freeze", "join", "leave"], [3, 3, 3, 1], k=rng.randint(3, 6))
    events = [
        Event(rng.uniform(0.2, FEED_SECONDS), action, rng.random(), rng.uniform(0.2, 2 * SESSION_MS / 1000))
        for action in actions
    ]
    return protocol, rng.randint(2, 3), sorted(events)


def seeds() -> list[Any]:
    """Seeds to run: DRIFTWAY_SEED if set, else 0, 1, 2 … with all but the first few marked slow."""
    given = os.environ.get("DRIFTWAY_SEED")
    if given is not None:
        return [int(given)]
    return [seed if seed < DEFAULT else pytest.param(seed, marks=pytest.mark.slow) for seed in range(SLOW)]


class Group:
    """Members of a scenario's group, some of them frozen."""

    def __init__(self, scenario: FaultScenario, protocol: str, stack: contextlib.ExitStack) -> None:
        self.arguments = member(scenario, protocol, "unnamed")
        self._clients = itertools.cycle((NATIVE, NATIVE, PYTHON))
        self.awake: list[Driftway] = []
        self.frozen: list[tuple[float, Driftway]] = []
        self._stack = stack

    def join(self) -> None:
        """Start a member; every third uses the Python client."""
        self.awake.append(self._stack.enter_context(Driftway(*self.arguments, "--client", next(self._clients))))

    def execute(self, event: Event) -> None:
        """Execute an event; if all members are frozen or have ended, a member joins instead."""
        if event.action == "join" or not self.awake:
            self.join()
            return
        victim = self.awake.pop(int(event.choice * len(self.awake)))
        if event.action == "kill":
            victim.kill()
        elif event.action == "leave":
            victim.terminate()
        else:
            victim.freeze()
            self.frozen.append((time.monotonic() + event.seconds, victim))

    def thaw(self) -> None:
        """Resume the members whose freeze is over."""
        for due in [due for due in self.frozen if due[0] <= time.monotonic()]:
            self.frozen.remove(due)
            due[1].thaw()
            self.awake.append(due[1])

    def settle(self) -> None:
        """Wait until all have been resumed, start a member if none is left, and check that all still run."""
        while self.frozen:
            self.thaw()
            time.sleep(0.02)
        if not self.awake:
            self.join()
        for worker in self.awake:
            assert worker.process.poll() is None, worker.summary()


@pytest.mark.parametrize("seed", seeds())
def test_a_random_schedule_of_faults_changes_no_prediction(kafka: str, seed: int) -> None:
    protocol, members, events = schedule(seed)
    print(f"DRIFTWAY_SEED={seed} replays this schedule: {protocol}, {members} members, {events}")
    scenario = FaultScenario(kafka, rows=ROWS, seed=seed)
    with scenario.auditor() as auditor, contextlib.ExitStack() as stack:
        group = Group(scenario, protocol, stack)
        for _ in range(members):
            group.join()
        await_until(lambda: any("running" in worker.stderr for worker in group.awake), 60, "a member is running")
        began = time.monotonic()
        for first in range(0, ROWS, PIECE):
            while events and events[0].at <= time.monotonic() - began:
                group.execute(events.pop(0))
            group.thaw()
            scenario.fill(first, first + PIECE)
            time.sleep(max(0.0, began + FEED_SECONDS * (first + PIECE) / ROWS - time.monotonic()))  # pace of the feed
        for event in events:
            group.execute(event)
        group.settle()
        await_until(lambda: auditor.seen >= len(scenario.expected), 60, "every row predicted")
        for worker in group.awake:
            worker.await_text("subscribed")  # earlier, SIGTERM would hit an interpreter that is still importing
            worker.terminate()
        for worker in group.awake:
            assert worker.wait() == 0, worker.summary()
    auditor.require(scenario.expected)
