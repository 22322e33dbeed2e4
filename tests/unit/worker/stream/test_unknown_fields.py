"""`--unknown-fields count`: what log and metrics report, for which rows, and that nothing is counted without it."""

from __future__ import annotations

import io
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from driftway import cli
from driftway.config import read_config
from driftway.worker.errors import UsageFailure
from driftway.worker.settings import WorkerSettings
from driftway.worker.state.outputs import Outputs
from driftway.worker.stream.observability.event_log import EventLog
from driftway.worker.stream.observability.reporter import Reporter
from driftway.worker.stream.task.lifecycle import State
from driftway.worker.wire.schema.schema import EventSchema
from driftway.worker.wire.schema.unknown_fields import UnknownFields
from tests.unit.worker.rows import model_settings, records
from tests.unit.worker.stream.test_metrics import shown, worker_metrics

EVENTS = [b'{"amount":1,"y":1}', b'{"amount":2,"note":"a"}', b'{"note":"b","more":1}']
COUNTED = "driftway_unknown_fields_total"


class ReportingWorker:
    """A worker's reporter with its log and metrics, and a task that has committed up to an offset."""

    def __init__(self, committed: int = 0, **more: Any) -> None:
        self.out, self.metrics = io.StringIO(), worker_metrics()
        settings = WorkerSettings("h:1", "EVENTS", "g", model_settings(events=EventSchema.parse(["amount"])), **more)
        self.reporter = Reporter(settings, EventLog(out=self.out), self.metrics, {})
        self.task: Any = SimpleNamespace(partition=3, committed=committed, state=State.RUNNING)

    def take(self, first: int, relearned: bool = False) -> None:
        outputs = None if relearned else Outputs(first + len(EVENTS), np.arange(1))
        self.task.state = State.RESTORING if relearned else State.RUNNING
        self.reporter.advanced(self.task, records(EVENTS, first), outputs, 0)

    def lines(self) -> list[str]:
        return [line.split(" ", 1)[1] for line in self.out.getvalue().splitlines()]


def test_unknown_fields_are_counted_and_each_is_logged_once() -> None:
    worker = ReportingWorker(unknown_fields="count")
    worker.take(0)
    worker.take(3)
    assert shown(worker.metrics)[COUNTED] == {("note",): 4.0, ("more",): 2.0}
    assert worker.lines() == ["unknown field field=note at=EVENTS/3@1", "unknown field field=more at=EVENTS/3@2"]


def test_rows_that_are_only_relearned_are_not_counted() -> None:
    worker = ReportingWorker(committed=5, unknown_fields="count")
    worker.take(0, relearned=True)
    assert COUNTED not in shown(worker.metrics)
    worker.take(3)
    assert shown(worker.metrics)[COUNTED] == {("note",): 1.0, ("more",): 1.0}, "offset 5 alone is new"


def test_events_that_wait_for_labels_are_counted_once_when_they_arrive() -> None:
    worker = ReportingWorker(unknown_fields="count")
    worker.reporter.advanced(worker.task, records(EVENTS), None, 0)
    worker.reporter.advanced(worker.task, None, Outputs(len(EVENTS), np.arange(len(EVENTS))), 0)
    assert shown(worker.metrics)[COUNTED] == {("note",): 2.0, ("more",): 1.0}


def test_without_the_option_no_event_is_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object) -> None:
        raise AssertionError("somebody counts")

    monkeypatch.setattr(UnknownFields, "__init__", refused)
    monkeypatch.setattr(UnknownFields, "count", refused)
    worker = ReportingWorker()
    worker.take(0)
    assert COUNTED not in shown(worker.metrics)
    assert worker.lines() == []
    with pytest.raises(AssertionError, match="somebody counts"):
        ReportingWorker(unknown_fields="count")


@pytest.mark.parametrize(
    ("form", "choice", "words"),
    [
        ("json", "all", "unknown-fields must be one of ignore, count"),
        ("packed", "count", "packed events have no fields: leave --unknown-fields out"),
    ],
)
def test_formats_without_fields_are_refused(form: str, choice: str, words: str) -> None:
    with pytest.raises(UsageFailure) as caught:
        WorkerSettings("h:1", "EVENTS", "g", model_settings(form=form), unknown_fields=choice)
    assert str(caught.value) == words


def test_the_config_table_event_may_set_the_option(tmp_path: Path) -> None:
    config = tmp_path / "c.toml"
    config.write_text('[event]\nfeature = ["amount"]\nunknown-fields = "count"\n')
    defaults = read_config(str(config))
    assert defaults["worker"]["unknown_fields"] == "count"
    assert "unknown_fields" not in defaults["audit"]
    assert defaults["audit"]["feature"] == ["amount"]
    config.write_text('[event]\nfeature = ["amount"]\nunknown-fields = "some"\n')
    done = CliRunner().invoke(cli.main, ["--config", str(config), "worker", "--input", "E", "--group", "g"])
    assert done.exit_code == 2
    assert "'some' is not one of 'ignore', 'count'" in done.output
