"""The twin vector machine: each place represents rows of both classes, and the dual is solved on the places."""

from typing import NamedTuple

from driftway.learners.contract import Array, Learner, UpdateRule, field, fragment, integer, number, part
from driftway.learners.kernel_methods.bandwidth import width
from driftway.learners.kernel_methods.expansion import (
    Kernel,
    KernelExpansion,
    KernelParameters,
    compare_all,
    compare_next,
    drop_compared,
    kernel_of,
    kernel_sum,
    own_kernel,
    put,
    support_vector,
)
from driftway.learners.kernel_methods.rule import expanding


class TVM(Learner):
    """A support vector machine on places that stand for several rows: over the budget, the two nearest places merge.

    Place j represents n+ rows of class 1 and n- of class 0, with dual variables 0 <= alpha+- <= C n+-;
    s = sum of (alpha+_j - alpha-_j) k(z_j, x). A row with y s <= 1 + buf becomes a place; a merged place is the mean
    of its rows. Then each dual variable takes a step that gives its place margin 1.

    Cost
    ----
    O(B d) per row, O(B^2) for each row taken in; 8 (B + 1) (d + B + 7) + 80 bytes.

    Source
    ------
    Wang and Vucetic, SDM 2009; Huang, Online Learning, "SV merging". docs/algorithms/kernel_methods.md#tvm. Differs:
    the solver is coordinate ascent; kernels other than the Gaussian are normalised.
    """

    name = "tvm"
    tasks = ("binary",)

    class Params(KernelParameters):
        width: str = width("median")
        budget: int = integer(50, "Largest number of stored places.", at_least=2, at_most=5000)
        C: float = number(1.0, "Largest weight of a row. Larger = fewer errors, smaller margin.", above=0.0)
        buf: float = number(0.0, "Distance beyond the margin of 1 up to which rows are stored.", at_least=0.0)
        passes: int = integer(1, "Sweeps over the places after each row.", at_least=1)

    def rule(self) -> UpdateRule:
        p = self.parameters
        given = TVMNumbers(kernel_of(p, self.n_features, normalised=True), p.C, p.buf, p.passes)
        return expanding(update, given, TVMState, p.budget, more=1, renew=compare_again)


class TVMNumbers(NamedTuple):
    """Parameters of `tvm`."""

    kernel: Kernel
    C: float
    buf: float
    passes: int


class TVMState(NamedTuple):
    """State of `tvm`."""

    expansion: KernelExpansion = part(KernelExpansion, "the places, with a slot more than the budget")
    gram: Array = field("f8[B, B]", "k of any two places")
    size: Array = field("f8[2, B]", "rows of class 0, and of class 1, for which each stands")
    alpha: Array = field("f8[2, B]", "their dual variables")


@fragment
def update(x: Array, y: float, s: float, p: TVMNumbers, memory: TVMState) -> None:
    """Take in the row if its margin is at most 1 + buf, merge if over the budget, then sweep. Shapes: x f8[d]."""
    if y * s > 1.0 + p.buf:
        return
    kept, gram = memory.expansion, memory.gram
    n = kept.used[0]
    compare_next(p.kernel, kept, gram)
    put(x, 0.0, n, kept)
    for side in range(2):
        memory.size[side, n] = 0.0
        memory.alpha[side, n] = 0.0
    memory.size[1 if y > 0.0 else 0, n] = 1.0
    if kept.used[0] == gram.shape[0]:
        merge_nearest(p, memory)
    for _ in range(p.passes):
        sweep(p, memory)


@fragment
def merge_nearest(p: TVMNumbers, memory: TVMState) -> None:
    """Merge the two places of largest kernel value; the place in the last slot fills the gap."""
    kept, gram, size, alpha = memory.expansion, memory.gram, memory.size, memory.alpha
    n = kept.used[0]
    one, other = 0, 1
    for i in range(n):
        row, nearest = gram[i], gram[one, other]
        for j in range(i + 1, n):
            if row[j] > nearest:
                one, other, nearest = i, j, row[j]
    ours, theirs = size[0, one] + size[1, one], size[0, other] + size[1, other]
    squared = 0.0
    for j in range(kept.column.shape[0]):
        z = (ours * kept.column[j, one] + theirs * kept.column[j, other]) / (ours + theirs)
        kept.column[j, one] = z
        squared += z * z
    kept.own[one] = own_kernel(squared, p.kernel)
    for side in range(2):
        size[side, one] += size[side, other]
        alpha[side, one] += alpha[side, other]
        size[side, other] = size[side, n - 1]
        alpha[side, other] = alpha[side, n - 1]
    kept.coefficient[one] = alpha[1, one] - alpha[0, one]
    drop_compared(other, kept, gram)
    support_vector(one, p.kernel, kept)
    for j in range(kept.used[0]):
        gram[one, j] = gram[j, one] = kept.across[j]


@fragment
def sweep(p: TVMNumbers, memory: TVMState) -> None:
    """Take a step in each dual variable, place by place, class 1 first. Invariant: 0 <= alpha <= C size."""
    kept, gram = memory.expansion, memory.gram
    n = kept.used[0]
    for j in range(n):
        row = gram[j]
        for side in (1, 0):
            if memory.size[side, j] > 0.0:
                value = kernel_sum(row, kept)
                label = 2.0 * side - 1.0
                moved = memory.alpha[side, j] + (1.0 - label * value) / row[j]
                memory.alpha[side, j] = min(max(moved, 0.0), p.C * memory.size[side, j])
                kept.coefficient[j] = memory.alpha[1, j] - memory.alpha[0, j]


@fragment
def compare_again(p: TVMNumbers, memory: TVMState) -> None:
    """Recompute the kernel values after a change of width."""
    compare_all(p.kernel, memory.expansion, memory.gram)
