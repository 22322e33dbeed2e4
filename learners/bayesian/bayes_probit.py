"""Online Bayesian probit regression by assumed-density filtering."""

import math
from typing import NamedTuple

from driftway.learners.contract import (
    Array,
    Counts,
    Learner,
    Parameters,
    UpdateRule,
    field,
    fragment,
    intercept,
    number,
    scratch,
)
from driftway.learners.engine.update_loop import Fragment
from driftway.learners.numeric.elementary.error_function import erfc
from driftway.learners.numeric.elementary.exponential import exp
from driftway.learners.numeric.vectors import axpy_guarded, dot
from driftway.learners.second_order.covariance import (
    COLLAPSED,
    FULL,
    VARIANCE_FLOOR,
    CovarianceForm,
    covariance,
    fill,
    form_of,
    inflate_diagonal,
    is_full,
    spread_diagonal,
    start_variance,
)

DENSITY_AT_0 = 1.0 / math.sqrt(2.0 * math.pi)
FAR = -30.0
"""Below this V is -u - 1/u to 3e-6 and W is 1 to 2e-3; Phi underflows at -38, and V + u loses all digits at -1e8."""


class BayesProbit(Learner):
    """Bayesian probit regression: after each row, the Gaussian with the mean and covariance of the true posterior.

    Each row's step depends on how surprising its label was and how uncertain the weights are; there is no step size to
    tune. The score s is a standard normal quantile: class 1 has probability Phi(s).

    With k = Sigma x, v = x.k, Xi^2 = beta^2 + v, s = mu.x / Xi, u = y s, V = phi(u) / Phi(u), W = V (V + u),

    - mu += y V / Xi k,
    - Sigma -= W / Xi^2 k k' (diagonal: its diagonal),
    - Sigma_jj += q, up to prior_var.

    Cost
    ----
    Full: O(d^2) per row, 8 d^2 + 8 d + 8 bytes. Diagonal: O(d) per row, 16 d + 8 bytes.

    Source
    ------
    Opper and Winther, On-line Learning in Neural Networks, 1998; the diagonal form is AdPredictor, Graepel et al.,
    ICML 2010, section 3. Huang, Online Learning, "Online Bayesian Probit Regression".
    docs/algorithms/bayesian.md#bayes_probit and docs/algorithms/conventions.md#drift-of-the-covariance.
    """

    name = "bayes_probit"
    tasks = ("binary",)
    link = "probit"

    class Params(Parameters):
        beta: float = number(1.0, "Deviation of the probit noise. Larger = slower.", above=0.0)
        prior_var: float = start_variance()
        q: float = number(
            0.0001,
            "Drift: variance regained per labelled row, up to `prior_var`. 1e-3 on streams that drift fast; 0 freezes.",
            at_least=0.0,
        )
        cov: str = covariance()
        intercept: bool = intercept()

    def rule(self) -> UpdateRule:
        p, d = self.parameters, self.width
        score, learn = (score_full, learn_full) if is_full(p.cov, d) else (score_diagonal, learn_diagonal)
        return UpdateRule(score, learn, p.numbers(), BayesProbitState, form_of(p.cov, d), uses_weight=True)

    def initialise(self) -> None:
        fill(self.state["covariance"], self.parameters.prior_var)


class BayesProbitState(NamedTuple):
    """State of `bayes_probit`."""

    weight: Array = field("f8[d]", "mean mu of the weights, d with the intercept")
    covariance: Array = field("f8[form]", "Sigma, [d, d] and bitwise symmetric; [d] in the diagonal form")
    skipped: Counts = field("i8[1]", "labelled rows without a finite step, or whose variance is nil")
    k: Array = scratch("f8[d]", "Sigma x")
    latent: Array = scratch("f8[2]", "mean mu.x and variance x.k of the row's latent score, without the noise")


def score_probit(form: CovarianceForm) -> Fragment:
    """Make `score` for one form of the covariance."""
    spread = form.spread

    @fragment
    def score(x: Array, p: BayesProbit.Params, memory: BayesProbitState) -> float:
        """Return the latent score's mean in standard deviations; leaves both for `learn`. Shapes: x f8[d]."""
        v = spread(memory.covariance, x, memory.k)
        mean = dot(memory.weight, x)
        memory.latent[0], memory.latent[1] = mean, v
        return mean / math.sqrt(p.beta * p.beta + max(0.0, v))

    return score


def learn_probit(form: CovarianceForm) -> Fragment:
    """Make `learn` for one form of the covariance."""
    _, shrink, inflate = form

    @fragment
    def learn(x: Array, y: float, omega: float, _s: float, p: BayesProbit.Params, memory: BayesProbitState) -> None:
        """Match the mean and covariance of the posterior, with noise variance beta^2 / omega.

        Shapes: x f8[d]. docs/algorithms/bayesian.md#bayes_probit. A row that would overflow changes nothing.
        """
        mean, v = memory.latent[0], memory.latent[1]
        noise = p.beta * p.beta / omega
        deviation = math.sqrt(noise + max(0.0, v))
        u = y * (mean / deviation)
        V = surprise(u)
        sound = math.isfinite(u) and COLLAPSED < v < math.inf
        if sound and axpy_guarded(memory.weight, memory.k, y * V / deviation):
            shrink(memory.covariance, x, memory.k, narrowing(u, V) / (noise + v), 0.0)
        else:
            memory.skipped[0] += 1
        if p.q > 0.0:
            inflate(memory.covariance, p.q, p.prior_var)

    return learn


@fragment
def shrink_variances(variance: Array, x: Array, k: Array, share: float, _kappa: float) -> None:
    """Write the variances, the diagonal of Sigma - share k k'. Shapes: variance f8[d], x f8[d], k f8[d]."""
    for j in range(x.shape[0]):
        variance[j] = max(VARIANCE_FLOOR, variance[j] * (1.0 - share * (k[j] * x[j])))


DIAGONAL = CovarianceForm(spread_diagonal, shrink_variances, inflate_diagonal)
"""Unlike in other learners, this is the diagonal of the covariance, not of its inverse."""


@fragment
def surprise(u: float) -> float:
    """V(u) = phi(u) / Phi(u): how far the mean moves, in deviations of the latent score."""
    if u < FAR:
        return -u - 1.0 / u
    return DENSITY_AT_0 * exp(-0.5 * u * u) / (0.5 * erfc(-u * math.sqrt(0.5)))


@fragment
def narrowing(u: float, V: float) -> float:
    """W(u) = V (V + u), the share of the latent score's variance that the label removed; within [0, 1]."""
    if u < FAR:
        return 1.0
    return min(1.0, max(0.0, V * (V + u)))


score_full, score_diagonal = score_probit(FULL), score_probit(DIAGONAL)
learn_full, learn_diagonal = learn_probit(FULL), learn_probit(DIAGONAL)
