"""The loop over rows: score a row with the state after the preceding rows, then learn from its label.

A learner supplies two fragments (`driftway.learners.engine.jit.fragment`), which are inlined into the loop:

- ``score(x, parameters, memory)`` returns the margin (binary) or the prediction (regression);
- ``learn(x, y, omega, margin, parameters, memory)`` updates the state. y is -1 or 1, or the target; omega > 0 is the
  row's weight (docs/algorithms/conventions.md#sample-weights), margin the value that `score` returned, finite or not.

x is f8[d]. `parameters` is a NamedTuple of numbers, `memory` one of arrays: the views of the state, and scratch.
With one score per class, `score` writes them to ``memory.S``, y is the class, and `margin` is whether all are finite.
"""

import math
from collections.abc import Callable
from functools import cache
from types import MappingProxyType
from typing import Any, NamedTuple, TypeVar

from driftway.learners.engine.jit import fragment, kernel
from driftway.learners.engine.shared_fields import SharedFields
from driftway.learners.engine.state import Array, Counts
from driftway.learners.engine.state_layout import Sizes

Fragment = Callable[..., Any]
Loop = TypeVar("Loop", bound=Callable[..., None])
Kernel = Callable[[Array, Array, Array, Any, Any], None]
"""``kernel(rows f8[n, d], y f8[n], score f8[n, k], parameters, memory)``."""


@fragment
def no_op(_parameters: Any, _memory: Any) -> None:
    """Do nothing before a batch; the default of `UpdateRule.begin`."""


@fragment
def cache_nothing(_cached_prediction: Any, _parameters: Any, _memory: Any) -> None:
    """Cache or recall nothing of a row that waits for its label; the default of two fields of `UpdateRule`."""


@fragment
def ignore_unlabelled(_x: Any, _margin: Any, _parameters: Any, _memory: Any) -> None:
    """Ignore a row whose label never arrived; the default of `UpdateRule.learn_unlabelled`."""


def calls_none(_parameters: Any, _memory: Any) -> tuple[()]:
    """Return that no separate kernel is called; the default of `UpdateRule.separate_calls`."""
    return ()


class UpdateRule(NamedTuple):
    """How a learner scores a row and learns from it, and the state that it needs."""

    score: Fragment
    learn: Fragment
    parameters: Any
    """NamedTuple of numbers: the learner's parameters that its fragments need, or values derived from them."""
    memory: type[Any]
    """NamedTuple class that declares the state and scratch arrays (`driftway.learners.engine.state_layout`)."""
    sizes: Sizes = MappingProxyType({})
    """Lengths in its shapes other than d (with the intercept), n (features) and K (classes); set by parameters."""
    classes: bool = False
    """Whether `score` computes one score per class."""
    uses_weight: bool = False
    """Whether `learn` uses omega; if not, a row of weight 2 is learned twice."""
    begin: Fragment = no_op
    """``begin(parameters, memory)`` before the first row of a batch: recomputes scratch that derives from the state."""
    sharing: SharedFields | None = None
    """The fields shared with the learners of other partitions; None if its model cannot be shared."""
    cached_prediction: str = ""
    """Dtype and shape, like ``f4[E]``, of what is cached for `learn_delayed` when a row is scored before its label
    arrives. Most rules cache nothing: they score the row again when the label arrives and learn from it as usual."""
    cache_prediction: Fragment = cache_nothing
    """``cache_prediction(cached, parameters, memory)``, called after `score`, writes the cached prediction."""
    recall: Fragment = cache_nothing
    """``recall(cached, parameters, memory)``, called before a row that waited for its label is scored again, restores
    what the row was scored with then, as far as rows are learned with it. `learn_delayed` undoes it."""
    learn_delayed: Fragment = no_op
    """As `learn`, called after the row was scored again; its last argument is the cached prediction. If there is none,
    `learn` is called."""
    learn_unlabelled: Fragment = ignore_unlabelled
    """``learn_unlabelled(x, margin, parameters, memory)``, called after a row without a label was scored again."""
    separate_calls: Callable[[Any, Any], tuple[tuple[Any, ...], ...]] = calls_none
    """``separate_calls(parameters, memory)`` returns the separate kernels (`driftway.learners.engine.jit`) that the
    fragments call, each with arguments of the types that they call it with, for a process that compiles them."""

    @property
    def uses_unlabelled(self) -> bool:
        """Whether it learns from rows whose label never arrived."""
        return self.learn_unlabelled is not ignore_unlabelled


class DelayedRows(NamedTuple):
    """Which rows of a batch wait for their labels, and which appear again because their labels arrived or expired."""

    slot: Counts
    """i8[n]: the slot of a row that waits for its label, or that waited and has it now; LABEL_EXPIRED if it appears
    again without a label, NOT_DELAYED for all other rows."""
    cached_prediction: Array
    """f4 or f8[slots, ...]: the cached predictions of waiting rows; empty if the learner caches none."""


NOT_DELAYED, LABEL_EXPIRED = -1, -2


class DelayedRule(NamedTuple):
    """The fragments of a rule that are inlined into the loop for delayed labels."""

    score: Fragment
    learn: Fragment
    begin: Fragment
    cache_prediction: Fragment
    recall: Fragment
    learn_delayed: Fragment
    learn_unlabelled: Fragment


def delayed_kernel_of(rule: UpdateRule, signed: bool) -> Callable[..., None] | None:
    """Return the loop for delayed labels, which also takes the fields of `DelayedRows`; None if the rule needs none."""
    if not (rule.cached_prediction or rule.uses_unlabelled):
        return None
    learn = without_cache(rule.learn) if rule.learn_delayed is no_op else rule.learn_delayed
    cached = rule.cache_prediction, rule.recall
    delayed = DelayedRule(rule.score, rule.learn, rule.begin, *cached, learn, rule.learn_unlabelled)
    return delayed_class_row_loop(delayed) if rule.classes else delayed_row_loop(delayed, signed)


@cache
def without_cache(learn: Fragment) -> Fragment:
    """Return `learn_delayed` of a rule that has none: `learn`, with one more argument."""

    def learn_delayed(
        x: Array, y: float, omega: float, margin: float, parameters: Any, memory: Any, _cached_prediction: Array
    ) -> None:
        learn(x, y, omega, margin, parameters, memory)

    return fragment(_named(learn_delayed, learn))


def kernel_of(rule: UpdateRule, signed: bool) -> Kernel:
    """Return the compiled loop of a rule; with `signed`, labels 0 and 1 are passed on as -1 and 1."""
    if rule.classes:
        return class_row_loop(rule.score, rule.learn, rule.begin)
    return row_loop(rule.score, rule.learn, rule.begin, signed)


@cache
def row_loop(score: Fragment, learn: Fragment, begin: Fragment, signed: bool) -> Kernel:
    """Return the loop of learners with one score."""

    def run(rows: Array, y: Array, scores: Array, parameters: Any, memory: Any) -> None:
        begin(parameters, memory)
        for t in range(rows.shape[0]):
            margin = score(rows[t], parameters, memory)
            scores[t, 0] = margin if math.isfinite(margin) else 0.0
            if not math.isnan(y[t]):
                learn(rows[t], 2.0 * y[t] - 1.0 if signed else y[t], 1.0, margin, parameters, memory)

    return kernel(_named(run, learn))


@cache
def class_row_loop(score: Fragment, learn: Fragment, begin: Fragment) -> Kernel:
    """Return the loop of learners with one score per class; with two classes it writes S_1 - S_0."""

    def run(rows: Array, y: Array, scores: Array, parameters: Any, memory: Any) -> None:
        begin(parameters, memory)
        for t in range(rows.shape[0]):
            score(rows[t], parameters, memory)
            finite = write_score(memory.S, scores[t])
            if not math.isnan(y[t]):
                learn(rows[t], int(y[t]), 1.0, finite, parameters, memory)

    return kernel(_named(run, learn))


@cache
def delayed_row_loop(rule: DelayedRule, signed: bool) -> Callable[..., None]:
    """As `row_loop`, for rows that may wait for their labels."""
    score, learn, begin, cache_prediction, recall, learn_delayed, learn_unlabelled = rule

    def run(
        rows: Array, y: Array, scores: Array, parameters: Any, memory: Any, slot: Counts, cached_prediction: Array
    ) -> None:
        begin(parameters, memory)
        for t in range(rows.shape[0]):
            if slot[t] >= 0 and not math.isnan(y[t]):
                recall(cached_prediction[slot[t]], parameters, memory)
            margin = score(rows[t], parameters, memory)
            scores[t, 0] = margin if math.isfinite(margin) else 0.0
            label = 2.0 * y[t] - 1.0 if signed else y[t]
            if math.isnan(label):
                if slot[t] >= 0:
                    cache_prediction(cached_prediction[slot[t]], parameters, memory)
                elif slot[t] == LABEL_EXPIRED:
                    learn_unlabelled(rows[t], margin, parameters, memory)
            elif slot[t] >= 0:
                learn_delayed(rows[t], label, 1.0, margin, parameters, memory, cached_prediction[slot[t]])
            else:
                learn(rows[t], label, 1.0, margin, parameters, memory)

    return kernel(_named(run, learn_delayed))


@cache
def delayed_class_row_loop(rule: DelayedRule) -> Callable[..., None]:
    """As `class_row_loop`, for rows that may wait for their labels."""
    score, learn, begin, cache_prediction, recall, learn_delayed, learn_unlabelled = rule

    def run(
        rows: Array, y: Array, scores: Array, parameters: Any, memory: Any, slot: Counts, cached_prediction: Array
    ) -> None:
        begin(parameters, memory)
        for t in range(rows.shape[0]):
            if slot[t] >= 0 and not math.isnan(y[t]):
                recall(cached_prediction[slot[t]], parameters, memory)
            score(rows[t], parameters, memory)
            finite = write_score(memory.S, scores[t])
            if math.isnan(y[t]):
                if slot[t] >= 0:
                    cache_prediction(cached_prediction[slot[t]], parameters, memory)
                elif slot[t] == LABEL_EXPIRED:
                    learn_unlabelled(rows[t], finite, parameters, memory)
            elif slot[t] >= 0:
                learn_delayed(rows[t], int(y[t]), 1.0, finite, parameters, memory, cached_prediction[slot[t]])
            else:
                learn(rows[t], int(y[t]), 1.0, finite, parameters, memory)

    return kernel(_named(run, learn_delayed))


@fragment
def write_score(S: Array, score: Array) -> bool:
    """Write S, or S_1 - S_0 if `score` has length 1, with 0 for non-finite values; return whether all were finite.

    Shapes: S f8[K], score f8[K] or, with K = 2, f8[1].
    """
    finite = True
    if score.shape[0] == 1:
        margin = S[1] - S[0]
        finite = math.isfinite(margin)
        score[0] = margin if finite else 0.0
    else:
        for r in range(S.shape[0]):
            good = math.isfinite(S[r])
            score[r] = S[r] if good else 0.0
            finite = finite and good
    return finite


def _named(run: Loop, learn: Fragment) -> Loop:
    """Name the loop after its `learn` fragment, so that each loop has its own files in the kernel cache."""
    function = getattr(learn, "py_func", learn)
    run.__qualname__ = f"{function.__module__}.{function.__qualname__}.{run.__name__}"
    return run
