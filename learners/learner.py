"""The base class of every learner: the contract, and the checks, snapshot and restore that all of them inherit.

A learner is an algorithm with state. It implements `rule` (its state and how a row is scored and learned from, which
`driftway.learners.engine.update_loop` compiles into one loop) and, if the initial state depends on parameters,
`initialise`.
"""

import hashlib
import json
import math
from collections.abc import Mapping
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from driftway.learners.averaging.shared_model import SharedModel, from_information, to_information
from driftway.learners.engine import state_layout as layout
from driftway.learners.engine.array_checks import as_behaved, check_array, check_labels
from driftway.learners.engine.jit import compile_for
from driftway.learners.engine.parameters import ParameterError, Parameters
from driftway.learners.engine.shared_fields import SharedFields
from driftway.learners.engine.state import Array, Bytes, Fields, State
from driftway.learners.engine.update_loop import DelayedRows, UpdateRule, delayed_kernel_of, kernel_of

MAGIC = b"DWL2"
FIRST_MAGIC = b"DWL1"
"""Format of snapshots computed with the C library's exp and log, whose bits differ between machines."""
DIGEST_BYTES = 16
CLASSIFICATION, REGRESSION = "classification", "regression"


class SnapshotMismatch(ValueError):
    """A snapshot is damaged, or belongs to another learner, shape or format; the state is unchanged."""


class Learner:
    """An online learner: predicts each row, then learns from it, in order.

    Parameters
    ----------
    n_features : int
        d, the length of the caller's rows (without the intercept).
    n_classes : int
        K >= 2; ignored in regression.
    task : str
        ``classification`` or ``regression``.
    **parameters
        The algorithm's hyper-parameters, see its `Params`.

    Raises
    ------
    ParameterError
        Unknown or invalid parameter, or a task that the algorithm does not support.
    """

    name: str
    tasks: tuple[str, ...]
    """Any of ``binary``, ``multiclass``, ``regression``."""
    Params: ClassVar[type[Parameters]]
    uses_features: bool = True
    """False for baselines that use labels only; they are never standardised."""
    standardizable: bool = True
    """False if the features' raw values have a meaning, like truth values; they are never standardised."""
    unscaled: tuple[int, ...] = ()
    """Columns that hold ids, such as a task's; they are left as they are when the others are standardised."""
    reads_raw: bool = False
    """Whether the online standardiser leaves the features as they came behind the scaled ones of a row."""
    composite: bool = False
    """Whether it consists of other learners and so cannot be the base or an expert of an ensemble."""
    link: str | None = None
    """How a binary score maps to the probability of class 1: ``logistic``, ``probit``; None if it is only a margin."""
    multiclass_link: str | None = None
    """How multiclass scores map to probabilities: ``softmax``, or ``direct`` as they are; None if they do not."""
    votes: bool = False
    """Whether scores are shares of votes: from -1 to 1 with two classes, from 0 to 1 for each of several classes."""
    mixes: bool = False
    """Whether it combines weighted experts, see `experts`."""
    revision: int = 0
    """Version of the update rules. It is raised when an older state would lead to other scores, so that such a state is
    refused."""

    def __init__(self, n_features: int, n_classes: int = 2, task: str = CLASSIFICATION, **parameters: Any) -> None:
        if n_features < 1:
            raise ParameterError(f"n_features must be >= 1, got {n_features}")
        if task not in (CLASSIFICATION, REGRESSION):
            raise ParameterError(f"task must be {CLASSIFICATION} or {REGRESSION}, got {task!r}")
        if task == CLASSIFICATION and n_classes < 2:
            raise ParameterError(f"n_classes must be >= 2, got {n_classes}")
        self.n_features = n_features
        self.n_classes = n_classes if task == CLASSIFICATION else 0
        self.task = task
        if self.kind not in self.tasks:
            what = f"{n_classes} classes" if self.kind == "multiclass" else self.kind
            hint = (
                f" (ova:{self.name} learns them one against all)"
                if what != self.kind and "binary" in self.tasks
                else ""
            )
            raise ParameterError(f"{self.name} does not learn {what}; it learns: {', '.join(self.tasks)}{hint}")
        self.parameters: Any = self._read(parameters)
        self._intercept = bool(getattr(self.parameters, "intercept", False))
        self.width = n_features + self._intercept
        """Row length that the kernel sees: d, plus 1 with an intercept."""
        self._rows = np.empty((0, self.width), np.float64)
        self._place_state(None)
        self._delayed: DelayedRows | None = None
        """The rows of the current batch that are still to be run, if it has delayed rows."""
        self._bound: State | None = None
        """The state whose views the kernel holds."""
        self._begin()

    @property
    def kind(self) -> str:
        """``binary``, ``multiclass`` or ``regression``."""
        if self.task == REGRESSION:
            return "regression"
        return "binary" if self.n_classes == 2 else "multiclass"

    @property
    def n_scores(self) -> int:
        """k, the columns of `score`: 1 in binary and regression, K in multiclass."""
        return self.n_classes if self.kind == "multiclass" else 1

    # What an algorithm implements.

    def rule(self) -> UpdateRule:
        """Return the state's declaration and how a row is scored and learned from; must not read the state."""
        raise NotImplementedError

    def initialise(self) -> None:
        """Write the initial values that depend on parameters into the state; others are declared with the fields."""

    def _run(self, rows: Array, y: Array, score: Array) -> None:
        """Write the score of each row, then learn from it unless its label is NaN.

        Shapes: rows f8[n, width], y f8[n], score f8[n, k]; all C-contiguous.
        """
        if self._bound is not self.state:
            self._bind_kernels()
        if self._delayed is None:
            self._kernel(rows, y, score, self._constants, self._memory)
            return
        # Wrappers may split a batch over several calls, but pass every row, in order.
        slot, predictions = self._delayed
        assert self._delayed_kernel is not None  # noqa: S101
        self._delayed_kernel(rows, y, score, self._constants, self._memory, slot[: len(rows)], predictions)
        self._delayed = DelayedRows(slot[len(rows) :], predictions)

    def _set_delayed(self, late: DelayedRows | None) -> None:
        """Run the next rows with the delays in `late`; None means that no rows are delayed."""
        self._delayed = late

    def _bind_kernels(self) -> None:
        """Look up the kernels and build their arguments other than the batch, as views of the current state."""
        rule = self.rule()
        self._kernel = kernel_of(rule, signed=self.task == CLASSIFICATION)
        self._delayed_kernel = delayed_kernel_of(rule, signed=self.task == CLASSIFICATION)
        self._constants = rule.parameters
        self._memory = layout.as_views(rule.memory, self.state, **self.scratch_arrays())
        self._bound = self.state

    # What callers use.

    @cached_property
    def uses_unlabelled(self) -> bool:
        """Whether it learns from rows whose label never arrived, see `predict_then_update_delayed`."""
        return self.rule().uses_unlabelled

    def prediction_cache(self, slots: int) -> Array:
        """Allocate cached predictions of `slots` waiting rows, f4 or f8[slots, ...]; empty if the rule caches none."""
        rule = self.rule()
        if not rule.cached_prediction:
            return np.zeros((slots, 0), np.float32)
        dtype, _, shape = rule.cached_prediction.removesuffix("]").partition("[")
        return np.zeros((slots, *layout.shape_of(shape, self._sizes(rule))), dtype)

    def predict_then_update_delayed(self, X: Array, y: Array, score: Array, late: DelayedRows) -> None:
        """As `predict_then_update`, with delayed labels.

        A row that waits for its label appears a second time, with the same features, in the batch in which the label
        arrives; the score of the second pass is not emitted. A row whose label expires also appears a second time, but
        without a label; most learners ignore it. Without delayed rows the result is bitwise that of
        `predict_then_update`.
        """
        if late.cached_prediction.size or self.uses_unlabelled:
            self._set_delayed(late)
        try:
            self.predict_then_update(X, y, score)
        finally:
            self._set_delayed(None)

    def predict_then_update(self, X: Array, y: Array, score: Array) -> None:
        """Score each row with the state after the preceding rows, then learn from its label.

        Parameters
        ----------
        X : f8[n, d]
            Rows, C-contiguous and finite. Not changed.
        y : f8[n]
            Class index or target; NaN if unknown: the row is scored but not learned from. Not changed.
        score : f8[n, k]
            Output: the signed margin (binary), the prediction (regression), one column per class (multiclass).

        Raises
        ------
        ValueError
            A shape, dtype or memory layout is wrong, or a label is not a class index.
        """
        n = len(X)
        check_array(X, (n, self.n_features), "X")
        check_array(y, (n,), "y")
        check_array(score, (n, self.n_scores), "score")
        if n == 0:
            return
        if self.n_classes:
            check_labels(y, self.n_classes)
        self._run(self._prepare(as_behaved(X)), as_behaved(y), score)

    def predict(self, X: Array, score: Array) -> None:
        """Score rows without learning; does not change the state. Shapes as in `predict_then_update`."""
        self.predict_then_update(X, np.full(len(X), math.nan), score)

    def move_state_to(self, memory: Bytes) -> None:
        """Move the state into `memory`, u1[state.nbytes], and use that buffer from now on."""
        memory[:] = self.state.memory
        self._place_state(memory)

    def identity(self) -> dict[str, Any]:
        """Everything in which a snapshot must match: name, revision of rules, parameters, task, shape and layout."""
        revised = {"revision": self.revision} if self.revision else {}
        return {
            **revised,
            "learner": self.name,
            "parameters": self.parameters.as_dict(),
            "task": self.task,
            "n_features": self.n_features,
            "n_classes": self.n_classes,
            "fields": [[name, dtype, list(shape)] for name, (dtype, shape) in self.state.fields.items()],
        }

    def reset(self) -> None:
        """Reset the state in place to that of a new learner."""
        self.state.memory[:] = 0
        self._begin()

    def experts(self) -> dict[str, float]:
        """Expert name -> normalised weight (they sum to 1); empty if it does not mix."""
        return {}

    @property
    def sharing(self) -> SharedFields | None:
        """The fields shared with the learners of other partitions; None if its model cannot be shared."""
        return self.rule().sharing

    def shared_model(self) -> SharedModel | None:
        """Return a copy of its current model, or None if its covariance is no longer positive definite.

        Only for a learner that has `sharing`.
        """
        weight, sharing = self.state["weight"], self.sharing
        if sharing is None or not sharing.covariance:
            return SharedModel(weight.copy())
        return to_information(weight, self.state[sharing.covariance])

    def set_shared_model(self, model: SharedModel) -> bool:
        """Replace its model by an averaged one; return False and change nothing if that one is not usable."""
        sharing = self.sharing
        if sharing is None or not sharing.covariance:
            if model.finite:
                self.state["weight"][:] = model.weight
            return model.finite
        found = from_information(model, sharing.p_max)
        if found is not None:
            self.state["weight"][:], self.state[sharing.covariance][:] = found
        return found is not None

    def snapshot(self) -> bytes:
        """Serialise the state: magic, header length, header (JSON), state, digest of everything before it."""
        header = json.dumps(self.identity(), sort_keys=True).encode()
        body = MAGIC + len(header).to_bytes(4, "little") + header + self.state.memory.tobytes()
        return body + hashlib.blake2b(body, digest_size=DIGEST_BYTES).digest()

    def restore(self, blob: bytes) -> None:
        """Replace the state by a snapshot's; scores continue bit for bit.

        Raises
        ------
        SnapshotMismatch
            The snapshot is damaged, or of another learner, parameters, shape or format. State unchanged.
        """
        body = blob[:-DIGEST_BYTES]
        if blob[: len(MAGIC)] == FIRST_MAGIC:
            raise SnapshotMismatch(
                f"the snapshot is of format {FIRST_MAGIC.decode()}, from before Driftway had its own exp and log: its "
                "scores would differ in the last bits; train again, or restore it with the version that wrote it"
            )
        if blob[: len(MAGIC)] != MAGIC:
            raise SnapshotMismatch(f"not a learner snapshot of format {MAGIC.decode()}")
        if hashlib.blake2b(body, digest_size=DIGEST_BYTES).digest() != blob[len(body) :]:
            raise SnapshotMismatch("the snapshot is damaged: its checksum does not match")
        start = len(MAGIC) + 4
        end = start + int.from_bytes(body[len(MAGIC) : start], "little")
        try:
            theirs, ours = dict(json.loads(body[start:end])), json.loads(json.dumps(self.identity()))
        except (TypeError, ValueError):
            raise SnapshotMismatch("the snapshot's header is not readable") from None
        for key in ours:
            if theirs.get(key) != ours[key]:
                both = "other fields" if key == "fields" else f"{key} {theirs.get(key)}, the learner {ours[key]}"
                raise SnapshotMismatch(f"the snapshot has {both}")
        if len(body) - end != self.state.nbytes:
            raise SnapshotMismatch(f"the snapshot has {len(body) - end} state bytes, not {self.state.nbytes}")
        memory = np.frombuffer(body, np.uint8, offset=end)
        try:
            self.check_state(memory)
        except ValueError as error:
            raise SnapshotMismatch(f"the snapshot is damaged: {error}") from None
        self.state.memory[:] = memory

    def check_state(self, memory: Bytes) -> None:
        """Check what kernels use as indices in bytes that are to become the state.

        Raises
        ------
        ValueError
            A value is out of range: the bytes are damaged.
        """
        rule = self.rule()
        layout.check_ranges(rule.memory, self._sizes(rule), State(self.state.fields, memory))

    def compile_kernels(self) -> None:
        """Compile (or load) the kernels with a throwaway instance, so that no message waits for the compiler."""
        scratch = self.clone_empty()
        scratch.predict_then_update(np.zeros((1, self.n_features)), np.zeros(1), np.empty((1, scratch.n_scores)))

    def compile_separate_kernels(self) -> None:
        """Compile (or load) the kernels that its kernels call by address, while another process compiles these."""
        self._bind_kernels()
        for call in self.rule().separate_calls(self._constants, self._memory):
            compile_for(*call)

    def clone_empty(self) -> "Learner":
        """Create an untrained learner with the same parameters and shape."""
        return type(self)(self.n_features, self.n_classes or 2, self.task, **self.parameters.as_dict())

    def _read(self, parameters: Mapping[str, Any]) -> Any:
        """Build and validate the parameters."""
        return type(self).Params.build(parameters)

    def fields(self) -> Fields:
        """The state's named views, in memory order."""
        rule = self.rule()
        return layout.fields_of(rule.memory, self._sizes(rule))

    def scratch_arrays(self, *axes: int) -> dict[str, Array]:
        """Allocate its scratch arrays, with `axes` as additional leading axes."""
        rule = self.rule()
        return layout.allocate_scratch(rule.memory, self._sizes(rule), *axes)

    def _sizes(self, rule: UpdateRule) -> layout.Sizes:
        return {"d": self.width, "n": self.n_features, "K": self.n_classes, **rule.sizes}

    def _begin(self) -> None:
        """Write the initial values into a zeroed state."""
        layout.write_defaults(self.rule().memory, self.state)
        self.initialise()

    def _place_state(self, memory: Bytes | None) -> None:
        """Use `memory`, which already holds the state, as its buffer, or a new zeroed one."""
        self.state = State(self.fields(), memory)

    def _prepare(self, X: Array) -> Array:
        """Return X as the kernel reads it: with a constant 1 as last column if there is an intercept."""
        if not self._intercept:
            return X
        rows = self.row_buffer(len(X))
        rows[:, :-1] = X
        return rows

    def row_buffer(self, n: int) -> Array:
        """Return a buffer for `n` kernel rows, reused between batches; the intercept column is filled in."""
        if len(self._rows) < n:
            self._rows = np.ones((n, self.width), np.float64)
        return self._rows[:n]
