"""The budget perceptron: it evicts the stored row that the others classify best."""

from typing import NamedTuple

from driftway.learners.contract import Array, Learner, UpdateRule, field, fragment, number, part, scratch
from driftway.learners.kernel_methods.expansion import (
    Kernel,
    KernelExpansion,
    KernelParameters,
    compare_all,
    compare_next,
    drop_compared,
    kernel_of,
    put,
)
from driftway.learners.kernel_methods.rule import expanding


class BudgetPerceptron(Learner):
    """Stores rows of small margin; a full budget evicts the one that the others classify best.

    s = sum of y_i k(z_i, x); a row with y s <= rho is stored, and over the budget argmax of
    y_i (f(z_i) - y_i k(z_i, z_i)) is evicted. For streams without drift and label noise: it keeps the rows that the
    others get wrong, hence mislabelled and outdated ones, and with 10 % noise it is no better than chance.

    Cost
    ----
    O(B d) per row, O(B^2) for each that is stored; 8 (B + 1) (d + B + 3) + 80 bytes.

    Source
    ------
    Crammer, Kandola and Singer, NIPS 2003; Huang, Online Learning, "SV removal".
    docs/algorithms/kernel_methods.md#budget_perceptron.
    """

    name = "budget_perceptron"
    tasks = ("binary",)

    class Params(KernelParameters):
        rho: float = number(0.0, "Margin up to which a row is stored, in units of the score.", at_least=0.0)

    def rule(self) -> UpdateRule:
        p = self.parameters
        return expanding(
            update,
            BudgetPerceptronNumbers(kernel_of(p, self.n_features), p.rho),
            BudgetPerceptronState,
            p.budget,
            more=1,
            renew=compare_again,
        )


class BudgetPerceptronNumbers(NamedTuple):
    """Parameters of `budget_perceptron`."""

    kernel: Kernel
    rho: float
    """Margin up to which a row is stored."""


class BudgetPerceptronState(NamedTuple):
    """State of `budget_perceptron`."""

    expansion: KernelExpansion = part(KernelExpansion, "the sum of kernels, with a slot more than the budget")
    gram: Array = field("f8[B, B]", "k of any two stored rows")
    value: Array = scratch("f8[B]", "f at the stored rows")


@fragment
def update(x: Array, y: float, s: float, p: BudgetPerceptronNumbers, memory: BudgetPerceptronState) -> None:
    """Store the row if its margin is at most rho; over the budget, evict one. Shapes: x f8[d]."""
    if y * s > p.rho:
        return
    kept, gram = memory.expansion, memory.gram
    n = kept.used[0]
    compare_next(p.kernel, kept, gram)
    put(x, y, n, kept)
    if n + 1 == gram.shape[0]:
        drop_compared(best_without_itself(memory), kept, gram)


@fragment
def best_without_itself(memory: BudgetPerceptronState) -> int:
    """The slot of the stored row that all others classify with the largest margin, the lowest on ties."""
    kept, gram, value = memory.expansion, memory.gram, memory.value
    n = kept.used[0]
    for i in range(n):
        value[i] = 0.0
    for j in range(n):
        row, coefficient = gram[j], kept.coefficient[j]
        for i in range(n):
            value[i] += coefficient * row[i]
    best, largest = 0, 0.0
    for i in range(n):
        margin = kept.coefficient[i] * (value[i] - kept.coefficient[i] * gram[i, i])
        if i == 0 or margin > largest:
            best, largest = i, margin
    return best


@fragment
def compare_again(p: BudgetPerceptronNumbers, memory: BudgetPerceptronState) -> None:
    """Recompute the kernel values after a change of width."""
    compare_all(p.kernel, memory.expansion, memory.gram)
