"""Multiclass kernel learners, whose stored rows have a coefficient for each class."""

from functools import cache
from typing import Any, NamedTuple

from driftway.learners.contract import (
    Array,
    UpdateRule,
    field,
    fragment,
    integer,
    kernel,
    part,
    scratch,
)
from driftway.learners.engine.update_loop import Fragment
from driftway.learners.kernel_methods.bandwidth import FACTORS, power, prefer, widest
from driftway.learners.kernel_methods.expansion import (
    KernelExpansion,
    KernelParameters,
    kernel_values,
    oldest,
    put,
    usable,
)
from driftway.learners.kernel_methods.rule import widened


class MulticlassKernelParameters(KernelParameters):
    """Parameters shared by all multiclass kernel learners."""

    budget: int = integer(300, "Largest number of stored rows.", at_least=2, at_most=5000)


class ClassExpansion(NamedTuple):
    """State of all multiclass kernel learners."""

    expansion: KernelExpansion = part(
        KernelExpansion, "the stored rows; of their own coefficients only the common factor is used"
    )
    share: Array = field("f8[B, K]", "coefficients of each stored row, by class, without the common factor")
    trial: Array = scratch("f8[4, K]", "scores by class, for each factor of the width")
    S: Array = scratch("f8[K]", "scores by class")


@fragment
def score_classes(x: Array, p: Any, memory: ClassExpansion) -> None:
    """Write S_r = scale sum of a_ir k(z_i, x); leave the kernel values in `near`. Shapes: x f8[d]."""
    kept, S, share = memory.expansion, memory.S, memory.share
    n = kept.used[0]
    kept.itself[0] = kernel_values(x, p.kernel, kept, kept.near)
    for r in range(S.shape[0]):
        S[r] = 0.0
    for i in range(n):
        value = kept.near[i]
        for r in range(S.shape[0]):
            S[r] += share[i, r] * value
    for r in range(S.shape[0]):
        S[r] *= kept.scale[0]


@kernel
def narrowed_classes(label: int, memory: ClassExpansion) -> bool:
    """As `narrowed`, for several classes: a factor is right if only the label has the highest score."""
    kept, share, trial = memory.expansion, memory.share, memory.trial
    if kept.gamma[0] == 0.0:
        return False
    n, K = kept.used[0], share.shape[1]
    for f in range(FACTORS):
        for r in range(K):
            trial[f, r] = 0.0
    widest(kept.near, n, kept.tried[0], kept.across)
    for i in range(n):
        value = kept.across[i]
        for f in range(FACTORS):
            for r in range(K):
                trial[f, r] += share[i, r] * value
            value = power(value)
    for f in range(FACTORS):
        kept.right[f] = 1.0
        for r in range(K):
            if r != label and trial[f, r] >= trial[f, label]:
                kept.right[f] = 0.0
    return prefer(kept.right, kept.lead, kept.tried, kept.gamma)


def expanding_classes(update: Fragment, given: Any, budget: int) -> UpdateRule:
    """The rule of a multiclass kernel learner from its ``update(x, label, parameters, memory)``."""
    return UpdateRule(score_classes, learning_classes(update), given, ClassExpansion, {"B": budget}, classes=True)


@fragment
def put_apart(x: Array, step: float, label: int, rival: int, memory: ClassExpansion) -> None:
    """Store the row, for its label and against the best wrong class, evicting the oldest if full. Shapes: x f8[d]."""
    kept = memory.expansion
    slot = oldest(kept)
    put(x, 0.0, slot, kept)
    for r in range(memory.share.shape[1]):
        memory.share[slot, r] = 0.0
    memory.share[slot, label] = step
    memory.share[slot, rival] = -step


@cache
def learning_classes(update: Fragment) -> Fragment:
    """The `learn` of a multiclass kernel learner."""

    def learn(x: Array, label: int, _omega: float, finite: bool, p: Any, memory: Any) -> None:
        kept = memory.expansion
        if not (finite and usable(0.0, kept)):
            kept.skipped[0] += 1
            return
        if p.kernel.by_scores and narrowed_classes(label, memory):
            score_classes(x, p, memory)
        taken = kept.taken[0]
        update(x, label, p, memory)
        if p.kernel.by_median and kept.taken[0] > taken:
            widened(p.kernel, kept)

    function = getattr(update, "py_func", update)
    learn.__module__, learn.__qualname__ = function.__module__, f"{function.__qualname__}.learn"
    return fragment(learn)
