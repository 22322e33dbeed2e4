"""A learner monitored by a drift detector, with an action on drift."""

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, NamedTuple

from driftway.learners.contract import (
    Array,
    Counts,
    Learner,
    ParameterError,
    Parameters,
    UpdateRule,
    choice,
    field,
    fragment,
    scratch,
)
from driftway.learners.drift.detector import DRIFT, QUIET, WARNING
from driftway.learners.drift.registry import create
from driftway.learners.engine.jit import member
from driftway.learners.engine.parameters import word
from driftway.learners.engine.state import Bytes, State
from driftway.learners.engine.state_layout import allocate_scratch, as_views
from driftway.learners.ensembles.ensemble import Ensemble
from driftway.learners.ensembles.expert import Expert, move, renew
from driftway.learners.learner import CLASSIFICATION, REGRESSION
from driftway.learners.spec import Spec

RESET, SHRINK, BACKGROUND = ACTIONS = "reset", "shrink", "background"
COVARIANCES = "P", "sigma", "covariance"
"""Names of the fields that `shrink` resets."""
MAIN, COPY = 0, 1
"""The two slots of experts: the learner, and the background copy."""
LONGEST_QUIET = 1000
"""Consecutive rows without a warning after which the background copy is dropped."""


class OnDrift(Ensemble):
    """A learner monitored by a drift detector, which gets every row's mistake or hit after the learner has learned it.

    When the detector signals a drift, `reset` resets the learner, with this row as its first; `shrink` resets its
    covariance and keeps the weights; `background` replaces the learner by a new copy that was trained on every row
    since the first warning. With detectors without warnings, like adwin, there is no such copy, and `background` is
    the same as `reset`.

    Parameters
    ----------
    make : callable
        Class of the inner learner, or a wrapper around one: called with n_features, n_classes, task and parameters.
    n_features, n_classes, task
        As in `Learner`.
    **parameters
        `detector` and `action`, see `OnDriftParameters`; the others are the learner's.

    State
    -----
    states : f8[2, words]       the state of the learner, and of the background copy
    detector : f8[D]            the detector's state
    alarms : i8[1]              drifts so far
    quiet : i8[1]               rows since the last warning or drift
    copied : i8[1]              whether there is a background copy

    Cost
    ----
    The learner's and the detector's; twice the learner's while there is a copy.

    Raises
    ------
    ParameterError
        A parameter is not valid, including the learner's; the task is regression; or `shrink` finds no covariance.

    Source
    ------
    Gama, Medas, Castillo and Rodrigues, SBIA 2004 (warnings and a new learner).
    docs/algorithms/drift.md#drift-detectors.
    """

    def __init__(
        self,
        make: Callable[..., Learner],
        n_features: int,
        n_classes: int = 2,
        task: str = CLASSIFICATION,
        **parameters: Any,
    ) -> None:
        own = {name: parameters.pop(name) for name in ("detector", "action") if name in parameters}
        self._make, self._given = make, own
        self.base = make(n_features, n_classes, task, **parameters)
        self.name = f"on_drift:{self.base.name}"
        self.tasks = tuple(kind for kind in self.base.tasks if kind != REGRESSION)
        self.link, self.multiclass_link = self.base.link, self.base.multiclass_link
        super().__init__(n_features, n_classes, task, **own, **parameters)

    @property
    def max_experts(self) -> int:
        return 2

    def rule(self) -> UpdateRule:
        watch, classes = self.detector.rule(), self.members.rule.classes
        begun = self._covariance() if self.parameters.action == SHRINK else (0, 0)
        action = ACTIONS.index(self.parameters.action)
        given = OnDriftNumbers(self.members.rule.parameters, watch.parameters, action, *begun)
        words = self.members.initial_states.shape[1]
        sizes = {"words": words, "D": self.detector.state.nbytes // 8, "M": self.max_experts}
        score, learn = build_fragments(self.expert, watch.detect, classes)
        return UpdateRule(score, learn, given, OnDriftState, sizes, classes=classes, begin=self.expert.begin)

    def scratch_arrays(self, *axes: int) -> dict[str, Array]:
        watch = self.detector.rule()
        detector = State(self.detector.state.fields, self.state["detector"].view("u1"))
        return {
            **super().scratch_arrays(*axes),
            "restarted": self.detector.state.memory.view("f8").copy(),
            "watched": as_views(watch.memory, detector, **allocate_scratch(watch.memory, watch.sizes)),
        }

    def initialise(self) -> None:
        super().initialise()
        self.state["detector"][:] = self.detector.state.memory.view("f8")

    def check_state(self, memory: Bytes) -> None:
        super().check_state(memory)
        self.detector.check_state(State(self.state.fields, memory)["detector"].view("u1"))

    def clone_empty(self) -> Learner:
        return OnDrift(self._make, self.n_features, self.n_classes, self.task, **self.parameters.as_dict())

    def _read(self, parameters: Mapping[str, Any]) -> Any:
        both: Any = type("Params", (OnDriftParameters, type(self.base.parameters)), {})  # the fields of both
        read = both.build(parameters)
        try:
            spec = Spec.parse_nested(read.detector)
            self.detector = create(spec.name, **dict(spec.parameters))
        except ValueError as error:
            raise ParameterError(f"detector of {self.name} must be a drift detector: {error}") from None
        if self.base.composite:
            raise ParameterError(f"{self.name}: on_drift watches a plain learner")
        self._adopt()
        self.parameters = read
        if read.action == SHRINK:
            self._covariance()
        return read

    def _covariance(self) -> tuple[int, int]:
        """Return the range of the covariance in the learner's state: its first word, and the one after its last."""
        state = self.base.state
        for name in COVARIANCES:
            if name in state.fields:
                start = state.start(name) // 8
                return start, start + state[name].size
        raise ParameterError(f"action of {self.name} must be {RESET} or {BACKGROUND}: it has no covariance to {SHRINK}")


class OnDriftParameters(Parameters):
    """Parameters that `on_drift` adds to the learner's."""

    detector: str = word("ddm", "What watches the learner's mistakes, as in adwin/delta=0.01.", "a drift detector")
    action: str = choice(RESET, ACTIONS, "What happens at a drift: see above.")


class OnDriftNumbers(NamedTuple):
    """Parameters of the fragments."""

    base: Any
    """The learner's."""
    detector: Any
    """The detector's."""
    action: int
    """Index in ACTIONS."""
    start: int
    """For `shrink`: the first word of the covariance in the learner's state."""
    end: int
    """For `shrink`: the word after the covariance's last."""


class OnDriftState(NamedTuple):
    """State of `on_drift`."""

    members: Any
    """Views of `states`."""
    fresh: Array
    """f8[2, words]: the learner's initial state, twice."""
    restarted: Array
    """f8[D]: the detector's initial state."""
    watched: Any
    """Views of `detector`."""
    states: Array = field("f8[M, words]", "the learner's state, and its copy's in the background")
    detector: Array = field("f8[D]", "the detector's state")
    alarms: Counts = field("i8[1]", "drifts so far")
    quiet: Counts = field("i8[1]", "rows since the last warning or drift")
    copied: Counts = field("i8[1]", "whether there is a copy in the background")
    margins: Array = scratch("f8[M]", "predictions of the two")
    S: Array = scratch("f8[K]", "the learner's class scores")


@cache
def build_fragments(expert: Expert, detect: Any, classes: bool) -> tuple[Any, Any]:
    """Make `score` and `learn` of a learner monitored by a detector."""
    predict, choose, teach, begin = expert
    shrinks, trains_ahead = ACTIONS.index(SHRINK), ACTIONS.index(BACKGROUND)

    @fragment
    def score_margin(x: Array, p: OnDriftNumbers, memory: OnDriftState) -> float:
        predict(x, p.base, member(memory.members, MAIN), memory.margins, MAIN)
        return memory.margins[MAIN]

    @fragment
    def score_classes(x: Array, p: OnDriftNumbers, memory: OnDriftState) -> None:
        one = member(memory.members, MAIN)
        predict(x, p.base, one, memory.margins, MAIN)
        for r in range(memory.S.shape[0]):
            memory.S[r] = one.S[r]

    @fragment
    def watch(x: Array, label: int, p: OnDriftNumbers, memory: OnDriftState) -> None:
        """Learn, run the detector, act. Shapes: x f8[d]. docs/algorithms/drift.md#drift-detectors, policy wrapper."""
        one = member(memory.members, MAIN)
        wrong = choose(one, memory.margins[MAIN]) != label
        teach(x, label, 1.0, p.base, one, memory.margins[MAIN])
        verdict = detect(1.0 if wrong else 0.0, p.detector, memory.watched)
        drifted = verdict == DRIFT
        memory.quiet[0] = memory.quiet[0] + 1 if verdict == QUIET else 0
        if memory.quiet[0] == LONGEST_QUIET:
            memory.copied[0] = 0
        if p.action == trains_ahead and verdict == WARNING and memory.copied[0] == 0:
            renew(COPY, memory)
            memory.copied[0] = 1
        if drifted:
            memory.alarms[0] += 1
            for w in range(memory.detector.shape[0]):  # one like adwin would go on with the errors of the old learner
                memory.detector[w] = memory.restarted[w]
            if p.action == shrinks:
                for w in range(p.start, p.end):
                    memory.states[MAIN, w] = memory.fresh[MAIN, w]
            elif memory.copied[0] == 0:
                renew(MAIN, memory)
        slot = COPY if memory.copied[0] == 1 else MAIN
        if drifted or verdict == WARNING:
            begin(p, memory)  # a slot may have a new state
        if memory.copied[0] == 1 or (drifted and p.action != shrinks):
            other = member(memory.members, slot)
            predict(x, p.base, other, memory.margins, slot)
            teach(x, label, 1.0, p.base, other, memory.margins[slot])
        if drifted and memory.copied[0] == 1:
            move(COPY, MAIN, memory)
            memory.copied[0] = 0
            begin(p, memory)

    @fragment
    def learn_margin(
        x: Array, y: float, _omega: float, _margin: float, p: OnDriftNumbers, memory: OnDriftState
    ) -> None:
        watch(x, 1 if y > 0.0 else 0, p, memory)

    @fragment
    def learn_classes(
        x: Array, label: int, _omega: float, _finite: bool, p: OnDriftNumbers, memory: OnDriftState
    ) -> None:
        watch(x, label, p, memory)

    return (score_classes, learn_classes) if classes else (score_margin, learn_margin)
