"""The one loop over rows: score a row from the state as the rows before it left it, then learn from its label.

A learner says how in two fragments (`driftway.learners.engine.jit.fragment`), which are pasted into the loop:

- ``score(x, parameters, memory)``: the margin of two classes, or the prediction of a target;
- ``learn(x, y, omega, margin, parameters, memory)``: what the row changes. y is -1 or 1, or the target; omega > 0 is
  how much the row counts (docs/algorithms/conventions.md#sample-weights), margin what `score` returned, finite or not.

x is f8[d]. `parameters` is a NamedTuple of numbers, `memory` one of arrays: the views of the state, and scratch.
With one score per class, `score` writes them to ``memory.S``, y is the class, and `margin` says whether all are finite.
"""

import math
from collections.abc import Callable
from functools import cache
from types import MappingProxyType
from typing import Any, NamedTuple, TypeVar

from driftway.learners.engine.jit import fragment, kernel_without_refcounts
from driftway.learners.engine.shared_fields import SharedFields
from driftway.learners.engine.state import Array, Counts
from driftway.learners.engine.state_layout import Sizes

Fragment = Callable[..., Any]
Loop = TypeVar("Loop", bound=Callable[..., None])
Kernel = Callable[[Array, Array, Array, Any, Any], None]
"""``kernel(rows f8[n, d], y f8[n], score f8[n, k], parameters, memory)``."""


@fragment
def no_op(_parameters: Any, _memory: Any) -> None:
    """What most learners do before a batch."""


@fragment
def cache_nothing(_opinion: Any, _parameters: Any, _memory: Any) -> None:
    """What most learners keep of a row that waits for its label."""


@fragment
def ignore_unlabelled(_x: Any, _margin: Any, _parameters: Any, _memory: Any) -> None:
    """What most learners learn from a row whose label never came."""


class UpdateRule(NamedTuple):
    """How a learner scores a row and learns from it, on what."""

    score: Fragment
    learn: Fragment
    parameters: Any
    """NamedTuple of numbers: those of the learner, as far as its fragments need them, or what follows from them."""
    memory: type[Any]
    """NamedTuple class that declares what is remembered, and scratch (`driftway.learners.engine.state_layout`)."""
    sizes: Sizes = MappingProxyType({})
    """What its shapes are made of beside d (with the intercept), n (features) and K (classes); parameters decide."""
    classes: bool = False
    """Whether `score` makes one score per class."""
    uses_weight: bool = False
    """Whether `learn` looks at omega; a row that counts twice is learned twice by one that does not."""
    begin: Fragment = no_op
    """``begin(parameters, memory)`` before the first row of a batch: makes what follows from the state."""
    sharing: SharedFields | None = None
    """What learners of other partitions may see of it; None: each learns alone."""
    cached_prediction: str = ""
    """What is kept of a row that is scored before its label comes, like ``f4[E]``, for `learn_late`; most keep nothing:
    when the label comes they score the row again, and learn from it as from any."""
    cache_prediction: Fragment = cache_nothing
    """``keep(opinion, parameters, memory)`` behind `score`: writes it down."""
    learn_delayed: Fragment = no_op
    """As `learn`, behind another `score` of the row; its last argument is the opinion of then."""
    learn_unlabelled: Fragment = ignore_unlabelled
    """``learn_unlabelled(x, margin, parameters, memory)`` behind another `score` of a row whose label never came."""

    @property
    def uses_unlabelled(self) -> bool:
        """Whether it learns from rows whose label never came."""
        return self.learn_unlabelled is not ignore_unlabelled


class DelayedRows(NamedTuple):
    """Which of a batch's rows wait for their labels, and which are here again because these have come."""

    slot: Counts
    """i8[n]: where a row that has no label yet waits, or waited that has it now; GONE of one that is let go without a
    label, NOT_LATE of all others."""
    cached_prediction: Array
    """f4[slots, ...]: what the learner keeps of rows that wait; empty if it keeps nothing."""


NOT_DELAYED, LABEL_EXPIRED = -1, -2


class DelayedRule(NamedTuple):
    """The fragments of a rule that the loop over rows pastes some of which wait."""

    score: Fragment
    learn: Fragment
    begin: Fragment
    cache_prediction: Fragment
    learn_delayed: Fragment
    learn_unlabelled: Fragment


def delayed_kernel_of(rule: UpdateRule, signed: bool) -> Callable[..., None] | None:
    """The loop over rows some of which wait: takes what `DelayedRows` has besides; None: they are rows as any."""
    if not (rule.cached_prediction or rule.uses_unlabelled):
        return None
    learn_late = rule.learn_delayed if rule.cached_prediction else without_cache(rule.learn)
    late = DelayedRule(rule.score, rule.learn, rule.begin, rule.cache_prediction, learn_late, rule.learn_unlabelled)
    return delayed_class_row_loop(late) if rule.classes else delayed_row_loop(late, signed)


@cache
def without_cache(learn: Fragment) -> Fragment:
    """`learn_late` of a rule that keeps no opinions."""

    def learn_delayed(
        x: Array, y: float, omega: float, margin: float, parameters: Any, memory: Any, _opinion: Array
    ) -> None:
        learn(x, y, omega, margin, parameters, memory)

    return fragment(_named(learn_delayed, learn))


def kernel_of(rule: UpdateRule, signed: bool) -> Kernel:
    """The compiled loop of a rule; `signed`: labels 0 and 1 reach it as -1 and 1."""
    if rule.classes:
        return class_row_loop(rule.score, rule.learn, rule.begin)
    return row_loop(rule.score, rule.learn, rule.begin, signed)


@cache
def row_loop(score: Fragment, learn: Fragment, begin: Fragment, signed: bool) -> Kernel:
    """The loop of learners with one score."""

    def run(rows: Array, y: Array, scores: Array, parameters: Any, memory: Any) -> None:
        begin(parameters, memory)
        for t in range(rows.shape[0]):
            margin = score(rows[t], parameters, memory)
            scores[t, 0] = margin if math.isfinite(margin) else 0.0
            if not math.isnan(y[t]):
                learn(rows[t], 2.0 * y[t] - 1.0 if signed else y[t], 1.0, margin, parameters, memory)

    return kernel_without_refcounts(_named(run, learn))


@cache
def class_row_loop(score: Fragment, learn: Fragment, begin: Fragment) -> Kernel:
    """The loop of learners with one score per class; with two classes, what is written is S_1 - S_0."""

    def run(rows: Array, y: Array, scores: Array, parameters: Any, memory: Any) -> None:
        begin(parameters, memory)
        for t in range(rows.shape[0]):
            score(rows[t], parameters, memory)
            finite = write_score(memory.S, scores[t])
            if not math.isnan(y[t]):
                learn(rows[t], int(y[t]), 1.0, finite, parameters, memory)

    return kernel_without_refcounts(_named(run, learn))


@cache
def delayed_row_loop(rule: DelayedRule, signed: bool) -> Callable[..., None]:
    """As `row_loop`, where rows may wait for their labels."""
    score, learn, begin, keep, learn_late, learn_unlabelled = rule

    def run(rows: Array, y: Array, scores: Array, parameters: Any, memory: Any, slot: Counts, opinion: Array) -> None:
        begin(parameters, memory)
        for t in range(rows.shape[0]):
            margin = score(rows[t], parameters, memory)
            scores[t, 0] = margin if math.isfinite(margin) else 0.0
            label = 2.0 * y[t] - 1.0 if signed else y[t]
            if math.isnan(label):
                if slot[t] >= 0:
                    keep(opinion[slot[t]], parameters, memory)
                elif slot[t] == LABEL_EXPIRED:
                    learn_unlabelled(rows[t], margin, parameters, memory)
            elif slot[t] >= 0:
                learn_late(rows[t], label, 1.0, margin, parameters, memory, opinion[slot[t]])
            else:
                learn(rows[t], label, 1.0, margin, parameters, memory)

    return kernel_without_refcounts(_named(run, learn_late))


@cache
def delayed_class_row_loop(rule: DelayedRule) -> Callable[..., None]:
    """As `class_row_loop`, where rows may wait for their labels."""
    score, learn, begin, keep, learn_late, learn_unlabelled = rule

    def run(rows: Array, y: Array, scores: Array, parameters: Any, memory: Any, slot: Counts, opinion: Array) -> None:
        begin(parameters, memory)
        for t in range(rows.shape[0]):
            score(rows[t], parameters, memory)
            finite = write_score(memory.S, scores[t])
            if math.isnan(y[t]):
                if slot[t] >= 0:
                    keep(opinion[slot[t]], parameters, memory)
                elif slot[t] == LABEL_EXPIRED:
                    learn_unlabelled(rows[t], finite, parameters, memory)
            elif slot[t] >= 0:
                learn_late(rows[t], int(y[t]), 1.0, finite, parameters, memory, opinion[slot[t]])
            else:
                learn(rows[t], int(y[t]), 1.0, finite, parameters, memory)

    return kernel_without_refcounts(_named(run, learn_late))


@fragment
def write_score(S: Array, score: Array) -> bool:
    """Write S, or S_1 - S_0 if there is room for one score; say whether all is finite. What is not is written as 0.

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
    """Name the loop after what it learns by, so that each has files of its own in the cache of kernels."""
    function = getattr(learn, "py_func", learn)
    run.__qualname__ = f"{function.__module__}.{function.__qualname__}.{run.__name__}"
    return run
