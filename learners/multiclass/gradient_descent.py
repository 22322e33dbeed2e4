"""Multiclass online gradient descent, on the hinge loss of the margin and on the log loss of a softmax."""

from typing import Any, NamedTuple

from driftway.learners.contract import Array, Parameters, UpdateRule, fragment, intercept
from driftway.learners.engine.shared_fields import SharedFields
from driftway.learners.engine.update_loop import Fragment
from driftway.learners.linear.gradient_descent import SCHEDULES, first_step, step_at, step_schedule
from driftway.learners.multiclass.margins import best_wrong, step_apart, step_each
from driftway.learners.multiclass.weights import SteppedClassWeights, products
from driftway.learners.numeric.elementary.exponential import exp


class ClassDescentParameters(Parameters):
    """Parameters of `mc_ogd` and `mc_softmax`."""

    eta: float = first_step()
    schedule: str = step_schedule()
    intercept: bool = intercept()


class ClassDescentNumbers(NamedTuple):
    """Parameters of the kernels."""

    schedule: int
    eta: float


def descend(learn: Fragment, p: Any) -> UpdateRule:
    """The rule of a learner with `ClassDescentParameters`; `learn` is `learn_hinge` or `learn_softmax`."""
    given = ClassDescentNumbers(SCHEDULES.index(p.schedule), p.eta)
    return UpdateRule(
        products, learn, given, SteppedClassWeights, classes=True, uses_weight=True, sharing=SharedFields()
    )


@fragment
def learn_hinge(
    x: Array, label: int, omega: float, finite: bool, p: ClassDescentNumbers, memory: SteppedClassWeights
) -> None:
    """If the margin is below 1, step by eta_t x in the right class and -eta_t x in the best wrong one.

    Shapes: x f8[d]. docs/algorithms/multiclass.md#multiclass-learners. A row that would overflow counts for t only.
    """
    memory.learned[0] += 1
    rival = best_wrong(memory.S, label)
    if finite and memory.S[label] - memory.S[rival] >= 1.0:
        return
    step = step_at(memory.learned[0], p.schedule, p.eta) * omega
    if not (finite and step_apart(memory.weight[label], x, memory.weight[rival], x, step)):
        memory.skipped[0] += 1


@fragment
def learn_softmax(
    x: Array, label: int, omega: float, finite: bool, p: ClassDescentNumbers, memory: SteppedClassWeights
) -> None:
    """Step every class against the gradient of the row's log loss.

    Shapes: x f8[d]. docs/algorithms/multiclass.md#multiclass-learners. A row that would overflow counts for t only.
    """
    memory.learned[0] += 1
    steps = memory.S  # overwrites the scores, which are no longer needed
    if finite:
        softmax_steps(steps, label, step_at(memory.learned[0], p.schedule, p.eta) * omega)
    if not (finite and step_each(memory.weight, x, steps)):
        memory.skipped[0] += 1


@fragment
def softmax_steps(S: Array, label: int, eta: float) -> None:
    """Turn scores into steps, -eta (softmax(S)_r - [r = label]) for every class r. Shapes: S f8[K] overwritten.

    The largest score is subtracted first, so that exp does not overflow.
    """
    largest = S[0]
    for r in range(1, S.shape[0]):
        largest = max(largest, S[r])
    total = 0.0
    for r in range(S.shape[0]):
        S[r] = exp(S[r] - largest)
        total += S[r]
    for r in range(S.shape[0]):
        S[r] = -eta * (S[r] / total - (1.0 if r == label else 0.0))
