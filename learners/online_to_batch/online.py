"""The online learner as the procedures see it: a black box that changes on mistakes only."""

from collections.abc import Callable

from driftway.learners.contract import Learner
from driftway.learners.engine.state import Bytes
from driftway.learners.online_to_batch.training_passes import TrainingPasses
from driftway.learners.online_to_batch.training_set import TrainingSet
from driftway.learners.online_to_batch.working_set import Ids, WorkingSet
from driftway.learners.spec import Spec


class Online:
    """A_online of the paper: a learner, the rows, and the passes of the learner over them.

    Parameters
    ----------
    problem : TrainingSet
        The rows.
    learner : Learner
        A binary learner over the problem's features.
    make_passes : callable
        Makes the learner's `TrainingPasses`.
    """

    def __init__(
        self, problem: TrainingSet, learner: Learner, make_passes: Callable[[TrainingSet, Learner], TrainingPasses]
    ) -> None:
        self.problem, self.learner, self._make_passes = problem, learner, make_passes
        self._passes = make_passes(problem, learner)
        self._initial = learner.state.memory.copy()

    @property
    def memory(self) -> Bytes:
        """The learner's state, which is its current hypothesis."""
        return self.learner.state.memory

    def reset(self) -> None:
        """Return to the initial hypothesis h_0."""
        self.memory[:] = self._initial

    def at(self, hypothesis: Bytes) -> "Online":
        """Another `Online` with the same problem and learner, at the state `hypothesis`."""
        other = Online(self.problem, self.learner.clone_empty(), self._make_passes)
        other.memory[:] = hypothesis
        return other

    def visit(self, sample: WorkingSet, max_mistakes: int, revisit: bool) -> int:
        """Feed the rows of the sample in order; each mistake is learned and removes a copy of the row.

        Parameters
        ----------
        sample : WorkingSet
            Loses the copies; a row that has none left is not visited again.
        max_mistakes : int
            Stop at the `max_mistakes`-th mistake.
        revisit : bool
            Repeat a row until it is right or has no copy left, instead of going on to the next.

        Returns
        -------
        int
            Number of mistakes.
        """
        kept, seen, mistakes = self._passes.visit(sample, max_mistakes, revisit)
        sample.close_gap(kept, seen)
        return mistakes

    def follow(self, draws: Ids, first: int, survival: Ids) -> tuple[int, int]:
        """Learn along draws[first:] until a mistake ends a run longer than survival[LONGEST].

        Parameters
        ----------
        draws : i8[m]
            Rows in order.
        first : int
            Where to begin.
        survival : i8[2]
            `RUN` is updated; `LONGEST` is left to the caller.

        Returns
        -------
        int, int
            Position at which it stopped, m if it did not, and the number of mistakes learned. The mistake at which it
            stopped is not learned yet, so the learner still is the hypothesis with the long run.
        """
        return self._passes.follow(draws, first, survival)

    def errors(self) -> int:
        """Number of rows of the problem that the current hypothesis misclassifies."""
        return self._passes.errors()


def online_for(problem: TrainingSet, spec: Spec) -> Online:
    """The learner of a spec, with compiled passes if it is a perceptron, else with generic ones.

    Raises
    ------
    ParameterError, UnknownLearner
        The spec is not valid, or its learner is not a binary classifier.
    """
    from driftway.learners.linear.perceptron import Perceptron
    from driftway.learners.linear.quadratic_perceptron import QuadraticPerceptron
    from driftway.learners.online_to_batch.generic_passes import GenericPasses
    from driftway.learners.online_to_batch.linear_passes import LinearPasses
    from driftway.learners.online_to_batch.quadratic_passes import QuadraticPasses

    learner = spec.create(problem.n_features, n_classes=2)
    with_intercept = learner.width == problem.rows.shape[1]
    if isinstance(learner, Perceptron) and with_intercept:
        return Online(problem, learner, LinearPasses)
    if isinstance(learner, QuadraticPerceptron) and with_intercept:
        return Online(problem, learner, QuadraticPasses)
    return Online(problem, learner, GenericPasses)
