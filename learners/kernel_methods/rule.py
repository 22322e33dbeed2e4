"""Common part of the rules of kernel learners: which rows can be learned, and the width of the kernel.

A learner of the family is an ``update(x, y, s, parameters, memory)``, with memory.expansion a `KernelExpansion` and
parameters.kernel a `Kernel`. When the width has changed, ``renew(parameters, memory)`` recomputes the state that
depends on kernel values.
"""

from functools import cache
from typing import Any, NamedTuple

from driftway.learners.contract import Array, UpdateRule, fragment, kernel, part
from driftway.learners.engine.state_layout import Sizes
from driftway.learners.engine.update_loop import Fragment
from driftway.learners.kernel_methods.bandwidth import SAMPLE, factor_of, gamma_of, measure, power, prefer, widest
from driftway.learners.kernel_methods.expansion import Kernel, KernelExpansion, score, usable


class KernelState(NamedTuple):
    """State of a learner that keeps nothing but its expansion."""

    expansion: KernelExpansion = part(KernelExpansion, "the sum of kernels")


@fragment
def keep(_parameters: Any, _memory: Any) -> None:
    """Do nothing: the `renew` of learners without other state that depends on the width."""


@fragment
def widened(kernel: Kernel, kept: KernelExpansion) -> bool:
    """Set the width if the row just stored is one at which that is due; return whether it has changed."""
    B = kept.coefficient.shape[0]
    due = kept.taken[0] == SAMPLE or kept.taken[0] % B == 0
    now, factor = gamma_of(kernel.gamma, kept.gamma), factor_of(kept.tried)
    return due and measure(kept.column, kept.used[0], factor, now, kept.gamma, kept.distances)


@kernel
def narrowed(y: float, kept: KernelExpansion) -> bool:
    """Try all factors of the width on the row just scored; return whether another one is in use now."""
    if kept.gamma[0] == 0.0:
        return False
    n, across = kept.used[0], kept.across
    widest(kept.near, n, kept.tried[0], across)
    wide, once, twice, thrice = 0.0, 0.0, 0.0, 0.0
    for i in range(n):
        value, a = across[i], kept.coefficient[i]
        wide += a * value
        value = power(value)
        once += a * value
        value = power(value)
        twice += a * value
        thrice += a * power(value)
    for r, s in enumerate((wide, once, twice, thrice)):
        kept.right[r] = 1.0 if y * s > 0.0 else 0.0
    return prefer(kept.right, kept.lead, kept.tried, kept.gamma)


def expanding(
    update: Fragment, given: Any, memory: type[Any], budget: int, more: int = 0, renew: Fragment = keep, **sizes: int
) -> UpdateRule:
    """The rule of a kernel learner whose expansion has `more` slots than its budget."""
    all_sizes: Sizes = {"B": budget + more, **sizes}
    return UpdateRule(score, learning(update, renew), given, memory, all_sizes)


@cache
def learning(update: Fragment, renew: Fragment) -> Fragment:
    """The `learn` of a kernel learner."""

    def learn(x: Array, y: float, _omega: float, s: float, p: Any, memory: Any) -> None:
        kept = memory.expansion
        if not usable(s, kept):
            kept.skipped[0] += 1
            return
        if p.kernel.by_scores and narrowed(y, kept):
            renew(p, memory)
            s = score(x, p, memory)
        taken = kept.taken[0]
        update(x, y, s, p, memory)
        if p.kernel.by_median and kept.taken[0] > taken and widened(p.kernel, kept):
            renew(p, memory)

    function = getattr(update, "py_func", update)
    learn.__module__, learn.__qualname__ = function.__module__, f"{function.__qualname__}.learn"
    return fragment(learn)
