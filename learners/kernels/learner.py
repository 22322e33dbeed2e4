"""What every kernel learner's class and rule have in common: which rows can be learned, and the width behind the first.

A learner of the family is an ``update(x, y, s, parameters, memory)``, with memory.expansion an `Expansion` and
parameters.kernel a `Kernel`. What it keeps that was computed from kernel values it makes anew in ``renew(parameters,
memory)`` when the width has changed.
"""

from functools import cache
from typing import Any, NamedTuple

from learners.contract import Array, Learner, Rule, fragment, part
from learners.driver import Fragment
from learners.kernels.expansion import Expansion, score, starting_gamma, usable
from learners.kernels.width import FIRST, note, sizes_of
from learners.memory import Sizes


class KernelLearner(Learner):
    """A learner with an `Expansion`."""

    tasks = ("binary",)

    def initialise(self) -> None:
        self.state["expansion.width.gamma"][0] = starting_gamma(self.parameters, self.n_features)


class Expanded(NamedTuple):
    """Memory of a learner that keeps nothing but its expansion."""

    expansion: Expansion = part(Expansion, "the sum of kernels")


@fragment
def keep(_parameters: Any, _memory: Any) -> None:
    """What those do who keep nothing else that depends on the width."""


def kernel_sizes(given: Any, budget: int, slots: int) -> dict[str, int]:
    """B, F and G: slots for a budget, and the rows that decide about the width."""
    return {"B": slots, **sizes_of(min(FIRST, budget) if given.kernel.by_median else 1)}


def expanding(
    update: Fragment, given: Any, memory: type[Any], budget: int, more: int = 0, renew: Fragment = keep, **sizes: int
) -> Rule:
    """The rule of a kernel learner whose expansion has `more` slots than its budget."""
    room: Sizes = {**kernel_sizes(given, budget, budget + more), **sizes}
    return Rule(score, learning(update, renew), given, memory, room)


@cache
def learning(update: Fragment, renew: Fragment) -> Fragment:
    """`learn` of a kernel learner."""

    def learn(x: Array, y: float, _omega: float, s: float, p: Any, memory: Any) -> None:
        kept = memory.expansion
        if not usable(s, kept):
            kept.skipped[0] += 1
            return
        update(x, y, s, p, memory)
        if p.kernel.by_median and kept.width.noted[0] < kept.width.first.shape[0] and note(x, kept.width):
            renew(p, memory)

    function = getattr(update, "py_func", update)
    learn.__module__, learn.__qualname__ = function.__module__, f"{function.__qualname__}.learn"
    return fragment(learn)
