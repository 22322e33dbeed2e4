"""Read a model file with whose champion's state a model should begin, and check whether the group can use it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePath

from driftway.learners.spec import Spec
from driftway.worker.errors import Failure, UsageFailure
from driftway.worker.settings import ModelSettings
from driftway.worker.state.factory import make_learner
from driftway.worker.state.model import Model
from driftway.worker.state.model_file import ModelFile
from driftway.worker.state.plans.file_state import StoredLearner, state_of, why_other
from driftway.worker.state.plans.model_plan import PlannedModel
from driftway.worker.state.plans.transition import named_columns
from driftway.worker.wire.codec import read_json, write_json
from driftway.worker.wire.events import Target


def from_file(file: ModelFile, group: Model) -> PlannedModel:
    """Return a model that begins with the state of a file's champion.

    Parameters
    ----------
    file : ModelFile
        The file.
    group : Model
        The model of one of the group's partitions, which has had an event.

    Raises
    ------
    UsageFailure
        The group's models learn something else, or from other features.
    Failure
        The file holds no learner yet, cannot be used by this version, or its state is too large.
    """
    if file.saved.schema is None:
        raise Failure(f"{file.name} holds no learner yet: it was written before the first usable event")
    theirs = file.model()
    spec = theirs.settings.specs[0]
    _require_same(file.name, theirs.settings, group.settings)
    identity = read_json(write_json(theirs.champion.identity()))
    memory, calibration = theirs.champion.state.memory.tobytes(), theirs.monitors.confidence.champion_state
    stored = StoredLearner(identity, named_columns(theirs.schema, theirs.columns), memory, calibration)
    learner = make_learner(spec, group.settings, len(group.columns))
    if (why := why_other(stored, learner, named_columns(group.schema, group.columns))) is not None:
        if theirs.settings.standardize != group.settings.standardize:
            has, lacks = ("the file", "the group") if theirs.settings.standardize else ("the group", "the file")
            why = f"{has} standardises the features, {lacks} does not"
        raise UsageFailure(f"{spec.text} cannot start from model file {file.name}: {why}")
    return PlannedModel(spec, file=state_of(PurePath(file.name).name, stored))


def _require_same(name: str, theirs: ModelSettings, group: ModelSettings) -> None:
    """Check that a file's model predicts the same, behind the same feature maps.

    Raises
    ------
    UsageFailure
        It does not.
    """
    pairs = (_described(theirs.target), _described(group.target)), (_listed(theirs.maps), _listed(group.maps))
    for ours, other in pairs:
        if ours != other:
            raise UsageFailure(f"model file {name} has {ours}, the group {other}")
    labels = theirs.target.labels, group.target.labels
    if all(labels) and labels[0] != labels[1]:
        raise UsageFailure(f"model file {name} has the labels {','.join(labels[0])}, the group {','.join(labels[1])}")


def _described(target: Target) -> str:
    return f"{target.task} with {target.n_classes} classes" if target.n_classes else target.task


def _listed(maps: Sequence[Spec]) -> str:
    return f"the feature maps {', '.join(spec.text for spec in maps)}" if maps else "no feature map"
