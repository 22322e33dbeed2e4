"""Common part of multiclass learners with a covariance per class: top-1 updates with `learners/second_order` steps.

Class r has a Gaussian N(mu_r, Sigma_r) over its weights. A row affects its class y and the best wrong one, s. With
the margin m = (mu_y - mu_s).x and the variance v = x'Sigma_y x + x'Sigma_s x the scalars are those for two classes;
with them both means move apart and both covariances shrink. Covariances between classes are not kept.
"""

import math
from typing import Any, NamedTuple

from driftway.learners.contract import Array, Counts, UpdateRule, field, fragment, scratch
from driftway.learners.engine.update_loop import Fragment
from driftway.learners.multiclass.margins import best_wrong, step_apart
from driftway.learners.multiclass.weights import products
from driftway.learners.second_order.confidence import precision_gain, required, step_size
from driftway.learners.second_order.covariance import COLLAPSED, DIAGONAL, FULL, CovarianceForm, fill, form_of, is_full
from driftway.learners.second_order.nherd import herded_gain, herded_shrinkage, pull

REGULARISED, HERDED = 4, 5
"""Scalars of a rule in addition to those of `confidence`: those of `arow` and of `nherd`, whose margin is 1."""


class ClassCovarianceNumbers(NamedTuple):
    """Parameters of the family."""

    rule: int
    """Scalars of the rule: one of the two above or of the four of `confidence`."""
    phi: float
    C: float
    r: float
    a: float
    q: float


class ClassGaussians(NamedTuple):
    """State of a learner that keeps a Gaussian per class over its weights."""

    weight: Array = field("f8[K, d]", "means mu_r of the classes' weights, d with the intercept")
    covariance: Array = field("f8[K, form]", "Sigma_r, [d, d] per class, bitwise symmetric; [d] in the diagonal form")
    skipped: Counts = field("i8[1]", "labelled rows without a finite step, or whose variance is nil")
    S: Array = scratch("f8[K]", "the scores")
    k_y: Array = scratch("f8[d]", "Sigma_y x")
    k_s: Array = scratch("f8[d]", "Sigma_s x")


def fill_classes(covariance: Array, start: float) -> None:
    """Set the initial covariances, `start` times the identity. Shapes: covariance f8[K, d, d] or f8[K, d]."""
    for of_class in covariance:
        fill(of_class, start)


def separate(rule: int, p: Any, width: int, phi: float = 0.0, C: float = 0.0, r: float = 0.0) -> UpdateRule:
    """The rule of a learner whose parameters p have a, cov and q."""
    learn = learn_full if is_full(p.cov, width) else learn_diagonal
    given = ClassCovarianceNumbers(rule, phi, C, r, p.a, p.q)
    weighs = rule == REGULARISED
    return UpdateRule(products, learn, given, ClassGaussians, form_of(p.cov, width), classes=True, uses_weight=weighs)


@fragment
def missing(m: float, v: float, p: ClassCovarianceNumbers) -> bool:
    """Whether the margin m is below the margin required for a row with variance v: 1, or that given by `confidence`."""
    return m < (1.0 if p.rule >= REGULARISED else required(p.rule, v, p.phi))


@fragment
def step_length(m: float, v: float, r: float, p: ClassCovarianceNumbers) -> float:
    """Alpha > 0 of a row whose margin m is too small; inf or nan on overflow."""
    if p.rule == REGULARISED:
        return (1.0 - m) / (v + r)
    if p.rule == HERDED:
        return (1.0 - m) * pull(v, p.C)
    return step_size(p.rule, m, v, p.phi, p.C)


@fragment
def shrinkage(alpha: float, v: float, r: float, p: ClassCovarianceNumbers) -> float:
    """Beta of the full form, Sigma -= beta k k' with k = Sigma x: kappa / (1 + kappa v) for the kappa of `gain`."""
    if p.rule == REGULARISED:
        return 1.0 / (v + r)
    if p.rule == HERDED:
        return herded_shrinkage(v, p.C)
    kappa = precision_gain(p.rule, alpha, v, p.phi)
    return kappa / (1.0 + kappa * v)


@fragment
def gain(alpha: float, v: float, r: float, p: ClassCovarianceNumbers) -> float:
    """Kappa of the diagonal form, in which the inverse covariance gains the diagonal of kappa x x'."""
    if p.rule == REGULARISED:
        return 1.0 / r
    if p.rule == HERDED:
        return herded_gain(v, p.C)
    return precision_gain(p.rule, alpha, v, p.phi)


def learn_apart(form: CovarianceForm, narrowing: Fragment) -> Fragment:
    """The `learn` of a learner whose covariances have this form; `narrowing` gives beta or kappa."""
    spread, shrink, inflate = form

    @fragment
    def learn(
        x: Array, label: int, omega: float, finite: bool, p: ClassCovarianceNumbers, memory: ClassGaussians
    ) -> None:
        """Move the Gaussians of the row's class and of the best wrong one apart, with the alpha of both forms.

        Shapes: x f8[d]. docs/algorithms/multiclass.md#multiclass-learners; a row that would overflow changes nothing.
        """
        r = p.r / omega
        rival = best_wrong(memory.S, label)
        m = memory.S[label] - memory.S[rival]
        if not (finite and p.rule >= REGULARISED and m >= 1.0):  # these rules need no variance to pass
            v = spread(memory.covariance[label], x, memory.k_y) + spread(memory.covariance[rival], x, memory.k_s)
            if not (finite and COLLAPSED < v < math.inf):
                memory.skipped[0] += 1
            elif missing(m, v, p):
                alpha = step_length(m, v, r, p)
                by = narrowing(alpha, v, r, p)
                usable = by < math.inf
                if usable and step_apart(memory.weight[label], memory.k_y, memory.weight[rival], memory.k_s, alpha):
                    # Each form uses one of the two, beta or kappa.
                    shrink(memory.covariance[label], x, memory.k_y, by, by)
                    shrink(memory.covariance[rival], x, memory.k_s, by, by)
                else:
                    memory.skipped[0] += 1
        if p.q > 0.0:
            for c in range(memory.S.shape[0]):
                inflate(memory.covariance[c], p.q, p.a)

    return learn


learn_full, learn_diagonal = learn_apart(FULL, shrinkage), learn_apart(DIAGONAL, gain)
