"""A plan: the models of a group, champion first, and how each begins where a partition takes the plan.

Plans are numbered. The first holds the learners that the workers were started with; `driftway models` writes the next
ones. A partition takes each plan at one offset, its place: the rows before it were predicted by the models of the plan
before, the rows from it on by those of this one. Where a partition takes it, a model

1. keeps its state, if the partition has a model of that name, whether as champion or as challenger;
2. or begins with the state of the model that `origin` names, if the partition has one and its state has the same
   fields: then only parameters change;
3. or begins with the state of a model file, see `driftway.worker.state.plans.file_state`;
4. or begins empty.

What watches the models belongs to a plan too, see `driftway.worker.state.plans.monitoring`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from driftway.learners.spec import Spec
from driftway.worker.settings import ModelSettings
from driftway.worker.state.plans.file_state import FileState
from driftway.worker.state.plans.monitoring import AS_OPTIONS, Monitoring
from driftway.worker.state.stored_fields import MOST_PARTITIONS, Malformed, StoredFields, whole_number
from driftway.worker.wire.codec import write_json

FIRST = 1
"""Number of the plan that the workers' options name."""
MOST_MODELS = 1000


@dataclass(frozen=True)
class PlannedModel:
    """One model of a plan.

    Parameters
    ----------
    spec : Spec
        The learner with its parameters; its text is the model's name.
    origin : str
        Name of the model whose state it begins with where it is new; empty: with that of no model.
    file : FileState or None
        The state from a model file with which it begins where it is new, and there is no model `origin`.
    """

    spec: Spec
    origin: str = ""
    file: FileState | None = None

    @property
    def name(self) -> str:
        """The model's name in outputs."""
        return self.spec.text

    def as_dict(self) -> dict[str, Any]:
        """The model as stored."""
        origin = {"from": self.origin} if self.origin else {}
        return {"learner": self.name, **origin, **({} if self.file is None else {"file": self.file.as_dict()})}

    @classmethod
    def of_fields(cls, fields: StoredFields) -> PlannedModel:
        """As `as_dict` has stored it.

        Raises
        ------
        Malformed
            It is something else.
        """
        try:
            spec = Spec.parse(fields.text("learner"))
        except ValueError as error:
            raise Malformed(f"learner: {error}") from None
        file = FileState.of_fields(fields.object("file")) if fields.has("file") else None
        return cls(spec, fields.text("from") if fields.has("from") else "", file)


@dataclass(frozen=True)
class ModelPlan:
    """A numbered plan.

    Parameters
    ----------
    number : int
        From 1 on, in the order of writing.
    models : tuple of PlannedModel
        The champion first, then its challengers.
    places : mapping
        Partition -> input offset at which it takes the plan; the others take it at their next commit.
    made_at : int
        When it was written, in ms since 1970; 0: unknown.
    change : str
        What was changed, as typed after `driftway models`.
    monitoring : Monitoring
        Detectors, window and accuracy points; what it does not say is as the workers' options say.
    """

    number: int
    models: tuple[PlannedModel, ...]
    places: Mapping[int, int] = field(default_factory=dict)
    made_at: int = 0
    change: str = ""
    monitoring: Monitoring = AS_OPTIONS

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the models, the champion's first."""
        return tuple(model.name for model in self.models)

    @property
    def champion(self) -> str:
        """Name of the model whose predictions are written."""
        return self.models[0].name

    @property
    def lacking(self) -> PlannedModel | None:
        """A model whose state from a file has not been read, or cannot be; None: there is none."""
        return next((one for one in self.models if one.file is not None and one.file.learner is None), None)

    @property
    def states(self) -> tuple[FileState, ...]:
        """The states of its models from files."""
        return tuple(model.file for model in self.models if model.file is not None)

    def with_states(self, find: Callable[[FileState], FileState]) -> ModelPlan:
        """Return the plan with the states of its models from files, as `find` returns them."""
        if self.lacking is None:
            return self
        models = (one if one.file is None else replace(one, file=find(one.file)) for one in self.models)
        return replace(self, models=tuple(models))

    def applied_to(self, settings: ModelSettings) -> ModelSettings:
        """Return a worker's settings, as its options say, with the plan's models and what watches them.

        Raises
        ------
        UsageFailure
            They do not go together.
        """
        return replace(self.monitoring.applied_to(settings), specs=tuple(model.spec for model in self.models))

    def write(self) -> bytes:
        """The plan as stored, JSON."""
        return write_json(self.as_dict())

    def as_dict(self) -> dict[str, Any]:
        """The plan as stored."""
        return {
            "plan": self.number,
            "models": [model.as_dict() for model in self.models],
            **({"at": {str(p): offset for p, offset in sorted(self.places.items())}} if self.places else {}),
            **({"made_at": self.made_at} if self.made_at else {}),
            **({"change": self.change} if self.change else {}),
            **self.monitoring.as_dict(),
        }

    @classmethod
    def parse(cls, value: bytes | None) -> ModelPlan:
        """Parse a stored plan.

        Raises
        ------
        Malformed
            It is none.
        """
        return cls.of_fields(StoredFields.parse(value, "it"))

    @classmethod
    def of_header(cls, header: StoredFields) -> ModelPlan | None:
        """The plan in a snapshot's header; None: the first.

        Raises
        ------
        Malformed
            It is none.
        """
        return cls.of_fields(header.object("plan")) if header.has("plan") else None

    @classmethod
    def of_fields(cls, fields: StoredFields) -> ModelPlan:
        """As `parse`, of parsed JSON."""
        items = fields.items("models")
        if not 1 <= len(items) <= MOST_MODELS:
            raise Malformed(f"it has {len(items)} models, not 1 to {MOST_MODELS}")
        models = [PlannedModel.of_fields(StoredFields(item, "models")) for item in items]
        if len({model.name for model in models}) < len(models):
            raise Malformed("a model is named twice")
        places = fields.object("at").plain if fields.has("at") else {}
        return cls(
            fields.integer("plan", least=FIRST),
            tuple(models),
            {_partition(p): whole_number(offset, "at") for p, offset in places.items()},
            fields.integer("made_at") if fields.has("made_at") else 0,
            fields.text("change") if fields.has("change") else "",
            Monitoring.of_fields(fields),
        )


def _partition(text: str) -> int:
    """A partition's number, which JSON has as a text."""
    return whole_number(int(text) if text.isdecimal() and len(text) < 11 else text, "at", most=MOST_PARTITIONS)


@dataclass(frozen=True)
class PlanPlace:
    """Where a partition took a plan.

    Parameters
    ----------
    offset : int
        The rows from this input offset on are predicted by the plan's models.
    plan : ModelPlan
        The plan.
    """

    offset: int
    plan: ModelPlan

    def write(self) -> bytes:
        """The record about it in the snapshot topic, JSON."""
        return write_json({"offset": self.offset, **self.plan.as_dict()})

    @classmethod
    def parse(cls, value: bytes | None) -> PlanPlace:
        """Parse such a record.

        Raises
        ------
        Malformed
            It is none.
        """
        fields = StoredFields.parse(value, "it")
        return cls(fields.integer("offset"), ModelPlan.of_fields(fields))


def first_plan(specs: tuple[Spec, ...], monitoring: Monitoring = AS_OPTIONS) -> ModelPlan:
    """Return the plan of learners that workers were started with."""
    return ModelPlan(FIRST, tuple(map(PlannedModel, specs)), monitoring=monitoring)
