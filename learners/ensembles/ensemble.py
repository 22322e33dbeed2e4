"""The base class of ensembles: copies of a base learner in one state field, run inside the ensemble's own loop."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from driftway.learners.contract import Array, Learner, ParameterError, UpdateRule
from driftway.learners.engine.state import Bytes, State
from driftway.learners.engine.state_layout import Sizes
from driftway.learners.ensembles.expert import Expert, expert_of
from driftway.learners.ensembles.stacked_states import StackedStates
from driftway.learners.learner import REGRESSION
from driftway.learners.spec import Spec

DEFAULT = "default"
"""Value of `base` for the default learner of the task."""
ONCE = "auto"
"""Former value of `DEFAULT`, until there was a learner of this name."""


class EnsembleNumbers(NamedTuple):
    """Parameters of an ensemble's fragments."""

    own: Any
    """The ensemble's own numbers."""
    base: Any
    """The parameters of an expert's fragments."""


class Ensemble(Learner):
    """A learner that consists of M = `max_experts` copies of the learner named by its parameter `base`.

    Its memory (see `driftway.learners.ensembles.expert_pool`) has the copies' states in ``states`` f8[M, words].
    Kernels also get ``members``, their views with an additional leading axis, and ``fresh`` f8[M, words], the initial
    states: copying a row of it into `states` resets an expert.

    Raises
    ------
    ParameterError
        As in `Learner`; or `base` is not a learner, is an ensemble, or does not support this task.
    """

    composite = True

    @property
    def max_experts(self) -> int:
        """M, the maximum number of experts at a time."""
        raise NotImplementedError

    @property
    def revision(self) -> int:  # type: ignore[override]
        """Version of the experts' update rules."""
        return self.base.revision

    @property
    def expert(self) -> Expert:
        """The fragments of one expert."""
        return expert_of(self.members.rule, self.task == REGRESSION)

    def around(
        self, score: Any, learn: Any, memory: type[Any], classes: bool, sizes: Sizes | None = None, own: Any = None
    ) -> UpdateRule:
        """Build the rule from these fragments; `own` are the ensemble's numbers if they are not its parameters."""
        given = EnsembleNumbers(self.parameters.numbers() if own is None else own, self.members.rule.parameters)
        shapes = {"M": self.max_experts, "words": self.members.initial_states.shape[1], **(sizes or {})}
        return UpdateRule(score, learn, given, memory, shapes, classes=classes, begin=self.expert.begin)

    def scratch_arrays(self, *axes: int) -> dict[str, Array]:
        fresh = self.members.initial_states
        return {**super().scratch_arrays(*axes), "members": self.members.views(self.state["states"]), "fresh": fresh}

    def row_buffer(self, n: int) -> Array:
        return self.base.row_buffer(n)

    def initialise(self) -> None:
        self.state["states"][:] = self.members.initial_states

    def check_state(self, memory: Bytes) -> None:
        super().check_state(memory)
        self.members.check(State(self.state.fields, memory)["states"])

    def _read(self, parameters: Mapping[str, Any]) -> Any:
        self.parameters = super()._read(parameters)
        spec = Spec.parse_nested(self.parameters.base)
        if self.parameters.base == ONCE:
            raise ParameterError(
                f"base of {self.name} cannot be `{ONCE}`, which used to mean `{DEFAULT}` and is now the name of a "
                f"learner: write base={DEFAULT}, or base={ONCE}/seed=1 for copies of that learner"
            )
        if spec.name == DEFAULT:
            spec = replace(spec, name="rls" if self.task == REGRESSION else "gaussian_nb")
        try:
            self.base = spec.create(self.n_features, self.n_classes or 2, self.task)
        except ValueError as error:
            raise ParameterError(f"base of {self.name} must be a learner of this task: {error}") from None
        if self.base.composite:
            raise ParameterError(f"base of {self.name} must be a plain learner, not {self.base.name}")
        self._adopt()
        return self.parameters

    def _adopt(self) -> None:
        """Create the experts, and take over the base's requirements on features."""
        self.members = StackedStates(self.base, self.max_experts)
        self.uses_features, self.standardizable = self.base.uses_features, self.base.standardizable
        self.unscaled = self.base.unscaled

    def _prepare(self, X: Array) -> Array:
        return self.base._prepare(X)  # noqa: SLF001 - all experts get the same rows, prepared once
