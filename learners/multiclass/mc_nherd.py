"""Normal herding of several classes (NHERD)."""

from __future__ import annotations

from dataclasses import dataclass

from learners.learner import Array, Learner
from learners.multiclass.covariance import HERDED, class_fields, fill_classes, separate
from learners.parameters import Parameters, choice, flag, number
from learners.state import Fields


class MCNHERD(Learner):
    """`nherd` of several classes: moves a cloud of weights per class and keeps the Gaussian that fits it best.

    As `mc_arow`, but the covariances shrink as fast as the clouds are herded together, about twice as fast.

    With s the best wrong class, k_r = Sigma_r x, v = x.k_y + x.k_s and m = (mu_y - mu_s).x,
    a row with m < 1 gives

    - alpha = (1 - m) / (v + 1/C), beta = (C^2 v + 2 C) / (1 + C v)^2,
    - mu_y += alpha k_y, mu_s -= alpha k_s,
    - both Sigma -= beta k k' (diagonal: Sigma^-1 += (2 C + C^2 v) diag(x x')).

    Parameters
    ----------
    C : float
        Trust in one row, C > 0, as 1/r of `mc_arow`. Larger = faster. Default 0.1.
    a : float
        Variance of every weight at the start, a > 0. Default 1.0.
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
    Crammer and Lee, NIPS 2010, with the top-1 updates of Crammer, Dredze and Kulesza, EMNLP 2009. ALGORITHMS.md 8.
    Differs: no covariance between classes, drift q of ALGORITHMS.md 1.12.
    """

    name = "mc_nherd"
    tasks = ("binary", "multiclass")

    @dataclass(frozen=True)
    class Params(Parameters):
        C: float = number(0.1, above=0.0)
        a: float = number(1.0, above=0.0)
        cov: str = choice("auto", ("auto", "full", "diag"))
        q: float = number(0.0, at_least=0.0)
        intercept: bool = flag(True)

    def fields(self) -> Fields:
        return class_fields(self.n_classes, self.parameters.cov, self.width)

    def initialise(self) -> None:
        fill_classes(self.state["covariance"], self.parameters.a)

    def _run(self, rows: Array, y: Array, score: Array) -> None:
        p = self.parameters
        separate(HERDED, p, self.state, rows, y, score, C=p.C)
