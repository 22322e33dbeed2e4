"""A plan: the models of a group, champion first, and how each begins when a partition adopts the plan.

Plans are numbered. The first contains the learners that the workers were started with; `driftway models` writes the
next ones. A partition adopts each plan at one offset: the models of the previous plan predict the rows before
it, and those of this plan the rows from it on. When a partition adopts a plan, a model

1. keeps its state, if the partition has a model of that name, whether as champion or as challenger; with other
   features it keeps what it has learned of those that stay, or is marked as `anew` and begins as any other new one;
2. or begins with the state of the model that `origin` names, if the partition has one and its state has the same
   fields: then only parameters change;
3. or begins with the state that it would have had if it had learned all rows before that offset that the log held,
   if it is marked as `relearned`;
4. or begins with the state of a model file: of one in the topic of plans, see `driftway.worker.state.plans.file_state`,
   or of the one that the workers were started with;
5. or begins empty.

Features and monitoring belong to a plan, too, see `driftway.worker.state.plans.configuration`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from driftway.learners.spec import Spec
from driftway.worker.errors import plural
from driftway.worker.settings import ModelSettings
from driftway.worker.state.delayed_labels.merge_order import MergePosition
from driftway.worker.state.plans.configuration import AS_OPTIONS, Configuration
from driftway.worker.state.plans.file_state import FileState
from driftway.worker.state.plans.relearned_from import RelearnedFrom
from driftway.worker.state.stored_fields import Malformed, StoredFields, partition_number, whole_number
from driftway.worker.warm_start import FROZEN, WARM, WarmStart
from driftway.worker.wire.codec import write_json

FIRST = 1
"""Number of the plan that the workers' options name."""
MAX_MODELS = 1000


@dataclass(frozen=True)
class PlannedModel:
    """One model of a plan.

    Parameters
    ----------
    spec : Spec
        The learner with its parameters; its text is the model's name.
    origin : str
        Name of the model whose state it begins with where it is new; empty: with that of no model.
    start : str
        WARM or FROZEN: the model that the workers started with --warm-start, which begins with the file's state where
        it is new. Empty: any other.
    relearned : bool
        Whether it begins, where it is new, with what it would have learned from the partition's log.
    file : FileState or None
        The state from a model file with which it begins where it is new, and there is no model `origin`.
    anew : bool
        Whether it is new though the plan before has a model of that name: its state cannot go on with other features.
    """

    spec: Spec
    origin: str = ""
    start: str = ""
    relearned: bool = False
    file: FileState | None = None
    anew: bool = False

    @property
    def name(self) -> str:
        """The model's name in outputs."""
        return f"{self.start}:{self.spec.text}" if self.start else self.spec.text

    def as_dict(self) -> dict[str, Any]:
        """The model as stored."""
        return {
            "learner": self.spec.text,
            **({"from": self.origin} if self.origin else {}),
            **({"start": self.start} if self.start else {}),
            **({"relearned": True} if self.relearned else {}),
            **({} if self.file is None else {"file": self.file.as_dict()}),
            **({"anew": True} if self.anew else {}),
        }

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
        origin, start = (fields.text(name) if fields.has(name) else "" for name in ("from", "start"))
        if start not in ("", WARM, FROZEN):
            raise Malformed(f"start is {start}, not {WARM} or {FROZEN}")
        file = FileState.of_fields(fields.object("file")) if fields.has("file") else None
        relearned, anew = (fields.has(name) and fields.flag(name) for name in ("relearned", "anew"))
        return cls(spec, origin, start, relearned, file, anew)


@dataclass(frozen=True)
class ModelPlan:
    """A numbered plan.

    Parameters
    ----------
    number : int
        From 1 on, in the order of writing.
    models : tuple of PlannedModel
        The champion first, then its challengers.
    offsets : mapping
        Partition -> input offset at which it adopts the plan; the others adopt it at their next commit.
    made_at : int
        When it was written, in ms since 1970; 0: unknown.
    change : str
        What was changed, as typed after `driftway models`.
    configuration : Configuration
        Features, detectors, window and accuracy points; what it does not say is as the workers' options say.
    relearn_from : mapping
        Partition -> input offset from which on its new models are relearned; the others relearn all that the log has.
    """

    number: int
    models: tuple[PlannedModel, ...]
    offsets: Mapping[int, int] = field(default_factory=dict)
    made_at: int = 0
    change: str = ""
    configuration: Configuration = AS_OPTIONS
    relearn_from: Mapping[int, int] = field(default_factory=dict)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the models, the champion's first."""
        return tuple(model.name for model in self.models)

    @property
    def champion(self) -> str:
        """Name of the model whose predictions are written."""
        return self.models[0].name

    def relearned_after(self, before: ModelPlan) -> tuple[PlannedModel, ...]:
        """The models that must be relearned where a partition adopts this plan after the plan `before`."""
        new = (model for model in self.models if model.anew or model.name not in before.names)
        return tuple(model for model in new if model.relearned)

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

    @property
    def warm_model(self) -> int | None:
        """Number of the model that the workers started with --warm-start; None: it has none."""
        return next((number for number, model in enumerate(self.models) if model.start), None)

    def applied_to(self, settings: ModelSettings) -> ModelSettings:
        """Return a worker's settings, as its options say, with the plan's models and what watches them.

        Raises
        ------
        UsageFailure
            They do not go together.
        """
        warm = settings.warm_model if settings.warm is None else self.warm_model
        specs = tuple(model.spec for model in self.models)
        return replace(self.configuration.applied_to(settings), specs=specs, warm_model=warm)

    def write(self) -> bytes:
        """The plan as stored, JSON."""
        return write_json(self.as_dict())

    def as_dict(self) -> dict[str, Any]:
        """The plan as stored."""
        return {
            "plan": self.number,
            "models": [model.as_dict() for model in self.models],
            **({"at": _stored(self.offsets)} if self.offsets else {}),
            **({"relearn_from": _stored(self.relearn_from)} if self.relearn_from else {}),
            **({"made_at": self.made_at} if self.made_at else {}),
            **({"change": self.change} if self.change else {}),
            **self.configuration.as_dict(),
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
        if not 1 <= len(items) <= MAX_MODELS:
            raise Malformed(f"it has {plural(len(items), 'model')}, not 1 to {MAX_MODELS}")
        models = [PlannedModel.of_fields(StoredFields(item, "models")) for item in items]
        if sum(bool(model.start) for model in models) > 1:
            raise Malformed("two models start with the workers' file")
        if len({model.name for model in models}) < len(models):
            raise Malformed("a model is named twice")
        return cls(
            fields.integer("plan", at_least=FIRST),
            tuple(models),
            offsets_of(fields, "at"),
            fields.integer("made_at") if fields.has("made_at") else 0,
            fields.text("change") if fields.has("change") else "",
            Configuration.of_fields(fields),
            offsets_of(fields, "relearn_from"),
        )


def _stored(offsets: Mapping[int, int]) -> dict[str, int]:
    """Offsets of partitions, whose numbers JSON has as texts."""
    return {str(partition): offset for partition, offset in sorted(offsets.items())}


def offsets_of(fields: StoredFields, name: str) -> dict[int, int]:
    """Parse offsets of partitions; none without such a field."""
    plain = fields.object(name).plain if fields.has(name) else {}
    return {partition_number(text, name): whole_number(offset, name) for text, offset in plain.items()}


@dataclass(frozen=True)
class PlanAdoption:
    """A partition's adoption of a plan: from which offset on, and with which models.

    Parameters
    ----------
    offset : int
        The rows from this input offset on are predicted by the plan's models.
    plan : ModelPlan
        The plan.
    relearned : RelearnedFrom or None
        From which rows its new models were relearned; None: none was.
    """

    offset: int
    plan: ModelPlan
    relearned: RelearnedFrom | None = None

    def why_gone(self, low: MergePosition) -> str:
        """Say why its models cannot be relearned once more, or nothing.

        `low` are the offsets at which the logs of the input and of the label topic begin.
        """
        source = self.relearned
        if source is None or (source.offset >= low.offset and source.begin.label >= low.label):
            return ""
        learned = f"{', '.join(source.models)} of plan {self.plan.number}, adopted at offset {self.offset}, learned the"
        if source.offset < low.offset:
            return f"{learned} rows from offset {source.offset} on, and the log begins at {low.offset}"
        label = source.begin.label
        return f"{learned} labels from offset {label} on, and the log of the label topic begins at {low.label}"

    def write(self) -> bytes:
        """The record about it in the snapshot topic, JSON."""
        relearned = {} if self.relearned is None else self.relearned.as_dict()
        return write_json({"offset": self.offset, **relearned, **self.plan.as_dict()})

    @classmethod
    def parse(cls, value: bytes | None) -> PlanAdoption:
        """Parse such a record.

        Raises
        ------
        Malformed
            It is none.
        """
        fields = StoredFields.parse(value, "it")
        return cls(fields.integer("offset"), ModelPlan.of_fields(fields), RelearnedFrom.of_fields(fields))


def first_plan(
    specs: tuple[Spec, ...], warm: WarmStart | None = None, configuration: Configuration = AS_OPTIONS
) -> ModelPlan:
    """Return the plan of learners that workers were started with; `warm`: with what the champion began."""
    champion, *challengers = map(PlannedModel, specs)
    champion = replace(champion, start="" if warm is None else warm.start)
    return ModelPlan(FIRST, (champion, *challengers), configuration=configuration)
