"""--start OFFSET: accepted values, where a group begins, and what the restore policies do with such a group."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import pytest
from click.testing import CliRunner

from driftway.cli import main
from driftway.worker.errors import CannotRestore
from driftway.worker.kafka.deadline import Deadline
from driftway.worker.kafka.log_reader.topic_facts import TopicIds
from driftway.worker.settings import RESET, WorkerSettings
from driftway.worker.state.changelog.snapshot_scan import SnapshotScan
from driftway.worker.state.input_read import NOTHING_KNOWN, InputRead
from driftway.worker.state.model import Model
from driftway.worker.stream.task.restoring.last_commit import LastCommit
from driftway.worker.stream.task.restoring.restore_context import RestoreContext
from driftway.worker.stream.task.restoring.restore_result import RestoreResult, first_offset
from driftway.worker.stream.task.restoring.restore_sources import RestoreSources
from tests.unit.worker.rows import drifting, model_settings
from tests.unit.worker.trained import CHAMPION, perceptron, written


@pytest.mark.parametrize("value", ["-1", "soon", "1.5", "9223372036854775807", "\u0663"])
@pytest.mark.parametrize("command", ["worker", "audit"])
def test_start_is_a_word_or_an_offset(command: str, value: str) -> None:
    done = CliRunner().invoke(main, [command, "--input", "EVENTS", "--group", "g", f"--start={value}"])
    assert done.exit_code == 2
    assert f"{value!r} is neither earliest, latest nor an offset." in done.stderr


@pytest.mark.parametrize(("start", "offset"), [("earliest", 100), ("latest", 900), (100, 100), (500, 500), (900, 900)])
def test_a_new_group_begins_where_start_says(start: str | int, offset: int) -> None:
    given = WorkerSettings("b:1", "EVENTS", "g", model_settings(), start=start)
    assert first_offset(given, 2, 100, 900) == offset


@pytest.mark.parametrize("start", [0, 99, 901])
def test_an_offset_outside_the_log_is_refused(start: int) -> None:
    given = WorkerSettings("b:1", "EVENTS", "g", model_settings(), start=start)
    with pytest.raises(CannotRestore) as caught:
        first_offset(given, 2, 100, 900)
    assert str(caught.value) == f"cannot start EVENTS/2 at offset {start}: the log holds 100 to 900"


@pytest.mark.parametrize(("start", "low", "again"), [(500, 100, 500), (500, 600, 600), ("earliest", 100, 100)])
@pytest.mark.parametrize("warm", [False, True])
def test_restore_policies_respect_where_and_how_a_group_began(
    tmp_path: Path, start: str | int, low: int, again: int, warm: bool
) -> None:
    """No older snapshot was found, so the restore reads nothing, and no reader is needed."""
    model, learner = model_settings(), "an empty learner"
    if warm:
        began = written(tmp_path / "m.driftway", perceptron(*drifting())).warm_start()
        model, learner = model_settings(CHAMPION, warm=began), "the model file's learner"

    def sources(**policy: str) -> RestoreSources:
        given = WorkerSettings("b:1", "EVENTS", "g", model, start=start, **policy)  # type: ignore[arg-type]
        nothing: Any = None
        context = RestoreContext(
            given, 2, nothing, lambda plan=None: Model(model, 2, plan=plan), Deadline(1), nothing, nothing
        )
        last, scan = LastCommit(None, 900, None, False, None), SnapshotScan(2, low, 900)
        return RestoreSources(context, last, 900, low, 1000, None, scan=scan)

    with pytest.raises(CannotRestore) as caught:
        sources().by_policy("the reason")
    assert str(caught.value) == (
        "cannot restore EVENTS/2: the reason; --on-restore-failure replay relearns the log from offset "
        f"{again}, reset starts with {learner} at 900"
    )
    found = sources(on_restore_failure=RESET).by_policy("the reason")
    assert found.note == f"the reason; starting with {learner}, as configured"
    assert (found.position, found.committed, found.history_start) == (900, 900, 900)


@pytest.mark.parametrize(("known", "offers"), [(True, ("earliest", "latest")), (False, ("earliest",))])
def test_a_log_shorter_than_the_committed_offset_may_be_a_new_topic_without_its_id(
    known: bool, offers: tuple[str, ...]
) -> None:
    """No option may skip rows that were never predicted, so `latest` is refused where the topic may be another one."""
    read = InputRead(0, 900, "same") if known else NOTHING_KNOWN

    def sources(policy: str) -> RestoreSources:
        given, nothing = (
            WorkerSettings("b:1", "EVENTS", "g", model_settings(), on_offset_out_of_range=policy),
            cast(Any, None),
        )
        ids, model = TopicIds("same"), Model(model_settings(), 2)
        context = RestoreContext(given, 2, nothing, lambda: model, Deadline(1), nothing, nothing, ids)
        return RestoreSources(context, LastCommit(None, 900, None, False, None, read), 900, 0, 5, None)

    found = RestoreResult(None, 900, 900, None)
    with pytest.raises(CannotRestore, match="the log holds 0 to 5: it ends before the committed offset") as caught:
        sources("fail").by_offset_policy(found)
    assert ("latest predicts" in str(caught.value)) == known
    for policy in ("earliest", "latest"):
        if policy not in offers:
            with pytest.raises(CannotRestore):
                sources(policy).by_offset_policy(found)
        else:
            assert sources(policy).by_offset_policy(found).position == (0 if policy == "earliest" else 5)
