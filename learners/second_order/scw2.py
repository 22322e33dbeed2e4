"""Soft confidence-weighted learning with squared loss (SCW-II)."""

from __future__ import annotations

from dataclasses import dataclass

from learners.learner import Array, Learner
from learners.parameters import Parameters, choice, flag, number
from learners.second_order.confidence import SOFT_SQUARED, learn_confidently
from learners.second_order.covariance import fill, gaussian_fields
from learners.state import Fields


class SCW2(Learner):
    """Soft confidence-weighted: as `scw1`, with the square of the loss.

    Minimises KL(N(mu, Sigma) || last) + C loss^2 with loss = [phi sqrt(x'Sigma x) - y mu.x]_+ at every row: small
    violations are cheaper than in `scw1`, large ones dearer.

    With phi = Phi^-1(eta), k = Sigma x, v = x.k, m = y mu.x, n = v + 1 / (2 C), a row with m < phi sqrt(v) gives

    - gamma = phi sqrt(phi^2 m^2 v^2 + 4 n v (n + v phi^2)),
    - alpha = (-(2 m n + phi^2 m v) + gamma) / (2 (n^2 + n v phi^2)),
    - sqrt(u) = (-alpha v phi + sqrt(alpha^2 v^2 phi^2 + 4 v)) / 2, the row's deviation afterwards,
    - mu += alpha y k and Sigma^-1 += (alpha phi / sqrt(u)) x x'.

    The diagonal form takes the same alpha.

    Parameters
    ----------
    a : float
        Variance of every weight at the start, a > 0. Default 1.0.
    eta : float
        Probability with which the Gaussian must classify a row correctly, 0.5 < eta < 1. Default 0.75.
    C : float
        Price of the squared loss, C > 0. Larger = more trusting. Default 1.0.
    cov : str
        ``full`` matrix, its ``diag``, or ``auto``: full up to 256 columns. Default ``auto``.
    q : float
        Drift, q >= 0: variance regained per labelled row, up to `a`. 1e-4 on streams that drift; 0, the
        published algorithm, freezes. Default 0.0.
    intercept : bool
        Append a constant 1 to every row. Default true.

    State
    -----
    weight : f8[d]              mean mu of the weights, d with the intercept
    covariance : f8[d, d]       Sigma of the weights, bitwise symmetric; f8[d] in the diagonal form
    skipped : i8[1]             labelled rows without a finite step, or whose variance is nil

    Cost
    ----
    Full: O(d^2) per labelled row, 8 d^2 + 8 d + 8 bytes. Diagonal: O(d) per row, 16 d + 8 bytes.

    Raises
    ------
    ParameterError
        A parameter outside its bounds, or a task other than two classes.

    Source
    ------
    Wang, Zhao and Hoi, ICML 2012, proposition 2 (common code has v * 2 and phi * 2 where squares belong, which puts
    alpha off by 5 to 25 %); Huang, Online Learning, "Algorithm 1 SCW". Differs: roots without cancellation, drift q
    and the diagonal form of ALGORITHMS.md 1.12 and 1.13.
    """

    name = "scw2"
    tasks = ("binary",)

    @dataclass(frozen=True)
    class Params(Parameters):
        a: float = number(1.0, above=0.0)
        eta: float = number(0.75, above=0.5, below=1.0)
        C: float = number(1.0, above=0.0)
        cov: str = choice("auto", ("auto", "full", "diag"))
        q: float = number(0.0, at_least=0.0)
        intercept: bool = flag(True)

    def fields(self) -> Fields:
        return gaussian_fields(self.parameters.cov, self.width)

    def initialise(self) -> None:
        fill(self.state["covariance"], self.parameters.a)

    def _run(self, rows: Array, y: Array, score: Array) -> None:
        learn_confidently(SOFT_SQUARED, self.parameters.C, self.parameters, self.state, rows, y, score)
