"""Online gradient descent that restarts at fixed intervals."""

from driftway.learners.contract import Learner, UpdateRule, choice, integer
from driftway.learners.linear.gradient_descent import GradientDescentParameters, descend, safe_step


class RestartedOGD(Learner):
    """Gradient descent that forgets everything after each epoch of delta labelled rows.

    As `ogd_hinge`, `ogd_logistic` or `ogd_square`, but weights and t become 0 after row k delta. Best for T rows whose
    losses vary by V in total: delta = (T / V)^(2/3), or (T / V)^(1/2) with l2 > 0 and ``inv_t``.

    Cost
    ----
    O(d) per row; 8 d + 16 bytes.

    Source
    ------
    Besbes, Gur and Zeevi, Operations Research 2015; Zhang, Zhao and Jin, AAAI 2020.
    docs/algorithms/linear.md#restarted_ogd. Differs: the restart happens after a row, not before the next one, so that
    predicting changes no state.
    """

    name = "restarted_ogd"
    tasks = ("binary",)
    link: str | None = "logistic"

    class Params(GradientDescentParameters):
        loss: str = choice("logistic", ("hinge", "logistic", "square"), "`hinge`, `logistic` or `square`.")
        delta: int = integer(1000, "Labelled rows between restarts.", at_least=1)
        safe_step: bool = safe_step()

    def rule(self) -> UpdateRule:
        p = self.parameters
        return descend(p, p.loss, p.delta, safe=p.safe_step)

    def initialise(self) -> None:
        if self.parameters.loss != "logistic":
            self.link = None
