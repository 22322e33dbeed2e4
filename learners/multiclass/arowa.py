"""Adaptive regularisation of weight matrices (AROWA), for several classes."""

from typing import NamedTuple

from driftway.learners.contract import (
    Array,
    Counts,
    Learner,
    Parameters,
    UpdateRule,
    choice,
    field,
    fragment,
    intercept,
    number,
    scratch,
)
from driftway.learners.multiclass.covariance import REGULARISED, ClassCovarianceNumbers, ClassGaussians, learn_diagonal
from driftway.learners.multiclass.margins import best_wrong
from driftway.learners.multiclass.weight_matrix import inflate_factors, matrix_sizes, start_matrix, step_by_factors
from driftway.learners.multiclass.weights import products
from driftway.learners.second_order.covariance import drift, start_variance


class AROWA(Learner):
    """Adaptive regularisation of a weight matrix: one Gaussian over all classes' weights.

    A full covariance of K d weights would be huge. The diagonal form keeps a variance per weight, as `mc_arow` does in
    its diagonal form; the factored form keeps a covariance of the classes and one of the features. All classes share
    both factors, and every row narrows them, so it is weak without drift.

    With scores S = W x, s the best wrong class, p = e_y - e_s and m = S_y - S_s, a row with m < 1 gives

    - diagonal: v = sum_ij V_ij p_i^2 x_j^2, W += (1 - m) / (v + r) V o (p x'), V^-1 += (p x')^2 / r, o and ^2 by entry,
    - factored: v = vp vx with vp = p'R p and vx = x'F x, W += (1 - m) / (v + r) (R p)(F x)',
      R^-1 += vx / (r d) p p' and F^-1 += vp / (r K) x x'.

    Cost
    ----
    Diagonal: O(K d) per row, 16 K d + 8 bytes. Factored: O((K + d)^2) per row, 8 (K^2 + d^2 + K d) + 8 bytes.

    Source
    ------
    Crammer and Chechik, ICML 2012, with the top-1 updates of Crammer, Dredze and Kulesza, EMNLP 2009.
    docs/algorithms/multiclass.md#arowa-arowa_pair. Differs: the step of the factors is derived independently, drift q
    of docs/algorithms/conventions.md#drift-of-the-covariance.
    """

    name = "arowa"
    tasks = ("binary", "multiclass")

    class Params(Parameters):
        r: float = number(1.0, "Regularisation, unit of a squared feature. Larger = slower.", above=0.0)
        a: float = start_variance()
        form: str = choice(
            "diag",
            ("diag", "factored"),
            "`diag`: a variance per weight; `factored`: a matrix of the classes by one of the features.",
        )
        q: float = drift()
        intercept: bool = intercept()

    def rule(self) -> UpdateRule:
        p = self.parameters
        learn = learn_entries if p.form == "diag" else learn_factors
        given = ClassCovarianceNumbers(REGULARISED, 0.0, 0.0, p.r, p.a, p.q)
        sizes = matrix_sizes(p.form, self.n_classes, self.width)
        return UpdateRule(products, learn, given, AROWAState, sizes, classes=True, uses_weight=True)

    def initialise(self) -> None:
        start_matrix(self.state, self.parameters.a)


class AROWAState(NamedTuple):
    """State of `arowa`; the covariance form that is not used is empty, f8[0, 0]."""

    weight: Array = field("f8[K, d]", "mean W of the weights, d with the intercept")
    variance: Array = field("f8[entries]", "V, of every weight, [K, d]")
    of_rows: Array = field("f8[rows, rows]", "R, factor of the classes, [K, K], bitwise symmetric, starts at a I")
    of_columns: Array = field("f8[columns, columns]", "F, of the features, [d, d], bitwise symmetric, starts at I")
    skipped: Counts = field("i8[1]", "labelled rows without a finite step, or whose variance is nil")
    S: Array = scratch("f8[K]", "the scores")
    p: Array = scratch("f8[K]", "1 for the row's class, -1 for the best wrong one")
    kp: Array = scratch("f8[K]", "R p")
    kz: Array = scratch("f8[d]", "F x; in the diagonal form V_y o x")
    k_s: Array = scratch("f8[d]", "of the diagonal form, V_s o x")


@fragment
def learn_entries(
    x: Array, label: int, omega: float, finite: bool, p: ClassCovarianceNumbers, memory: AROWAState
) -> None:
    """The diagonal form, which is that of `mc_arow`, with a variance per feature and class.

    Shapes: x f8[d]. docs/algorithms/multiclass.md#arowa-arowa_pair.
    """
    m = memory
    gaussians = ClassGaussians(m.weight, m.variance, m.skipped, m.S, m.kz, m.k_s)
    learn_diagonal(x, label, omega, finite, p, gaussians)


@fragment
def learn_factors(
    x: Array, label: int, omega: float, finite: bool, p: ClassCovarianceNumbers, memory: AROWAState
) -> None:
    """Condition the matrix on the row's class scoring 1 more than the best wrong one.

    Shapes: x f8[d]. docs/algorithms/multiclass.md#arowa-arowa_pair.
    """
    rival = best_wrong(memory.S, label)
    m = memory.S[label] - memory.S[rival]
    if not (finite and m >= 1.0):
        memory.p[:] = 0.0
        memory.p[label], memory.p[rival] = 1.0, -1.0
        if not (finite and step_by_factors(x, 1.0 - m, p.r / omega, memory)):
            memory.skipped[0] += 1
    if p.q > 0.0:
        inflate_factors(p.q, p.a, memory)
