"""A task records where it begins to write other models' predictions, and completes earlier outputs as they were."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from driftway.worker.settings.option_values import CHAMPION_ONLY, EVERY_MODEL
from driftway.worker.state.changelog.emission import Emission
from driftway.worker.state.changelog.output_keys import Key
from driftway.worker.state.model import Model
from driftway.worker.stream.task.restoring.output_repair import MissingOutputs
from driftway.worker.stream.task.restoring.restore_result import RestoreResult
from driftway.worker.stream.task.task import Task
from tests.unit.worker.rows import events, records
from tests.unit.worker.stream.recording_checkpoint import MODEL, RecordingCheckpoint, worker_settings

TOPICS = worker_settings().topics
CHALLENGER = MODEL.names[1].encode()
WHOLE = records(events(120))


def restored(emit: str, found: RestoreResult) -> tuple[Task, RecordingCheckpoint]:
    settings, checkpoint = worker_settings(), RecordingCheckpoint()
    task = Task(replace(settings, model=replace(MODEL, emit=emit)), 3, checkpoint)
    task.restore_from(found)
    return task, checkpoint


def rows_of_challenger(checkpoint: RecordingCheckpoint) -> list[int]:
    """Rows whose prediction by the challenger was written."""
    return [offset for out in checkpoint.pending for one in out.challengers for offset, _ in one.identities()]


@pytest.mark.parametrize(
    ("before", "emit", "recorded"),
    [
        (CHAMPION_ONLY, CHAMPION_ONLY, ()),
        (CHAMPION_ONLY, EVERY_MODEL, (Emission(40, EVERY_MODEL),)),
        (EVERY_MODEL, EVERY_MODEL, ()),
        (EVERY_MODEL, CHAMPION_ONLY, (Emission(40, CHAMPION_ONLY),)),
        (None, EVERY_MODEL, (Emission(40, EVERY_MODEL),)),
        (None, CHAMPION_ONLY, (Emission(40, CHAMPION_ONLY),)),
    ],
)
def test_a_change_is_recorded_once_where_the_task_continues(
    before: str | None, emit: str, recorded: tuple[Emission, ...]
) -> None:
    model = Model(MODEL, 3)
    model.advance(WHOLE.before(20), emit=False)
    task, checkpoint = restored(emit, RestoreResult(model, 20, 40, None, emitted=before))
    task.advance(WHOLE.before(60).after(20))
    assert rows_of_challenger(checkpoint) == (list(range(40, 60)) if emit == EVERY_MODEL else [])
    failed = task.begin_commit().request
    assert (failed.emissions, failed.record.emit) == (recorded, emit)
    task.reset()
    task.restore_from(RestoreResult(None, 40, 40, None, emitted=before))
    task.advance(WHOLE.before(80).after(40))
    commit = task.begin_commit()
    assert commit.request.emissions == recorded
    task.end_commit(commit, None)
    task.advance(WHOLE.before(90).after(80))
    assert task.begin_commit().request.emissions == ()


def repaired(emit: str, recorded: Mapping[int, str], present: Mapping[str, set[Key]], **more: Any) -> tuple[Task, Any]:
    """A task that has completed the outputs of rows 20 to 79, and gone on."""
    missing = MissingOutputs(20, 80, present, **more).with_emissions(recorded, TOPICS)
    model = Model(MODEL, 3)
    model.advance(WHOLE.before(20), emit=False)
    # A commit record may say of the last row alone whose predictions were written.
    before = missing.emissions.at(19) if missing.unrecorded_from is not None else missing.emissions.at(79)
    task, checkpoint = restored(emit, RestoreResult(model, 20, 20, None, missing_outputs=missing, emitted=before))
    for start in range(20, 120, 7):
        task.advance(WHOLE.before(min(120, start + 7)).after(start))
    return task, checkpoint


@pytest.mark.parametrize("emit", [CHAMPION_ONLY, EVERY_MODEL])
def test_earlier_outputs_are_completed_as_they_were(emit: str) -> None:
    there: set[Key] = {(45, CHALLENGER), (46, b"another"), (47, None)}
    task, checkpoint = repaired(
        emit, {40: EVERY_MODEL, 60: CHAMPION_ONLY, 70: EVERY_MODEL}, {TOPICS.challengers: there}
    )
    once = [*range(40, 45), *range(46, 60), *range(70, 80)]
    assert rows_of_challenger(checkpoint) == once + (list(range(80, 120)) if emit == EVERY_MODEL else [])
    recorded = () if emit == EVERY_MODEL else (Emission(80, CHAMPION_ONLY),)
    assert task.begin_commit().request.emissions == recorded
    assert sum(out.rows for out in checkpoint.pending) == 40, "the champion's are there"


def test_nothing_is_written_again_to_a_complete_topic() -> None:
    _, checkpoint = repaired(EVERY_MODEL, {0: EVERY_MODEL}, {TOPICS.predictions: set()})
    assert rows_of_challenger(checkpoint) == list(range(80, 120))
    assert sum(out.rows for out in checkpoint.pending) == 100


@pytest.mark.parametrize("emit", [CHAMPION_ONLY, EVERY_MODEL])
def test_a_change_visible_only_in_the_outputs_is_recorded_with_their_completion(emit: str) -> None:
    """The commit records of rows 20 to 79 are gone, with what they said of a change."""
    seen: dict[str, set[Key]] = {TOPICS.predictions: {(30, None)}, TOPICS.challengers: {(30, CHALLENGER)}}
    task, checkpoint = repaired(emit, {}, seen, unrecorded_from=20)
    assert rows_of_challenger(checkpoint) == [
        row for row in range(20, 120) if row != 30 and (row < 80 or emit == EVERY_MODEL)
    ]
    later = () if emit == EVERY_MODEL else (Emission(80, CHAMPION_ONLY),)
    assert task.begin_commit().request.emissions == (Emission(20, EVERY_MODEL), *later)


def test_outputs_without_records_are_not_extended_by_other_models_predictions() -> None:
    seen: dict[str, set[Key]] = {TOPICS.predictions: {(30, None)}, TOPICS.challengers: {(10, CHALLENGER)}}
    task, checkpoint = repaired(EVERY_MODEL, {5: EVERY_MODEL, 15: CHAMPION_ONLY}, seen, unrecorded_from=20)
    assert rows_of_challenger(checkpoint) == list(range(80, 120))
    assert task.begin_commit().request.emissions == (Emission(80, EVERY_MODEL),)
