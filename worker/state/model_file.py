"""A model in a file (`*.driftway`): a snapshot that also says where it comes from.

`driftway train` writes one, `driftway snapshot export` makes one from any snapshot, and `--warm-start` starts from the
state of its champion. The format is that of `driftway.worker.state.snapshot`; the header's key `origin` has the
provenance.
"""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np

from driftway.learners.engine.state import limited_to
from driftway.learners.learner import Learner
from driftway.learners.spec import Spec
from driftway.worker.errors import Failure, UsageFailure, read_file
from driftway.worker.kafka.registry.event_format import JSON_FORMAT, EventFormat
from driftway.worker.settings import ModelSettings
from driftway.worker.settings.identity import BEHIND
from driftway.worker.settings.option_values import NO_COVERAGE, LabelWait, SharingOption
from driftway.worker.state import snapshot
from driftway.worker.state.model import Model, SavedState
from driftway.worker.state.plans.model_plan import ModelPlan
from driftway.worker.state.snapshot import DIGEST_BYTES, MAGIC, BadSnapshot, SnapshotContents
from driftway.worker.state.stored_fields import Malformed, StoredFields
from driftway.worker.warm_start import WarmStart
from driftway.worker.wire.codec import PACKED
from driftway.worker.wire.events import Schema, Target
from driftway.worker.wire.schema.feature import REJECT, MissingPolicy
from driftway.worker.wire.schema.schema import READINGS, EventSchema


@dataclass(frozen=True)
class ModelFile:
    """A model file that has been read, or a snapshot read from its topic.

    Parameters
    ----------
    name : str
        Its name in messages: the path.
    contents : SnapshotContents
        Header and state.
    digest : str
        Its digest, in hexadecimal.
    nbytes : int
        Total size in bytes.
    """

    name: str
    contents: SnapshotContents
    digest: str
    nbytes: int

    @property
    def header(self) -> dict[str, Any]:
        """The header, with all its fields."""
        return self.contents.header

    @property
    def saved(self) -> SavedState:
        """The state of learners and metrics."""
        return self.contents.saved

    @property
    def offset(self) -> int:
        """Input offset of the state: the rows before it have been learned."""
        return self.contents.offset

    @property
    def partition(self) -> int:
        """Partition of the state; 0 for a trained model."""
        return self.contents.partition

    @property
    def plan(self) -> ModelPlan | None:
        """The plan of its models, in a snapshot as a worker wrote it; None: the first.

        Raises
        ------
        Failure
            It cannot be read.
        """
        try:
            return ModelPlan.of_header(StoredFields(self.header, snapshot.HEADER))
        except Malformed as error:
            raise self._cannot(error) from None

    @property
    def origin(self) -> dict[str, Any] | None:
        """Where the model comes from; None: a snapshot as a worker wrote it."""
        found = self.header.get("origin")
        return dict(found) if isinstance(found, dict) else None

    def settings(self, form: EventFormat = JSON_FORMAT) -> ModelSettings:
        """The model's settings, for events of that format.

        Raises
        ------
        UsageFailure
            The model has not learned from such events.
        Failure
            The header is invalid, or this version does not know what it names.
        """
        if form.uses_registry and "event" not in self.contents.identity:
            raise UsageFailure(
                f"{self.name} has learned from events without a schema, not {form.name}: give --format json or packed"
            )
        if form.name == PACKED and "event" in self.contents.identity:
            raise UsageFailure(
                f"{self.name} has learned from fields, which packed events do not have: give another --format"
            )
        try:
            plan = self.plan
            found = settings_of(self.contents.identity, form, 0 if plan is None else plan.warm_model)
            return found if plan is None else plan.applied_to(found)
        except (ValueError, UsageFailure) as error:
            raise self._cannot(error) from None

    def model(self, form: EventFormat = JSON_FORMAT) -> Model:
        """The model, at the offset where it was saved.

        Raises
        ------
        UsageFailure
            As `settings`.
        Failure
            This version does not know the learner, or has another state layout for it.
        """
        settings = self.settings(form)
        try:
            with limited_to(self.saved.nbytes):
                model = Model(settings, self.partition, plan=self.plan)
            snapshot.load(self.contents, model)
        except (BadSnapshot, ValueError, Failure) as error:
            raise self._cannot(error) from None
        return model

    def warm_start(self, frozen: bool = False) -> WarmStart:
        """The champion's state, to start from.

        Raises
        ------
        Failure
            As `model`, or the file holds no learner yet.
        """
        if self.saved.schema is None:
            raise Failure(f"{self.name} holds no learner yet: it was written before the first usable event")
        model = self.model()
        state = model.champion.state.memory.tobytes()
        filling = b"" if model.imputer is None else model.imputer.state.memory.tobytes()
        calibration = model.monitors.confidence.champion_state
        return WarmStart(self.name, self.digest, frozen, self.saved.schema, state, filling, calibration)

    def _cannot(self, error: object) -> Failure:
        return Failure(f"{self.name} cannot be used by this version: {error}")


def settings_of(identity: dict[str, Any], form: EventFormat = JSON_FORMAT, warm_model: int | None = 0) -> ModelSettings:
    """The settings of a model of this identity; its features come with the state.

    Parameters
    ----------
    identity : dict
        See `Model.identity`; `model` in a snapshot's header.
    form : EventFormat
        The events' format, which is not part of an identity.
    warm_model : int or None
        Number of the model that began with a model file, if there was one; a plan says it, too.

    Raises
    ------
    ValueError, UsageFailure
        `identity` is not valid.
    """
    fields = StoredFields(identity, "model")
    pairs = [learner.split(BEHIND) for learner in fields.texts("learners")]
    maps = {", ".join(rest) for _, *rest in pairs}
    if len(maps) > 1:
        raise ValueError("its learners have different feature maps")
    target = Target(fields.text("task"), fields.integer("n_classes"), fields.texts("labels"))
    warm = None
    if fields.has("warm"):
        digest = fields.text("warm")
        warm = WarmStart(digest, digest, fields.has("frozen") and fields.flag("frozen"))
    return ModelSettings(
        tuple(Spec.parse(text) for text, *_ in pairs),
        target,
        form=form.name,
        registry=form.registry,
        registry_properties=form.registry_properties,
        standardize=fields.flag("standardize"),
        maps=tuple(Spec.parse(one) for one in "".join(maps).split(", ") if one),
        window=fields.integer("window"),
        accuracy_every=fields.integer("accuracy_every"),
        detectors=tuple(map(Spec.parse, fields.texts("detectors"))) if fields.has("detectors") else (),
        coverage=fields.share("coverage") if fields.has("coverage") else NO_COVERAGE,
        events=_events(fields.object("event")) if fields.has("event") else None,
        wait=LabelWait.parse(fields.text("label_wait")) if fields.has("label_wait") else None,
        share=SharingOption.parse(fields.text("share")) if fields.has("share") else None,
        missing=MissingPolicy.parse(fields.text("missing") if fields.has("missing") else REJECT),
        indicators=fields.has("missing_indicators") and fields.flag("missing_indicators"),
        warm=warm,
        warm_model=0 if warm is None else warm_model,
    )


def _events(fields: StoredFields) -> EventSchema:
    """As `EventSchema.of_dict`, after a check of the types."""
    for name in fields.plain:
        if name == "features":
            fields.texts(name)
        elif name in ("indicators", *READINGS):
            fields.flag(name)
        else:
            fields.text(name)
    if not fields.has("features"):
        raise Malformed("it lacks features")
    return EventSchema.of_dict(fields.plain)


def pack(model: Model, saved: SavedState, offset: int, origin: dict[str, Any] | None = None) -> bytes:
    """Serialise a file with that model, whose state is at input offset `offset`."""
    return snapshot.write(model, saved, offset, origin)


def trained(
    learner: Learner,
    names: Sequence[str] | None,
    target: Target,
    origin: dict[str, Any],
    reading: ModelSettings | None = None,
    filling: bytes = b"",
) -> bytes:
    """Serialise a file with one learner, from a registry or behind wrappers, that was trained elsewhere.

    Parameters
    ----------
    learner : Learner
        The trained learner, created without standardiser and feature maps, as by `Spec.create`.
    names : sequence of str or None
        Names of the features in the order of its columns, if they have names.
    target : Target
        What it predicts.
    origin : dict
        Its provenance.
    reading : ModelSettings or None
        Settings with the schema of its events, and the policy for missing values; None: it has neither.
    filling : bytes
        State of the imputer.

    Raises
    ------
    ValueError
        The learner's name and parameters create a different learner.
    """
    defaults = {field.name: field.default for field in fields(learner.parameters)}
    given = {name: value for name, value in learner.parameters.as_dict().items() if value != defaults[name]}
    spec = Spec(learner.name, tuple((name, _text(value)) for name, value in given.items()))
    # A learner that is not standardizable, such as `scaled:`, never gets a standardiser, whatever the settings say.
    standardize = not learner.standardizable
    settings = ModelSettings((spec,), target, learner.n_features, standardize=standardize)
    if reading is not None:
        n = learner.n_features // (2 if reading.indicators else 1)
        settings = replace(settings, n_features=None if reading.events is not None else n, events=reading.events)
        settings = replace(settings, missing=reading.missing, indicators=reading.indicators)
    model = Model(settings, 0)
    if model.champion.identity() != learner.identity():
        raise ValueError(f"{spec.text} makes a different learner than the trained one")
    model.champion.state.memory[:] = learner.state.memory
    if model.imputer is not None and filling:
        model.imputer.state.memory[:] = np.frombuffer(filling, np.uint8)
    saved = model.save()
    n_features = model.schema.n_features if model.schema is not None else learner.n_features
    schema = Schema(n_features, None if names is None else tuple(names))
    return pack(model, replace(saved, schema=schema), 0, origin)


def _text(value: Any) -> str:
    """A parameter's value as written in a spec."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def unpack(blob: bytes, name: str) -> ModelFile:
    """Parse the bytes of a file, or of a snapshot.

    Parameters
    ----------
    blob : bytes
        All of them.
    name : str
        Its name in messages.

    Raises
    ------
    Failure
        The bytes are truncated, altered, no model file, or of a newer format.
    """
    if blob[:3] != MAGIC[:3]:
        raise Failure(f"{name} is not a model file of Driftway")
    try:
        contents = snapshot.parse(blob)
    except BadSnapshot as error:
        raise Failure(f"{name} cannot be used: {error}") from None
    return ModelFile(name, contents, blob[-DIGEST_BYTES:].hex(), len(blob))


def load(path: str | Path) -> ModelFile:
    """Read a file.

    Raises
    ------
    UsageFailure
        It cannot be read.
    Failure
        As `unpack`.
    """
    return unpack(read_file(path, max_bytes=None), str(path))


def save(path: str | Path, blob: bytes) -> None:
    """Write a file atomically, replacing one of that name, or the one that a link of that name leads to.

    What is no file, such as a device or a pipe, is written to and keeps its name.

    Raises
    ------
    UsageFailure
        It cannot be written.
    """
    target = Path(os.path.realpath(path))
    part = target.parent / f".{target.name}.{secrets.token_hex(4)}"
    try:
        if os.path.exists(path) and not os.path.isfile(path):
            Path(path).write_bytes(blob)
            return
        with part.open("xb") as out:
            out.write(blob)
            out.flush()
            os.fsync(out.fileno())
        part.replace(target)
    except OSError as error:
        with contextlib.suppress(OSError):
            part.unlink()
        raise UsageFailure(f"cannot write {path}: {error.strerror}") from None
