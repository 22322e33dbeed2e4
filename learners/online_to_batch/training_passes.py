"""Interface through which a kind of learner passes over rows, and the loops of the compiled kinds."""

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol, TypeVar

from driftway.learners.contract import kernel
from driftway.learners.engine.update_loop import Fragment
from driftway.learners.online_to_batch.working_set import Ids, WorkingSet

F = TypeVar("F", bound=Callable[..., Any])

RUN, LONGEST = 0, 1
"""Indices in `survival`: rows that the current hypothesis got right in a row, and the longest run of an earlier one."""


class TrainingPasses(Protocol):
    """How a learner makes passes over rows. Ids are row indices of the problem; a mistake is y != predicted class."""

    def visit(self, sample: WorkingSet, max_mistakes: int, revisit: bool) -> tuple[int, int, int]:
        """As `Online.visit`; return the end of the kept ids, the start of the unvisited ids and the mistake count."""

    def follow(self, draws: Ids, first: int, survival: Ids) -> tuple[int, int]:
        """As `Online.follow`."""

    def errors(self) -> int:
        """Number of rows of the problem that the current learner misclassifies. Changes nothing."""


class Loops(NamedTuple):
    """Compiled loops of a kind of learner; they take a NamedTuple of the learner and the rows."""

    visit: Callable[..., tuple[int, int, int]]
    follow: Callable[..., tuple[int, int]]
    errors: Callable[[Any], int]


class CompiledPasses(TrainingPasses):
    """See `TrainingPasses`.

    Parameters
    ----------
    at : NamedTuple
        A learner and the rows of a problem.
    loops : Loops
        The loops of its kind.
    """

    def __init__(self, at: Any, loops: Loops) -> None:
        self._at, self._loops = at, loops

    def visit(self, sample: WorkingSet, max_mistakes: int, revisit: bool) -> tuple[int, int, int]:
        span = sample.first, sample.last
        return self._loops.visit(self._at, sample.ids, sample.copies, span, max_mistakes, revisit)

    def follow(self, draws: Ids, first: int, survival: Ids) -> tuple[int, int]:
        return self._loops.follow(self._at, draws, first, survival)

    def errors(self) -> int:
        return self._loops.errors(self._at)


def loops(right_before_a_mistake: Fragment, learn: Fragment, errors: Callable[[Any], int]) -> Loops:
    """The loops of a kind of learner.

    Parameters
    ----------
    right_before_a_mistake : fragment
        ``(at, ids, t, last)``: number of the rows ids[t:last] before the first mistake.
    learn : fragment
        ``(at, i)``: learn row i, which was misclassified.
    errors : kernel
        ``(at)``: number of rows that the hypothesis misclassifies.
    """

    @kernel
    @_named_after(learn)
    def visit(
        at: Any, ids: Ids, copies: Ids, span: tuple[int, int], max_mistakes: int, revisit: bool
    ) -> tuple[int, int, int]:
        """Lines 3 to 5 of Algorithm I: feed the rows, learn each mistake and remove a copy of it.

        Shapes: ids i8[n], copies i8[n]. `span` is the range of `ids` to pass over. Invariant: ids[first:kept] were
        visited and have copies left, ids[t:last] were not visited. Returns kept, t, and the number of mistakes.
        """
        first, last = span
        kept, t, mistakes = first, first, 0
        while t < last and mistakes < max_mistakes:
            right = right_before_a_mistake(at, ids, t, last)
            for k in range(right):
                ids[kept + k] = ids[t + k]
            kept += right
            t += right
            if t == last:
                break
            i = ids[t]
            learn(at, i)
            mistakes += 1
            copies[i] -= 1
            if copies[i] > 0 and revisit:
                continue
            if copies[i] > 0:
                ids[kept] = i
                kept += 1
            t += 1
        return kept, t, mistakes

    @kernel
    @_named_after(learn)
    def follow(at: Any, draws: Ids, first: int, survival: Ids) -> tuple[int, int]:
        """Learn along the draws until a mistake ends the longest run; see `Online.follow`.

        Shapes: draws i8[m], survival i8[2].
        """
        t, last, mistakes = first, draws.shape[0], 0
        while t < last:
            right = right_before_a_mistake(at, draws, t, last)
            survival[RUN] += right
            t += right
            if t == last or survival[RUN] > survival[LONGEST]:
                break
            learn(at, draws[t])
            mistakes += 1
            survival[RUN] = 0
            t += 1
        return t, mistakes

    return Loops(visit, follow, errors)


def _named_after(learn: Fragment) -> Callable[[F], F]:
    """Name a loop after its `learn` fragment, so that each has files of its own in the kernel cache."""

    def named(loop: F) -> F:
        loop.__qualname__ = f"{getattr(learn, 'py_func', learn).__module__}.{loop.__name__}"
        return loop

    return named
