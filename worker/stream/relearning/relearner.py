"""The models of a partition's next plan while they are relearned in the background, up to the row where they join.

Two threads use one `Relearner`: a background thread that reads the log, and the loop's. While it is far behind, it
learns from the log alone. Once it is near, the loop passes it all rows that the partition's task processes from then
on. So it needs only the part of the log before them, and can reach exactly the task's row at a commit. With a label
topic, the task's rows are merged events and labels; the log is read in the order that the task's merger has recorded.
What it learns does not depend on any of this; only the offset where it joins does, and that is recorded.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from driftway.worker.errors import Failure
from driftway.worker.state.delayed_labels.interleaving import position_after
from driftway.worker.state.delayed_labels.merge_order import MergeOrder, MergePosition
from driftway.worker.state.model import Model
from driftway.worker.state.plans.model_plan import ModelPlan, PlanAdoption
from driftway.worker.state.plans.relearned_from import RelearnedFrom
from driftway.worker.stream.relearning.from_log import followed_by, unlearned
from driftway.worker.wire.columns import ListColumn
from driftway.worker.wire.events import Records, Schema
from driftway.worker.wire.headers import eager_headers

PIECE_SECONDS = 0.002
"""About how long the loop may wait for a piece that is being learned, and learn the last rows itself."""
FIRST_PIECE, LARGEST_PIECE = 64, 1000
"""Rows of a piece: the first ones, whose time per row is not known yet, and any other."""
FORGETTING = 0.9
"""Weight of the pieces so far in the time per row."""
MAX_ROWS, MAX_BYTES = 100_000, 64 * 2**20
"""Rows that may be handed over and not yet learned; above that it goes back to the log."""


class Relearner:
    """Relearns models of a plan for one partition.

    Parameters
    ----------
    live : Model
        The partition's model.
    plan : ModelPlan
        Its next plan.
    names : tuple of str
        The models to relearn.
    position : int
        The offset after the task's last row.
    order : MergeOrder or None
        As in `Relearning.prepare`.

    Raises
    ------
    Failure, UsageFailure
        They cannot be made.
    """

    def __init__(
        self, live: Model, plan: ModelPlan, names: tuple[str, ...], position: int, order: MergeOrder | None = None
    ) -> None:
        assert live.schema is not None  # noqa: S101 - the task has seen an event
        self._live, self.plan, self.names = live, plan, names
        schema = plan.applied_to(live.settings).shape or live.schema
        self.partition, self._schema = live.partition, Schema(schema.n_features, schema.names)
        self.model = self._new_model()
        self.began: MergePosition | None = None
        """The position before the first row; None: nothing was read yet."""
        self.merged = MergePosition(0, 0)
        """The position after the last row that it has learned, or that is not in the log; its label offset is 0 without
        a label topic."""
        self.target = position
        """The offset after the task's last row, as the loop said last."""
        self.log_end = position, order
        """Up to which offset the log is to be read, and the order of its labels up to there; set at once."""
        self.near = False
        """Set by the background thread: it asks for the rows that the task takes."""
        self.handed_from: int | None = None
        """Offset from which on the task's rows are handed over; None: they are not."""
        self.read = False
        """Set by the background thread: it has learned the log up to there."""
        self.over = False
        """Whether nobody needs it any more."""
        self.failed: str | None = None
        """Why it cannot go on; the plan is then passed over."""
        self._learning, self._handing = threading.Lock(), threading.Lock()
        """Locks of the models, which may be held while a piece is learned, and of the handover; acquired in this
        order."""
        self._handed: deque[Records] = deque()
        self._rows = self._bytes = 0
        self._records = 0
        self._cost = 0.0, 0.0
        """Rows and processor seconds of the latest pieces, each counted less than the next one; not of the first piece,
        for which kernels are loaded, nor of small ones, of which a row costs more."""

    def _new_model(self) -> Model:
        return unlearned(self._live, self.plan, self.names, self._schema)

    @property
    def position(self) -> int:
        """The offset after the last row that it has learned, or that is not in the log."""
        return self.merged.offset

    @property
    def left(self) -> int:
        """Offsets that it is behind the task."""
        return max(0, self.target - self.position)

    @property
    def piece(self) -> int:
        """Rows that take about `PIECE_SECONDS`."""
        rows, seconds = self._cost
        return max(1, min(LARGEST_PIECE, int(PIECE_SECONDS * rows / seconds))) if seconds else FIRST_PIECE

    # Background thread.

    def begin(self, offset: int, label: int = 0) -> None:
        """Begin, or begin again, with empty models at an offset, and one in the label topic if there is one."""
        with self._learning:
            if self.began is not None:
                self.model = self._new_model()
            self.began = self.merged = MergePosition(offset, label)
            self._records = 0

    def learn(self, records: Records) -> None:
        """Learn the next rows of the log."""
        with self._learning:
            self._learn(records)

    def reached(self, offset: int) -> None:
        """Record that the log holds nothing more before an offset."""
        self.merged = MergePosition(max(self.position, offset), self.merged.label)
        with self._handing:
            self.read = self.handed_from is not None and self.position >= self.handed_from

    def learn_handed(self) -> bool:
        """Learn a piece of the rows that were handed over; return whether there was one."""
        with self._learning:
            piece = self._next_piece(self.piece)
            if piece is not None and not self.over:
                self._learn(piece)
            return piece is not None

    def _next_piece(self, max_rows: int) -> Records | None:
        """Take the next rows that were handed over; they are learned before anybody takes more."""
        with self._handing:
            if not self._handed:
                return None
            records = self._handed.popleft()
            if len(records) > max_rows:
                self._handed.appendleft(records.after(max_rows))
                records = records.before(max_rows)
            self._rows -= len(records)
            self._bytes -= records.values.nbytes
            return records

    def _learn(self, records: Records) -> None:
        whole, began = 2 * len(records) >= self.piece, time.thread_time()
        try:
            self.model.advance(records, emit=False)
        except Exception as error:  # whatever a learner says of the rows, it is the plan that cannot be adopted
            self.failed = f"{', '.join(self.names)} cannot be relearned: {error or type(error).__name__}"
        if self._records and whole:
            rows, seconds = self._cost
            self._cost = FORGETTING * rows + len(records), FORGETTING * seconds + time.thread_time() - began
        self._records += len(records)
        self.merged = position_after(records, self.merged)

    # The loop's thread.

    def follow(self, position: int, order: MergeOrder | None = None) -> None:
        """Note the task's position, between two batches; begin to take its rows if that was asked for."""
        self.target = position
        if self.handed_from is None:
            self.log_end = position, order
            if self.near:
                self.handed_from = position

    def hand(self, records: Records) -> None:
        """Hand over rows that the task takes, once that was asked for."""
        self.target = int(records.offsets[-1]) + 1
        if self.handed_from is None:
            return
        copied = owned(records)
        with self._handing:
            self._handed.append(copied)
            self._rows += len(copied)
            self._bytes += copied.values.nbytes
            if self._rows > MAX_ROWS or self._bytes > MAX_BYTES:
                self._handed.clear()
                self._rows = self._bytes = 0
                self.near = self.read = False
                self.handed_from = None

    @property
    def ready(self) -> bool:
        """Whether the loop can learn the rows that are left without anybody noticing."""
        return self.read and self._rows <= self.piece and not self.over and self.failed is None

    def finish(self) -> tuple[Model, RelearnedFrom]:
        """Learn what was handed over; return the models, which stand at the task's row, and what they have learned.

        Raises
        ------
        Failure
            They cannot learn a row.
        """
        with self._learning:
            while (piece := self._next_piece(LARGEST_PIECE)) is not None:
                self._learn(piece)
            self.over = True
            if self.failed is not None:
                raise Failure(self.failed)
            assert self.began is not None  # noqa: S101 - it is ready
            label = None if self.log_end[1] is None else self.began.label
            return self.model, RelearnedFrom(self.names, self.began.offset, self._records, self._schema, label)


class Relearning:
    """The relearned models of one task: of its next plan, and those that a restore has relearned."""

    def __init__(self) -> None:
        self.relearner: Relearner | None = None
        self._restored: dict[int, Model] = {}

    @property
    def left(self) -> int:
        """Offsets that are still to be relearned; 0 if nothing is."""
        one = self.relearner
        return 0 if one is None else one.left

    def restart(self, restored: Mapping[int, Model]) -> None:
        """Begin again after a restore; `restored` has the relearned models of each plan that its rows have to pass."""
        self.cancel()
        self._restored = dict(restored)

    def cancel(self) -> None:
        """Give up what is relearned: nothing of it is durable."""
        if self.relearner is not None:
            self.relearner.over, self.relearner = True, None

    def holds(self, plan: ModelPlan, names: tuple[str, ...]) -> bool:
        """Whether a plan of which these models are to be relearned must wait for them."""
        one = self.relearner
        return bool(names) and not (one is not None and (one.plan, one.names) == (plan, names) and one.ready)

    def prepare(
        self, live: Model, plan: ModelPlan, names: tuple[str, ...], position: int, order: MergeOrder | None = None
    ) -> str | None:
        """Begin to relearn models of the next plan, unless that goes on already; return why they cannot be.

        Parameters
        ----------
        live : Model
            The partition's model, which has seen an event.
        plan, names
            Its next plan, and the models to relearn; with none, it is given up.
        position : int
            The offset after the last row.
        order : MergeOrder or None
            The order in which events and labels were merged up to there, since the last snapshot; None: no label topic.
        """
        one = self.relearner
        if one is not None and (one.plan, one.names) == (plan, names):
            one.follow(position, order)
            return one.failed
        self.cancel()
        if names:
            try:
                self.relearner = Relearner(live, plan, names, position, order)
            except Failure as error:
                return str(error)
        return None

    def hand(self, records: Records) -> None:
        """Hand over rows that the task has taken."""
        if self.relearner is not None:
            self.relearner.hand(records)

    def followed_by(self, live: Model, adoption: PlanAdoption, names: tuple[str, ...]) -> tuple[Model, PlanAdoption]:
        """Return the model of an adopted plan, and the adoption with what was relearned.

        Raises
        ------
        Failure, UsageFailure
            It cannot be.
        """
        if adoption.relearned is not None:
            return followed_by(live, adoption, self._restored.pop(adoption.plan.number)), adoption
        one, self.relearner = self.relearner, None
        if not names or one is None:
            return live.followed_by(adoption.plan), adoption
        model, source = one.finish()
        adoption = replace(adoption, relearned=source)
        return followed_by(live, adoption, model), adoption


def owned(records: Records) -> Records:
    """Copy records whose buffers the client overwrites when it polls again; see `kafka.interface.Member.poll`."""
    values, stamps = ListColumn(records.values.to_list()), np.array(records.timestamps, np.int64)
    offsets, headers = records.offsets.copy(), eager_headers(records.headers)
    labels = None if records.label_offsets is None else records.label_offsets.copy()
    return Records(records.partition, offsets, values, ListColumn(records.keys.to_list()), stamps, headers, labels)
