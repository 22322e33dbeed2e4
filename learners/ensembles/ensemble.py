"""What ensembles share: copies of a base learner in one field of the state, run inside the ensemble's own loop."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from driftway.learners.contract import Array, Learner, ParameterError, UpdateRule
from driftway.learners.engine.state_layout import Sizes
from driftway.learners.ensembles.expert import Expert, expert_of
from driftway.learners.ensembles.stacked_states import StackedStates
from driftway.learners.learner import REGRESSION
from driftway.learners.spec import Spec

DEFAULT = "default"
"""As a base: the one that suits the task."""
ONCE = "auto"
"""What `DEFAULT` was called before there was a learner of this name."""


class Given(NamedTuple):
    """Parameters of an ensemble's fragments."""

    own: Any
    """The ensemble's numbers."""
    base: Any
    """What the fragments of an expert are given."""


class Ensemble(Learner):
    """A learner made of M copies of the learner that its parameter `base` names; M is what `most` says.

    Its memory (see `driftway.learners.ensembles.expert_pool`) has the copies one after the other in ``states`` f8[M,
    words]. Beside it kernels are given their views, ``members``, each array with one more axis in front, and ``fresh``
    f8[M, words], the copies as they begin: copying a row of it into `states` begins an expert anew.

    Raises
    ------
    ParameterError
        As `Learner`; or `base` is no learner, an ensemble itself, or does not learn this task.
    """

    composite = True

    @property
    def most(self) -> int:
        """M, the most experts that there are at a time."""
        raise NotImplementedError

    @property
    def expert(self) -> Expert:
        """What the ensemble does with one of its experts."""
        return expert_of(self.members.rule, self.task == REGRESSION)

    def around(
        self, score: Any, learn: Any, memory: type[Any], classes: bool, sizes: Sizes | None = None, own: Any = None
    ) -> UpdateRule:
        """The rule of these fragments over the experts; `own` are the ensemble's numbers if not its parameters'."""
        given = Given(self.parameters.numbers() if own is None else own, self.members.rule.parameters)
        shapes = {"M": self.most, "words": self.members.initial_states.shape[1], **(sizes or {})}
        return UpdateRule(score, learn, given, memory, shapes, classes=classes, begin=self.expert.begin)

    def scratch_arrays(self, *axes: int) -> dict[str, Array]:
        fresh = self.members.initial_states
        return {**super().scratch_arrays(*axes), "members": self.members.views(self.state["states"]), "fresh": fresh}

    def row_buffer(self, n: int) -> Array:
        return self.base.row_buffer(n)

    def initialise(self) -> None:
        self.state["states"][:] = self.members.initial_states

    def _read(self, parameters: Mapping[str, Any]) -> Any:
        self.parameters = super()._read(parameters)
        spec = Spec.parse_nested(self.parameters.base)
        if self.parameters.base == ONCE:
            raise ParameterError(
                f"base of {self.name} cannot be `{ONCE}`, which once said what `{DEFAULT}` says now and since names a "
                f"learner: write base={DEFAULT}, or base={ONCE}/seed=1 for copies of that learner"
            )
        if spec.name == DEFAULT:
            spec = replace(spec, name="rls" if self.task == REGRESSION else "gaussian_nb")
        try:
            self.base = spec.create(self.n_features, self.n_classes or 2, self.task)
        except ValueError as error:
            raise ParameterError(f"base of {self.name} must be a learner of this task: {error}") from None
        if self.base.composite:
            raise ParameterError(f"base of {self.name} must be one learner as it stands, not {self.base.name}")
        self._adopt()
        return self.parameters

    def _adopt(self) -> None:
        """Make the experts."""
        self.members = StackedStates(self.base, self.most)
        self.uses_features, self.standardizable = self.base.uses_features, self.base.standardizable
        self.unscaled = self.base.unscaled

    def _prepare(self, X: Array) -> Array:
        return self.base._prepare(X)  # noqa: SLF001 - the experts see the same rows, prepared once
