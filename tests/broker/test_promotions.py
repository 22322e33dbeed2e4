"""Workers promote a better challenger with one plan, even if one dies or several decide at the same moment."""

from __future__ import annotations

import shlex
from urllib.request import urlopen

import pytest

from driftway.producers.streams import open_stream
from driftway.worker.wire.codec import encode_events
from tests.broker.test_models import change, history
from tests.broker.test_models_refused import PAGE
from tests.support.fault_scenario import LEARNER, FaultScenario
from tests.support.faulty_promotions import COMMITTED, DECIDED, EVERYBODY, PRODUCED, FaultyPromotions
from tests.support.kafka import await_until
from tests.support.process import Driftway, Finished, driftway
from tests.support.selection import slow_but
from tests.unit.test_readme import typed

pytestmark = pytest.mark.broker

CHAMPION, CHALLENGER = "perceptron", "arow"
ROWS, EVERY = 2000, 50
NEVER_AGAIN = "1000000"
MODELS = "--learner", CHAMPION, "--learner", CHALLENGER, "--accuracy-every", str(EVERY)


def sea(kafka: str, partitions: int = 2) -> FaultScenario:
    """A scenario whose rows are those of `sea`, on which the challenger is better from the beginning."""
    scenario = FaultScenario(kafka, partitions=partitions, rows=ROWS)
    block = next(open_stream("sea").blocks(partitions * ROWS))
    for partition in range(partitions):
        scenario.events[partition] = encode_events(block.X[partition::partitions], block.y[partition::partitions], 0)
    return scenario


def worker(scenario: FaultScenario, *promote: str) -> tuple[str, ...]:
    """Arguments of a worker of the scenario, with these models."""
    words = list(scenario.worker())
    at = words.index(LEARNER)
    given = f"when-better={','.join(promote or ('0.01', '500', NEVER_AGAIN))}"
    return (*words[: at - 1], *words[at + 1 :], *MODELS, "--promote", given)


def audit(scenario: FaultScenario) -> Finished:
    place = scenario.options
    return driftway("audit", *place, *MODELS)


def require_promoted_once(scenario: FaultScenario) -> None:
    """Check that both partitions have applied one plan of workers, and that the audit passes from the first offset."""
    first, second = history(scenario)
    assert (first["plan"], second["plan"]) == (1, 2)
    assert [model["learner"] for model in second["models"]] == [CHALLENGER, CHAMPION]
    assert second["change"].startswith(f"promote {CHALLENGER} (by a worker: better than {CHAMPION}, p <= ")
    assert list(second["adopted_at"]) == [str(partition) for partition in range(scenario.partitions)]
    assert all(0 < offset < ROWS for offset in second["adopted_at"].values())
    done = audit(scenario)
    assert done.code == 0, done


def test_a_better_challenger_becomes_the_champion(kafka: str) -> None:
    scenario = sea(kafka)
    with scenario.auditor() as auditor, Driftway(*worker(scenario)) as running:
        running.await_text("challengers are watched")
        scenario.fill(0, ROWS // 2)
        auditor.await_all(ROWS)
        await_until(lambda: running.stderr.count("plan adopted") == 2, 30, "both partitions have applied the plan")
        scenario.fill(ROWS // 2, ROWS)
        auditor.await_all(2 * ROWS)
        running.await_text("challengers are watched plan=2")
        running.terminate()
        assert running.wait(30) == 0, running.summary()
        summary = running.stderr
    assert summary.count("promoted plan=2") == 1
    assert "challengers are watched plan=1 champion=perceptron" in summary
    assert "challengers are watched plan=2 champion=arow" in summary
    require_promoted_once(scenario)


@pytest.mark.slow
def test_a_wrong_promotion_by_hand_is_reverted_by_workers(kafka: str) -> None:
    """The demoted model is tested again, also by a worker that has not seen the promotion."""
    scenario = sea(kafka, partitions=1)
    with scenario.auditor() as auditor, Driftway(*worker(scenario, "0.01", "500", "500")) as running:
        scenario.fill(0, 100)
        auditor.await_all(100)
        change(scenario, "add", "no_change")
        change(scenario, "promote", "no_change")
        await_until(lambda: running.stderr.count("plan adopted") == 2, 30, "the plans are applied")
        scenario.fill(100, 400)
        auditor.await_all(400)
        running.kill()
    with scenario.auditor() as auditor, Driftway(*worker(scenario, "0.01", "500", "500")) as running:
        running.await_text("challengers are watched plan=3")
        scenario.fill(400, ROWS // 2)
        auditor.await_all(ROWS // 2)
        await_until(lambda: "plan adopted" in running.stderr, 30, "the plan is applied")
        running.terminate()
        assert running.wait(30) == 0, running.summary()
    *_, last = history(scenario)
    assert last["plan"] == 4
    assert last["change"].startswith(f"promote {CHALLENGER} (by a worker: better than no_change")
    assert last["adopted_at"]["0"] >= 600, "500 rows under plan 3"
    assert audit(scenario).code == 0


def test_the_commands_of_the_documentation_work_as_typed(kafka: str) -> None:
    scenario = sea(kafka, partitions=1)
    renamed = {"EVENTS": scenario.topic, "sea": scenario.group}
    (line,) = (line for line in typed(PAGE) if line.startswith("driftway worker ") and "--promote" in line)
    words = [renamed.get(word, word) for word in shlex.split(line)[1:]]
    with scenario.auditor() as auditor, Driftway(*words, "--bootstrap", kafka, "--http-port", "0") as running:
        scenario.fill()
        auditor.await_all(ROWS)
        running.await_text("promoted plan=2")
        port = running.stderr.partition("port=")[2].split()[0]
        with urlopen(f"http://127.0.0.1:{port}/metrics", timeout=30) as page:
            assert (
                f'driftway_promotions_total{{group="{scenario.group}",topic="{scenario.topic}"}} 1.0'
                in page.read().decode()
            )
        running.terminate()
        assert running.wait(30) == 0, running.summary()
    assert history(scenario)[1]["change"].startswith(
        f"promote {CHALLENGER} (by a worker: better than {CHAMPION}, p <= "
    )


@pytest.mark.parametrize("fault", slow_but([DECIDED], [DECIDED, PRODUCED, COMMITTED]))
def test_a_promotion_is_written_once_if_a_worker_is_killed_during_it(kafka: str, fault: str) -> None:
    """The next worker decides from the same log, and no row is lost."""
    scenario = sea(kafka)
    options = worker(scenario)
    with scenario.auditor() as auditor:
        with FaultyPromotions(fault, *options) as victim:
            scenario.fill(0, ROWS // 2)
            assert victim.wait(60) == -9, victim.summary()
        with Driftway(*options) as running:
            await_until(lambda: running.stderr.count("plan adopted") == 2, 60, "both partitions have applied the plan")
            scenario.fill(ROWS // 2, ROWS)
            auditor.await_all(2 * ROWS)
            running.terminate()
            assert running.wait(30) == 0, running.summary()
            assert ("promoted plan=2" in running.stderr) == (fault != COMMITTED)
    require_promoted_once(scenario)


def test_a_promotion_is_written_once_if_two_workers_decide_at_the_same_moment(kafka: str) -> None:
    scenario = sea(kafka)
    arguments = EVERYBODY, *worker(scenario)
    with scenario.auditor() as auditor, FaultyPromotions(*arguments) as one, FaultyPromotions(*arguments) as other:
        workers = one, other
        for running in workers:
            running.await_text("challengers are watched plan=1")
        scenario.fill(0, ROWS // 2)
        auditor.await_all(ROWS, 60)
        for running in workers:
            await_until(
                lambda running=running: "challengers are watched plan=2" in running.stderr, 60, "it knows the plan"
            )
        scenario.fill(ROWS // 2, ROWS)
        auditor.await_all(2 * ROWS, 60)
        assert sum(running.stderr.count("promoted plan=2") for running in workers) == 1
        for running in workers:
            running.terminate()
            assert running.wait(30) == 0, running.summary()
    require_promoted_once(scenario)
