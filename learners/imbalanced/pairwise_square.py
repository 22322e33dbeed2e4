"""The square loss of a row against every row of the other class, from only that class's mean and covariance.

For a row x of label y, and c and S the mean and covariance of the n rows x' of the other class, the loss
lam/2 |w|^2 + 1/(2n) sum of (1 - y w.(x - x'))^2 has, with e = x - c, the gradient lam w + (w.e - y) e + S w. So no
row has to be kept, which is how `opauc` and `adaoam` learn in one pass.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from driftway.learners.contract import Array, fragment
from driftway.learners.engine.update_loop import Fragment
from driftway.learners.imbalanced.class_means import join_scattered, join_varied
from driftway.learners.numeric.symmetric import matvec


@fragment
def gradient_full(x: Array, label: float, other: int, lam: float, memory: Any) -> float:
    """Write the gradient; return a bound on the curvature of the loss, lam + |e|^2 + tr S.

    Shapes: x f8[d]; of memory weight f8[d], classes i8[2], mean f8[2, d], scatter f8[2, d, d], which is n S of each
    class, and e f8[d] and g f8[d], which are written.
    """
    weight, e, g = memory.weight, memory.e, memory.g
    n, mean, scatter = memory.classes[other], memory.mean[other], memory.scatter[other]
    margin, length2, trace = 0.0, 0.0, 0.0
    for j in range(x.shape[0]):
        e[j] = x[j] - mean[j]
        margin += weight[j] * e[j]
        length2 += e[j] * e[j]
        trace += scatter[j, j]
    matvec(scatter, weight, g)
    for j in range(x.shape[0]):
        g[j] = lam * weight[j] + (margin - label) * e[j] + g[j] / n
    return lam + length2 + trace / n


@fragment
def gradient_diagonal(x: Array, label: float, other: int, lam: float, memory: Any) -> float:
    """As `gradient_full`, treating the features of a class as uncorrelated.

    Shapes: x f8[d]; memory as in `gradient_full`, but scatter f8[2, d].
    """
    weight, e, g = memory.weight, memory.e, memory.g
    n, mean, squares = memory.classes[other], memory.mean[other], memory.scatter[other]
    margin, length2, trace = 0.0, 0.0, 0.0
    for j in range(x.shape[0]):
        e[j] = x[j] - mean[j]
        margin += weight[j] * e[j]
        length2 += e[j] * e[j]
        trace += squares[j]
    for j in range(x.shape[0]):
        g[j] = lam * weight[j] + (margin - label) * e[j] + squares[j] * weight[j] / n
    return lam + length2 + trace / n


class PairwiseForm(NamedTuple):
    """Operations on the full or diagonal scatter, for rules that are written once for both."""

    join: Callable[[Array, int, Any], bool]
    gradient: Callable[[Array, float, int, float, Any], float]


FULL = PairwiseForm(join_scattered, gradient_full)
DIAGONAL = PairwiseForm(join_varied, gradient_diagonal)


def learn_pairs(form: PairwiseForm, step: Callable[[float, Any, Any], bool]) -> Fragment:
    """The `learn` of a learner whose scatter has this form; `step` steps along the gradient in memory.g."""
    join, gradient = form

    @fragment
    def learn(x: Array, y: float, _omega: float, _s: float, p: Any, memory: Any) -> None:
        """Count the row in its class, then step against the gradient of its loss against the other class.

        Shapes: x f8[d]. docs/algorithms/imbalanced.md#imbalanced-classes.
        """
        own = 1 if y > 0.0 else 0
        other = 1 - own
        if not join(x, own, memory):
            memory.skipped[0] += 1
        elif memory.classes[other] > 0:
            curvature = gradient(x, y, other, p.lam, memory)
            if not step(curvature, p, memory):
                memory.skipped[0] += 1

    return learn
