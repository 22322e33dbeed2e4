"""Soft confidence-weighted learning of several classes with squared loss (SCW-II)."""

from __future__ import annotations

from dataclasses import dataclass

from learners.learner import Array, Learner
from learners.multiclass.covariance import class_fields, fill_classes, separate
from learners.parameters import Parameters, choice, flag, number
from learners.second_order.confidence import SOFT_SQUARED, deviations
from learners.state import Fields


class MCSCW2(Learner):
    """`scw2` of several classes: as `mc_scw1`, with the square of the loss.

    Small violations are cheaper than in `mc_scw1`, large ones dearer.

    With s the best wrong class, k_r = Sigma_r x, v = x.k_y + x.k_s and m = (mu_y - mu_s).x,
    a row with m < phi sqrt(v) gives

    - gamma = phi sqrt(phi^2 m^2 v^2 + 4 n v (n + v phi^2)), n = v + 1 / (2 C),
    - alpha = (-(2 m n + phi^2 m v) + gamma) / (2 (n^2 + n v phi^2)),
    - sqrt(u) = (-alpha v phi + sqrt(alpha^2 v^2 phi^2 + 4 v)) / 2,
    - mu_y += alpha k_y, mu_s -= alpha k_s, and both Sigma^-1 += (alpha phi / sqrt(u)) x x'.

    Parameters
    ----------
    a : float
        Variance of every weight at the start, a > 0. Default 1.0.
    eta : float
        Probability with which a row must be told from its rival, 0.5 < eta < 1. Default 0.75.
    C : float
        Price of the squared loss, C > 0. Larger = more trusting. Default 1.0.
    cov : str
        ``full`` matrices, their ``diag``, or ``auto``: full up to 256 columns. Default ``auto``.
    q : float
        Drift, q >= 0: variance regained per labelled row, by every class, up to `a`. 1e-4 on streams that drift;
        0 freezes. Default 0.0.
    intercept : bool
        Append a constant 1 to every row. Default true.

    State
    -----
    weight : f8[K, d]           means mu_r of the classes' weights, d with the intercept
    covariance : f8[K, d, d]    Sigma_r of the classes, bitwise symmetric; f8[K, d] in the diagonal form
    skipped : i8[1]             labelled rows without a finite step, or whose variance is nil

    Cost
    ----
    Full: O(K d + d^2) per labelled row, and O(K d) with drift; 8 K d^2 + 8 K d + 8 bytes. Diagonal: O(K d) per row,
    16 K d + 8 bytes.

    Raises
    ------
    ParameterError
        A parameter outside its bounds, or regression.

    Source
    ------
    Wang, Zhao and Hoi, ICML 2012, proposition 2, with the top-1 updates of Crammer, Dredze and Kulesza, EMNLP 2009.
    ALGORITHMS.md 8. Differs: no covariance between classes, drift q and the diagonal form of ALGORITHMS.md 1.12
    and 1.13.
    """

    name = "mc_scw2"
    tasks = ("binary", "multiclass")

    @dataclass(frozen=True)
    class Params(Parameters):
        a: float = number(1.0, above=0.0)
        eta: float = number(0.75, above=0.5, below=1.0)
        C: float = number(1.0, above=0.0)
        cov: str = choice("auto", ("auto", "full", "diag"))
        q: float = number(0.0, at_least=0.0)
        intercept: bool = flag(True)

    def fields(self) -> Fields:
        return class_fields(self.n_classes, self.parameters.cov, self.width)

    def initialise(self) -> None:
        fill_classes(self.state["covariance"], self.parameters.a)

    def _run(self, rows: Array, y: Array, score: Array) -> None:
        p = self.parameters
        separate(SOFT_SQUARED, p, self.state, rows, y, score, phi=deviations(p.eta), C=p.C)
