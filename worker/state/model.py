"""The model of one partition: its schema, learners and metrics, and how a batch advances them.

Pure computation: no Kafka, no clock. The same rows give the same bits, however they are split into batches.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from driftway.learners.engine.update_loop import DelayedRows
from driftway.learners.learner import Learner
from driftway.worker.errors import Failure
from driftway.worker.settings import ModelSettings
from driftway.worker.state.delayed_labels.pending_rows import OrderedBatch, PendingRows
from driftway.worker.state.factory import BACK, allocating, column_names, make_decoder, make_imputer, make_learner
from driftway.worker.state.model_sharing.model_exchange import ModelExchange
from driftway.worker.state.monitoring.confidence import NO_FORM
from driftway.worker.state.monitoring.monitors import Monitors, StateForm
from driftway.worker.state.monitoring.points import rounded_shares
from driftway.worker.state.outputs import Outputs, encoded, merged, of_challengers, written_headers
from driftway.worker.state.plans.configuration import Configuration
from driftway.worker.state.plans.model_plan import FIRST, ModelPlan, first_plan
from driftway.worker.state.plans.transition import PlannedState, carry_over, named_columns
from driftway.worker.wire.codec import short_digest
from driftway.worker.wire.columns import Flags
from driftway.worker.wire.events import Batch, Records, Schema
from driftway.worker.wire.headers import passed_headers
from driftway.worker.wire.rejections import RejectionWindow

if TYPE_CHECKING:
    from driftway.learners.preprocessing.imputation import Imputer

MAX_BYTES = 32 * 2**20
"""Bytes of a batch's values and scores."""


class StateContext(NamedTuple):
    """Of which model a saved state is, and where it stands."""

    settings: ModelSettings
    plan: ModelPlan
    offset: int | None
    """The next input offset; None: not told."""


@dataclass(frozen=True)
class SavedState:
    """A copy of a model's state, to roll back to or to write as a snapshot."""

    schema: Schema | None
    rows: int
    parts: tuple[NDArray[np.uint8], ...]
    recent: Flags | None = None
    """State of `driftway.worker.wire.rejections.RejectionWindow`, only for a rollback: not part of a snapshot."""
    calibration: int = NO_FORM
    """Form of the calibrators in it."""
    context: StateContext | None = field(default=None, compare=False)
    """None: the state was read from a snapshot."""

    @property
    def nbytes(self) -> int:
        """Size of the state in bytes."""
        return sum(part.nbytes for part in self.parts)


class Model:
    """Champion and challengers of one partition, with a set of rolling metrics each.

    Parameters
    ----------
    settings : ModelSettings
        What is learned.
    partition : int
        Partition of the rows; part of the output records.
    group : str
        Consumer group; part of accuracy points.
    plan : ModelPlan or None
        The plan whose models they are; None: the first.
    """

    def __init__(self, settings: ModelSettings, partition: int, group: str = "", plan: ModelPlan | None = None) -> None:
        self.plan = first_plan(settings.specs, settings.warm) if plan is None else plan
        self.settings = settings if plan is None else plan.applied_to(settings)
        self._options = Configuration.of(settings)
        self.partition, self.group, self.rows = partition, group, 0
        self.decoder = make_decoder(self.settings, self._check_schema)
        self._pending: PendingRows | None = None
        self._imputer: Imputer | None = None
        self._learners: list[Learner] = []
        self.monitors = Monitors(settings.target.task, self._identity_fields)
        self.exchange = None if settings.share is None else ModelExchange(settings.share, partition)
        limit = settings.max_rejected
        self._rejection_window = None if limit is None else RejectionWindow(limit, partition)
        self._fit_to_schema()

    @property
    def digests(self) -> list[str]:
        """As `ModelSettings.digests`; empty before the schema is known."""
        return self.monitors.digests

    @property
    def schema(self) -> Schema | None:
        """The schema of the partition's events; None until the settings or the first usable event give it."""
        return self.decoder.schema

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the learners' input columns, in order; empty before the schema is known."""
        return () if self.schema is None else column_names(self.settings, self.schema, self._imputer is not None)

    @property
    def learners(self) -> tuple[Learner, ...]:
        """Champion and challengers, for inspecting their states; empty before the schema is known."""
        return tuple(self._learners)

    @property
    def max_rows(self) -> float:
        """Rows whose values and scores fit into MAX_BYTES, for a batch; infinite before the schema is known."""
        width = sum(learner.n_scores for learner in self._learners)
        return MAX_BYTES // (8 * (self._learners[0].n_features + width)) if width else float("inf")

    @property
    def imputer(self) -> Imputer | None:
        """Fills in missing values; None if no value may be missing, or before the schema is known."""
        return self._imputer

    def advance(self, records: Records, emit: bool = True) -> Outputs:
        """Decode, predict, learn, observe, encode.

        Parameters
        ----------
        records : Records
            The partition's next records.
        emit : bool
            False while replaying after a restore: the state advances, but nothing is encoded.
        """
        batch = self.decode(records)
        outputs = Outputs(batch.next_offset, batch.offsets, rejected=batch.rejected)
        steps = self._ordered(batch)
        outputs.rejected = merged(batch.rejected, steps.rejected)
        scores = [np.empty((len(steps.batch), learner.n_scores)) for learner in self._learners]
        if self.exchange is not None:
            self.exchange.plan_rounds(steps.batch.y, emit)
        weights = [self._learn(i, steps, score) for i, score in enumerate(scores)]
        if self.exchange is not None:
            outputs.shares = self.exchange.finish_rounds(steps.batch.offsets)
        observed = self.monitors.observe(steps, scores, weights, self._pending, emit)
        outputs.alarms, outputs.points = observed.alarms, observed.points
        self.rows += len(batch)
        if emit and len(batch):
            own, *others = (learner.kind for learner in self._learners)
            emitted = [one.at(steps.row_operations) for one in observed.models]
            plan = self.plan.number
            outputs.keys = batch.keys
            outputs.predictions = encoded(batch, emitted[0], own, self.settings, plan)
            asked = self.settings.pass_headers
            passed = passed_headers(batch.headers, asked) if asked else None
            outputs.headers = written_headers(batch, self.settings, passed)
            outputs.challengers = of_challengers(batch, emitted[1:], others, self.settings, plan, passed)
        if emit and self._rejection_window is not None:
            outputs.excess = self._rejection_window.observe(batch.offsets, outputs.rejected)
        return outputs

    def _ordered(self, batch: Batch) -> OrderedBatch:
        """Arrange the batch in learning order, cut into segments at the accuracy points."""
        every = self.settings.accuracy_every
        cuts = list(range(every - self.rows % every, len(batch) + 1, every))
        return OrderedBatch.of_rows(batch, cuts) if self._pending is None else self._pending.arrange(batch, cuts)

    def _learn(self, i: int, steps: OrderedBatch, score: NDArray[np.float64]) -> list[dict[str, float]]:
        """Predict, and learn unless frozen; return the expert weights of a mixture after each segment."""
        learner, batch, weights = self._learners[i], steps.batch, []
        spans = [(0, len(batch))] if self.exchange is None else self.exchange.segments(i, len(batch))
        segments = [piece[:2] for piece in steps.segments] if learner.mixes else spans  # mixtures are not shared
        for start, end in segments:
            X, y, s = batch.X[start:end], batch.y[start:end], score[start:end]
            if i == self.settings.only_predicts:
                learner.predict(X, s)
            elif self._pending is not None:
                delayed = DelayedRows(steps.slot[start:end], self._pending.cached_predictions[i])
                learner.predict_then_update_delayed(X, y, s, delayed)
            else:
                learner.predict_then_update(X, y, s)
            if learner.mixes:
                weights.append(rounded_shares(learner))
        return weights

    def decode(self, records: Records) -> Batch:
        """Decode records without learning; the first usable event creates the learners, which need its shape.

        The fill-in values depend on all rows so far, so each record must be decoded exactly once.
        """
        batch = self.decoder.decode(records)
        self._fit_to_schema()
        if self._imputer is not None:
            batch.X = self._imputer.transform(batch.X)
        return batch

    def count_awaited(self, labels: Records) -> int:
        """Return how many of the first of these labels, of a label topic, are awaited by rows; changes nothing."""
        found = self.decoder.decode(replace(labels, label_offsets=labels.offsets)).labels
        return 0 if self._pending is None or found is None else self._pending.count_awaited(found, labels.offsets)

    def latest_points(self) -> dict[str, dict[str, Any]]:
        """Learner -> its current rolling metrics, for the endpoint."""
        return self.monitors.latest_points()

    def experts(self) -> dict[str, dict[str, float]]:
        """Learner -> its current expert weights, for mixtures only."""
        pairs = zip(self.settings.names, self._learners, strict=False)
        return {name: learner.experts() for name, learner in pairs if learner.mixes}

    def delay_metrics(self) -> dict[str, int]:
        """See `PendingRows.delay_metrics`; empty if labels are never late."""
        return {} if self._pending is None else self._pending.delay_metrics()

    def save(self, offset: int | None = None) -> SavedState:
        """Copy the state, which stands at input offset `offset`."""
        recent = None if self._rejection_window is None else self._rejection_window.save()
        waiting = () if self._pending is None else (self._pending.save(),)
        parts = (*(part.copy() for part in self.parts()), *waiting)
        context = StateContext(self.settings, self.plan, offset)
        return SavedState(self.schema, self.rows, parts, recent, self.form.calibration, context)

    def load(self, saved: SavedState) -> None:
        """Restore a saved state bit for bit.

        Raises
        ------
        ValueError
            Its parts do not fit this model's learners and metrics, or are damaged.
        """
        if self.settings.shape is None:
            self.decoder.schema = saved.schema
            self._learners, self._imputer, self._pending = [], None, None
            self.monitors.end()
            self.exchange = None if self.exchange is None else self.exchange.clone_empty()
            self.continue_as(StateForm(self.form.tests_challengers, saved.calibration))
            self._fit_to_schema()
        elif saved.calibration != self.form.calibration:
            self.continue_as(StateForm(self.form.tests_challengers, saved.calibration))
        parts, theirs = self.parts(), list(saved.parts)
        if self._pending is not None and theirs:
            self._pending.load(theirs.pop())
        if self.monitors.tests.continue_without(len(theirs), len(parts)):
            parts = self.parts()
        if [part.nbytes for part in parts] != [part.nbytes for part in theirs]:
            raise ValueError(f"the saved state has other sizes than these learners; {BACK}")
        for one, memory in zip(self._learners, theirs, strict=False):
            one.check_state(memory)
        self.monitors.check(theirs[len(self._learners) :])
        for part, memory in zip(parts, theirs, strict=True):
            part[:] = memory
        if self._pending is not None:
            self.monitors.check_waiting(self._pending)
        self.rows = saved.rows
        if self._rejection_window is not None:
            self._rejection_window.load(saved.recent)

    def followed_by(self, plan: ModelPlan) -> Model:
        """Return the model of the next plan, which goes on with the same rows; this one is used no more.

        Raises
        ------
        Failure, UsageFailure
            It cannot be: a learner does not fit the rows, or needs more memory than there is.
        """
        following = Model(self._options.applied_to(self.settings), self.partition, self.group, plan)
        following.rows = self.rows
        following.decoder.set_aside_from = self.decoder.set_aside_from
        if following.schema is None:
            following.decoder.schema = self.schema
        following.continue_as(self.form)
        following._fit_to_schema()
        if following._rejection_window is not None and self._rejection_window is not None:
            following._rejection_window.load(self._rejection_window.save())
        carry_over(self.planned, following.planned)
        return following

    @property
    def form(self) -> StateForm:
        """What the states of its history have."""
        return self.monitors.form

    def continue_as(self, form: StateForm) -> None:
        """Before the first row: keep only what the states of a history have."""
        self.monitors.continue_as(form)
        if self._learners:
            self._watch()

    def identity(self) -> dict[str, Any]:
        """Everything that a stored state must match before it may be loaded."""
        return {**self.settings.identity(), "states": [learner.identity() for learner in self._learners]}

    def continue_schema(self, written: Any) -> bool:
        """Read events as a state does that is loaded next, if its schema, as in `identity`, is from before units."""
        events = self.settings.events
        continued = None if events is None else events.continuing(written)
        if continued is None:
            return False
        self.settings = replace(self.settings, events=continued)
        set_aside_from = self.decoder.set_aside_from
        self.decoder = make_decoder(self.settings, self._check_schema)
        self.decoder.set_aside_from = set_aside_from
        self._note_identity(continued.shape)
        return True

    def parts(self) -> list[NDArray[np.uint8]]:
        """The states in the order of a saved one, without the rows that wait for their labels, which come last."""
        imputer = [] if self._imputer is None else [self._imputer.state.memory]
        exchange = [] if self.exchange is None else self.exchange.parts()
        return [learner.state.memory for learner in self._learners] + self.monitors.parts() + imputer + exchange

    def _check_schema(self, found: Schema) -> Schema:
        """Return the schema to use, given that of the first usable event.

        Raises
        ------
        Failure
            It differs from the model file's.
        """
        warm = self.settings.warm
        return found if warm is None else warm.admit(found, f"the first usable event of partition {self.partition}")

    def _fit_to_schema(self) -> None:
        """Create the learners once the number of features is known.

        Raises
        ------
        Failure
            Their state cannot be allocated, or a parameter does not fit the number of features.
        """
        if self._learners or self.schema is None:
            return
        settings = self.settings
        self._imputer = make_imputer(settings, self.schema)
        d = self.schema.n_features if self._imputer is None else self._imputer.width
        for spec in settings.specs:
            with allocating(spec.text, d):
                self._learners.append(make_learner(spec, settings, d))
        if settings.warm is not None and settings.warm.state and settings.warm_model is not None:
            self._learners[settings.warm_model].state.memory[:] = np.frombuffer(settings.warm.state, np.uint8)
        self._pending = None if settings.wait is None else PendingRows(settings.wait, d, self._learners)
        with allocating(", ".join(settings.names), d):
            self._watch()
        self._note_identity(self.schema)

    def _watch(self) -> None:
        self.monitors.begin(self._learners, self.settings, self._pending)

    def _note_identity(self, schema: Schema) -> None:
        """Pass the digests of the learners to whoever writes them."""
        settings = self.settings
        self.monitors.digests = settings.digests([learner.identity() for learner in self._learners])
        if self.exchange is not None:
            digest = short_digest([self.digests, schema.names])
            self.exchange.attach(self._learners, digest, settings.only_predicts, self.plan.number > FIRST)
        identity = {"learner": settings.names[0], **self._identity_fields(self.digests[0])}
        self.monitors.watch_drift(settings, self._learners[0].kind, identity)

    @property
    def planned(self) -> PlannedState:
        """The plan, with all that has a state under it."""
        names = named_columns(self.schema, self.columns)
        states = self._learners, self.monitors, self._pending, self.exchange, self._imputer
        return PlannedState(self.plan, self.settings, names, *states)

    def _identity_fields(self, digest: str) -> dict[str, Any]:
        """The fields of accuracy points and alarms that say of which group, model and plan they are."""
        plan = {"plan": self.plan.number} if self.plan.number > FIRST else {}
        return {"group": self.group, "model_digest": digest, **plan}

    @property
    def champion(self) -> Learner:
        """The learner whose predictions are written.

        Raises
        ------
        Failure
            There is none before the first usable event.
        """
        if not self._learners:
            raise Failure(f"partition {self.partition} has had no usable event yet: there is no learner")
        return self._learners[0]
