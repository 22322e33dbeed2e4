"""Each alert fires on its cause, over the worker's own `/metrics`, and wakes nobody for another one's."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from driftway.worker.kafka.error_handling import ErrorAction
from driftway.worker.state.outputs import Outputs
from driftway.worker.stream.observability.health import STARTING
from driftway.worker.stream.task.lifecycle import State
from driftway.worker.wire.events import RejectedEvent
from tests.support.process import ROOT
from tests.unit.scraped_worker import EVERY_SECONDS, LAST, Cause, ScrapedWorker, batch, restoring, rules

FOR_SECONDS = {"s": 1, "m": 60}
GONE_FROM = 25
"""Step from which a worker is gone: five minutes before the end."""


def firing(worker: ScrapedWorker) -> set[str]:
    """Return the alerts whose rule has been true for as long as it requires, at the end."""
    return {name for name, rule in rules().items() if fires(worker, rule)}


def fires(worker: ScrapedWorker, rule: dict[str, Any]) -> bool:
    waits = re.fullmatch(r"(\d+)([sm])", rule.get("for", "0s"))
    assert waits is not None
    span = range(0, int(waits[1]) * FOR_SECONDS[waits[2]] + 1, EVERY_SECONDS)
    return all(worker.scrapes.ask(rule["expr"], LAST - back) for back in span)


def all_gone(worker: ScrapedWorker, step: int) -> None:
    worker.discovered = step < GONE_FROM


def not_answering(worker: ScrapedWorker, step: int) -> None:
    worker.answers = step < GONE_FROM


def unassigned(worker: ScrapedWorker, step: int) -> None:
    """The worker lives, but nobody has the partition."""
    if step == GONE_FROM:
        worker.task.state = State.CLOSED
        worker.metrics.state(worker.task)
        worker.assigned = False


def restarted(worker: ScrapedWorker, step: int) -> None:
    worker.process = {"process_start_time_seconds": 1000.0 + 300 * (step // 5)}


def out_of_files(worker: ScrapedWorker, _step: int) -> None:
    worker.process = {"process_open_fds": 900, "process_max_fds": 1024}


def silent(worker: ScrapedWorker, _step: int) -> None:
    worker.health.reachable = False


def stuck(worker: ScrapedWorker, step: int) -> None:
    worker.health.idle_seconds = 30.0 * step


def behind(worker: ScrapedWorker, step: int) -> None:
    worker.health.ends[3] = worker.task.committed + 1000 * step


def behind_a_transaction(worker: ScrapedWorker, step: int) -> None:
    worker.health.open_transactions.found = {3: SimpleNamespace(waiting=4, seconds=EVERY_SECONDS * step)}


def rejecting(worker: ScrapedWorker, _step: int) -> None:
    bad = [RejectedEvent("not JSON", 5, b"?", None, 0)] * 10
    worker.metrics.advanced(worker.task, batch(10), Outputs(worker.task.committed, np.arange(0), rejected=bad))


def setting_aside(worker: ScrapedWorker, _step: int) -> None:
    labels = [RejectedEvent("label 7 is not one of 0, 1", 5, b"?", None, 0, set_aside=True)] * 10
    outputs = Outputs(worker.task.committed, np.arange(10), rejected=labels)
    worker.metrics.advanced(worker.task, batch(10), outputs)


def failing(what: str) -> Cause:
    return lambda worker, _step: worker.metrics.failed(worker.task, what, ErrorAction.UNKNOWN)


def repairing(worker: ScrapedWorker, step: int) -> None:
    worker.metrics.partition_metric(worker.metrics.output_repairs, 3).inc(step == 20)


def unexpected_offset(worker: ScrapedWorker, step: int) -> None:
    worker.metrics.partition_metric(worker.metrics.unexpected_offsets, 3).inc(step == 20)


def late(worker: ScrapedWorker, _step: int) -> None:
    worker.metrics.advanced(worker.task, batch(10, 45.0), Outputs(worker.task.committed, np.arange(10)))


def point(**figures: float) -> Cause:
    """Return a cause that gives the learner these figures instead of its own."""

    def learned(worker: ScrapedWorker, _step: int) -> None:
        worker.points = {"arow": figures}

    return learned


CAUSES: dict[str, tuple[Cause, str]] = {
    "all workers gone": (all_gone, "DriftwayAllWorkersDown DriftwayPartitionUnowned"),
    "no worker answers": (not_answering, "DriftwayAllWorkersDown DriftwayPartitionUnowned DriftwayWorkerDown"),
    "partition without a worker": (unassigned, "DriftwayPartitionUnowned"),
    "restarts": (restarted, "DriftwayRestartsOften"),
    "files": (out_of_files, "DriftwayFilesRunOut"),
    "cluster silent": (silent, "DriftwayClusterSilent"),
    "loop stuck": (stuck, "DriftwayLoopStuck"),
    "restoring": (restoring, "DriftwayNotRunning"),
    "lag": (behind, "DriftwayLagRising"),
    "open transaction": (behind_a_transaction, "DriftwayBehindOpenTransaction"),
    "rejections": (rejecting, "DriftwayRejecting"),
    "labels set aside": (setting_aside, "DriftwayLabelsSetAside"),
    "commits fail": (failing("commit failed"), "DriftwayCommitsFail"),
    "restores fail": (failing("restore failed"), "DriftwayRestoresFail"),
    "outputs repaired": (repairing, "DriftwayOutputsRepaired"),
    "unexpected offset": (unexpected_offset, "DriftwayUnexpectedOffsets"),
    "late": (late, "DriftwaySlowToSee"),
    "no better than no change": (
        point(window_accuracy=0.65, no_change_accuracy=0.7, majority_accuracy=0.6), "DriftwayLearnsNothing"
    ),
    "no better than majority": (
        point(window_accuracy=0.65, no_change_accuracy=0.6, majority_accuracy=0.7), "DriftwayLearnsNothing"
    ),
    "no better than the mean": (point(window_r2=-0.1, window_mse=4.0), "DriftwayLearnsNothing"),
    "nothing": (lambda *_: None, ""),
    "better than both": (point(window_accuracy=0.75, no_change_accuracy=0.7, majority_accuracy=0.72), ""),
    "better than the mean": (point(window_r2=0.1, window_mse=4.0), ""),
}  # fmt: skip


@pytest.mark.parametrize("what", CAUSES)
def test_a_cause_fires_its_alerts_and_no_other(what: str) -> None:
    """The text of an alert names only labels that its series have: otherwise it would have holes."""
    cause, expected = CAUSES[what]
    worker = ScrapedWorker(cause)
    assert firing(worker) == set(expected.split())
    for name in expected.split():
        used = set(re.findall(r"\$labels\.(\w+)", json.dumps(rules()[name]["annotations"])))
        assert all(used <= set(labels) for labels, _ in worker.scrapes.ask(rules()[name]["expr"], LAST)), name


@pytest.mark.skipif(shutil.which("promtool") is None, reason="promtool is not here (Debian's package prometheus)")
def test_prometheus_fires_the_same_alerts(tmp_path: Path) -> None:
    """Its own `promtool` over the same samples: it extrapolates rates, which our evaluator does not."""
    tests = []
    for what, (cause, expected) in CAUSES.items():
        samples = [{"labels": f'{{alertname="{name}"}}', "value": 1} for name in expected.split()]
        asked = {"expr": 'count by (alertname) (ALERTS{alertstate="firing"})', "eval_time": f"{LAST}s"}
        tests.append(
            {
                "name": what,
                "interval": f"{EVERY_SECONDS}s",
                "input_series": ScrapedWorker(cause).scrapes.promtool_series(EVERY_SECONDS, LAST),
                "promql_expr_test": [{**asked, "exp_samples": samples}],
            }
        )
    asked_file = tmp_path / "tests.yml"
    files = {"rule_files": [str(ROOT / "deploy/prometheus/alerts.yml")], "evaluation_interval": f"{EVERY_SECONDS}s"}
    asked_file.write_text(json.dumps({**files, "tests": tests}))
    done = subprocess.run(["promtool", "test", "rules", str(asked_file)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_alert_has_a_cause() -> None:
    assert {name for _, expected in CAUSES.values() for name in expected.split()} == set(rules())


def test_a_baseline_that_runs_as_a_challenger_is_not_reported() -> None:
    def baselines(worker: ScrapedWorker, _step: int) -> None:
        bad = {"window_accuracy": 0.1, "no_change_accuracy": 0.7, "majority_accuracy": 0.6}
        worker.points = {"no_change": bad, "majority_class": bad, "running_mean": {"window_r2": -0.5}}

    assert firing(ScrapedWorker(baselines)) == set()


def test_a_worker_that_compiles_for_minutes_is_not_stuck() -> None:
    def compiling(worker: ScrapedWorker, step: int) -> None:
        worker.health.phase, worker.health.idle_seconds = STARTING, 30.0 * step

    assert "DriftwayLoopStuck" not in firing(ScrapedWorker(compiling))


@pytest.mark.parametrize("name", rules())
def test_an_alert_says_whom_it_wakes_what_it_is_and_where_to_read_on(name: str) -> None:
    rule = rules()[name]
    assert rule["labels"]["severity"] in ("page", "ticket")
    assert rule["annotations"]["summary"]
    page, _, section = rule["annotations"]["runbook"].partition("#")
    text = (ROOT / page).read_text()
    (heading,) = [line for line in text.splitlines() if line.startswith("## ") and line[3:].lower() == section]
    assert heading == f"## {name}"
    severity = text.partition(f"{heading}\n\n*")[2].partition(".*")[0]
    assert severity == rule["labels"]["severity"]


def test_the_runbook_has_no_section_for_an_alert_that_is_gone() -> None:
    text = (ROOT / "docs/how-to/respond-to-alerts.md").read_text()
    assert re.findall(r"^## (\w+)$", text, re.M) == list(rules())
