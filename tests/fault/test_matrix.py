"""Every commit step x fault x protocol x client: nothing is lost, repeated or changed.

In each case a fault hits one worker right after it reached one step of its commit for the NTH time, while a
read_committed reader follows the outputs. Default runs take the cases of `CHOSEN`, each with one client; the others are
marked slow.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from driftway.workbench.broker import LocalKafka
from driftway.worker.kafka.client_config import NATIVE, PYTHON
from driftway.worker.stream.task.committing.checkpoint import Step
from tests.support.alarms import require_alarms
from tests.support.audit import Auditor
from tests.support.brokers import own_broker
from tests.support.crash import KILL, RAISE, SECOND, STOP, FaultyDriftway, Listener
from tests.support.fault_scenario import DETECTORS, FaultScenario
from tests.support.groups import PROTOCOLS, member
from tests.support.kafka import await_until
from tests.support.process import Driftway, stop
from tests.support.proxy import IN_TRANSACTION, Proxy

NTH = 7
"""Occurrence of the step that is hit: after the first commits of the partitions, so that there is state to lose."""
ROWS, BEFORE = 2000, 1600
"""Rows per partition, and how many of them are produced before the fault has taken effect."""
RECONNECT = ("-X", "reconnect.backoff.max.ms=300")
"""By default the client waits up to 10 s before it reconnects to a broker."""

CHOSEN = {
    "kill": [0, 1, 2, 3, 0, 2],
    "stop": [None, None, None, 0, None, 3],
    "raise": [None, None, None, None, 1, None],
    "broker": [None, None, None, None, None, 2],
    "second": [None, None, 1, None, None, None],
    "lost": [2, None, None, 1, None, None],
    "late": [None, None, None, 2, 1, None],
}
"""Fault -> for each step, the protocol (index in PROTOCOLS) of the default run, or None."""


def cases(fault: str) -> Any:
    """All (step, protocol, client) of a fault; all but the chosen ones are marked slow."""
    protocols, clients, params = list(PROTOCOLS), (NATIVE, PYTHON), []
    shift = list(CHOSEN).index(fault)  # so that both clients are used at each step
    for (place, step), protocol, client in itertools.product(enumerate(Step), protocols, clients):
        chosen = CHOSEN[fault][place]
        default = chosen is not None and (protocol, client) == (protocols[chosen], clients[(place + shift) % 2])
        marks = [] if default else [pytest.mark.slow]
        params.append(pytest.param(step, protocol, client, marks=marks, id=f"{step.name.lower()}-{protocol}-{client}"))
    return pytest.mark.parametrize(("step", "protocol", "client"), params)


@pytest.fixture(scope="module")
def killed_broker(request: pytest.FixtureRequest) -> Iterator[LocalKafka]:
    """A broker shared by the cases that kill it."""
    with own_broker(request.config) as kafka:
        yield kafka


@contextlib.contextmanager
def second_member(scenario: FaultScenario, protocol: str, client: str) -> Iterator[Driftway]:
    """A second, running member; not for static members, whose name the first one still holds."""
    with Driftway(*member(scenario, protocol, "successor", "--client", client)) as successor:
        successor.await_text("running")
        yield successor


def scenario_with_detectors(bootstrap: str) -> FaultScenario:
    """A scenario with drift detectors, so that commits have outputs of every kind except rejections."""
    return FaultScenario(bootstrap, rows=ROWS, detectors=DETECTORS)


def require(scenario: FaultScenario, auditor: Auditor) -> None:
    """Fail unless exactly the predictions and alarms of the offline run were written, each once."""
    auditor.require(scenario.expected)
    require_alarms(scenario)


def await_rows(scenario: FaultScenario, auditor: Auditor, rows: int) -> None:
    """Wait until `rows` rows per partition are predicted."""
    await_until(lambda: auditor.seen >= rows * scenario.partitions, 60, f"{rows} rows of each partition predicted")


def fail_and_replace(scenario: FaultScenario, fault: str, step: Step, protocol: str, client: str) -> str:
    """Let a worker end at its fault and a successor, static or not, predict the rest; return the victim's summary."""
    victim = FaultyDriftway(fault, step, NTH, *member(scenario, protocol, "victim", "--client", client))
    with scenario.auditor() as auditor, contextlib.ExitStack() as stack:
        stack.enter_context(victim)
        victim.await_text("subscribed")
        if not PROTOCOLS[protocol].static:
            successor = stack.enter_context(second_member(scenario, protocol, client))
        victim.await_text("running")
        fed = scenario.feed_until(auditor, lambda: victim.ended, BEFORE)
        if PROTOCOLS[protocol].static:
            successor = stack.enter_context(Driftway(*member(scenario, protocol, "victim", "--client", client)))
        scenario.fill(fed)
        await_rows(scenario, auditor, ROWS)
        stop(successor)
        summary = victim.summary()
    require(scenario, auditor)
    return summary


@cases("kill")
def test_a_successor_continues_exactly_after_a_worker_was_killed(
    kafka: str, step: Step, protocol: str, client: str
) -> None:
    summary = fail_and_replace(scenario_with_detectors(kafka), KILL, step, protocol, client)
    assert "exit code -9" in summary


@cases("raise")
def test_a_successor_continues_exactly_after_a_worker_raised_an_exception(
    kafka: str, step: Step, protocol: str, client: str
) -> None:
    summary = fail_and_replace(scenario_with_detectors(kafka), RAISE, step, protocol, client)
    assert "exit code 1" in summary
    assert "InjectedError: at partition" in summary


@cases("stop")
def test_a_zombie_writes_nothing_visible(kafka: str, step: Step, protocol: str, client: str) -> None:
    """A worker stopped at the step until its successor has predicted all rows, then resumed."""
    scenario, static = scenario_with_detectors(kafka), PROTOCOLS[protocol].static
    zombie = FaultyDriftway(STOP, step, NTH, *member(scenario, protocol, "zombie", "--client", client))
    with scenario.auditor() as auditor, contextlib.ExitStack() as stack:
        stack.enter_context(zombie)
        zombie.await_text("subscribed")
        if not static:
            successor = stack.enter_context(second_member(scenario, protocol, client))
        zombie.await_text("running")
        scenario.fill(scenario.feed_until(auditor, lambda: zombie.frozen, BEFORE), BEFORE)
        if static:  # same name: it joins and fences the zombie
            successor = stack.enter_context(Driftway(*member(scenario, protocol, "zombie", "--client", client)))
        await_rows(scenario, auditor, BEFORE)
        zombie.thaw()
        members: list[Driftway] = [successor, zombie]
        if static:  # the last to join owns the name: under load that may be the zombie
            await_until(lambda: any(one.process.poll() is not None for one in members), 20, "one of the two ends")
            members.sort(key=lambda one: one.process.poll() is not None)
            assert members[-1].wait() == 3, members[-1].summary()
            members.pop()
        else:
            zombie.await_condition(
                lambda: any(word in zombie.stderr for word in ("lost partitions", "action=fenced")), "it notices"
            )
        scenario.fill(BEFORE)
        await_rows(scenario, auditor, ROWS)
        stop(*members)
    require(scenario, auditor)


@cases("second")
def test_a_worker_fenced_by_a_second_owner_recovers_by_itself(
    kafka: str, step: Step, protocol: str, client: str
) -> None:
    scenario = scenario_with_detectors(kafka)
    with (
        scenario.auditor() as auditor,
        FaultyDriftway(SECOND, step, NTH, *member(scenario, protocol, "victim", "--client", client)) as victim,
    ):
        victim.await_text("running")
        scenario.fill(scenario.feed_until(auditor, lambda: "commit failed partition" in victim.stderr, BEFORE))
        await_rows(scenario, auditor, ROWS)
        stop(victim)
    require(scenario, auditor)


def disturb(scenario: FaultScenario, protocol: str, step: Step, action: Callable[[Proxy], object], *more: str) -> None:
    """Disturb the next message between worker and broker after the step; the worker recovers by itself."""
    with Proxy(scenario.bootstrap) as proxy, Listener(lambda: action(proxy)) as listener, scenario.auditor() as auditor:
        arguments = member(scenario, protocol, "worker", *RECONNECT, *more, "--bootstrap", proxy.bootstrap)
        with FaultyDriftway(listener.fault, step, NTH, *arguments) as worker:
            worker.await_text("running")
            scenario.fill(scenario.feed_until(auditor, listener.done.is_set, BEFORE), BEFORE)
            await_rows(scenario, auditor, BEFORE)
            assert proxy.lost.total() + proxy.held.total() == 1
            proxy.release()
            scenario.fill(BEFORE)
            await_rows(scenario, auditor, ROWS)
            stop(worker)
    require(scenario, auditor)


@cases("lost")
def test_a_lost_reply_to_any_request_changes_nothing(kafka: str, step: Step, protocol: str, client: str) -> None:
    """The reply is lost together with the connection, as in a network failure; the request may have been executed."""
    scenario, options = scenario_with_detectors(kafka), ("--client", client)
    disturb(scenario, protocol, step, lambda proxy: proxy.lose(*IN_TRANSACTION, cut=True), *options)


@cases("late")
def test_a_late_request_of_any_kind_changes_nothing(kafka: str, step: Step, protocol: str, client: str) -> None:
    """By then the client has retried, perhaps in a later transaction, or has been replaced."""
    scenario, options = scenario_with_detectors(kafka), ("--client", client)
    disturb(scenario, protocol, step, lambda proxy: proxy.hold(*IN_TRANSACTION), *options)


@cases("broker")
def test_a_broker_restart_at_any_step_changes_nothing(
    killed_broker: LocalKafka, step: Step, protocol: str, client: str
) -> None:
    """The worker survives, or exits with a message and is started again."""
    scenario = scenario_with_detectors(killed_broker.bootstrap)
    arguments = member(scenario, protocol, "worker", *RECONNECT, "--client", client)
    with scenario.auditor() as auditor, contextlib.ExitStack() as stack:
        first = stack.enter_context(FaultyDriftway(f"{KILL}={killed_broker.pid}", step, NTH, *arguments))
        first.await_text("running")
        fed = scenario.feed_until(auditor, lambda: killed_broker.exit_code() is not None, BEFORE)
        killed_broker.restart()
        scenario.fill(fed)
        await_until(
            lambda: first.ended or auditor.seen >= len(scenario.expected), 45, "it continues, or reports that it cannot"
        )
        if not first.ended:
            stop(first)
        else:
            assert first.wait() in (3, 5), first.summary()
            again = stack.enter_context(Driftway(*arguments))
            await_rows(scenario, auditor, ROWS)
            stop(again)
    require(scenario, auditor)
