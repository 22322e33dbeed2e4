"""The multiclass kernel perceptron on a budget."""

from typing import NamedTuple

from driftway.learners.contract import Array, Learner, UpdateRule, fragment
from driftway.learners.kernel_methods.expansion import Kernel, kernel_of
from driftway.learners.kernel_methods.multiclass import (
    ClassExpansion,
    MulticlassKernelParameters,
    expanding_classes,
    put_apart,
)
from driftway.learners.multiclass.margins import best_wrong, mistaken


class MCKernelPerceptron(Learner):
    """Stores every row that it gets wrong, for its class and against the best wrong one; if full, it evicts the oldest.

    S_r = sum of a_ir k(z_i, x); a row whose class does not have the first largest score is stored with a = 1 for it
    and -1 for the best wrong class.

    Cost
    ----
    O(B (d + K)) per row; 8 B (d + K + 2) + 80 bytes.

    Source
    ------
    Crammer and Singer, JMLR 3, 2003, with a kernel; Huang, Online Learning, "Multi-class Online Learning".
    docs/algorithms/kernel_methods.md#mc_kernel_perceptron-mc_norma. Differs: the budget.
    """

    name = "mc_kernel_perceptron"
    tasks = ("binary", "multiclass")

    class Params(MulticlassKernelParameters):
        pass

    def rule(self) -> UpdateRule:
        return expanding_classes(
            update, MCKernelPerceptronNumbers(kernel_of(self.parameters, self.n_features)), self.parameters.budget
        )


class MCKernelPerceptronNumbers(NamedTuple):
    """Parameters of `mc_kernel_perceptron`."""

    kernel: Kernel


@fragment
def update(x: Array, label: int, _p: MCKernelPerceptronNumbers, memory: ClassExpansion) -> None:
    """Store the row if another class is predicted. Shapes: x f8[d]."""
    rival = best_wrong(memory.S, label)
    if mistaken(memory.S, label, rival):
        put_apart(x, 1.0, label, rival, memory)
