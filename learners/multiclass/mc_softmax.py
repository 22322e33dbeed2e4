"""Multiclass online gradient descent on the log loss of a softmax."""

from __future__ import annotations

from learners.contract import Learner, Parameters, Rule, intercept
from learners.linear.gradient_descent import first_step, step_schedule
from learners.multiclass.gradient_descent import descend, learn_softmax


class MCSoftmax(Learner):
    """Multinomial logistic regression: steps along every row, by how far the classes' probabilities are from the label.

    W_r <- W_r - eta_t (p_r - [r = y]) x for all classes r, p = softmax(S). With two classes it is `ogd_logistic` of
    2 eta.

    Cost
    ----
    O(K d) per row; 8 K d + 16 bytes.

    Source
    ------
    Huang, Online Learning, "Multi-class Online Learning"; Zinkevich, ICML 2003. ALGORITHMS.md 1.9 and 8.
    """

    name = "mc_softmax"
    tasks = ("binary", "multiclass")
    link = "logistic"
    multiclass_link = "softmax"

    class Params(Parameters):
        eta: float = first_step()
        schedule: str = step_schedule()
        intercept: bool = intercept()

    def rule(self) -> Rule:
        p = self.parameters
        return descend(learn_softmax, p.schedule, p.eta, self.n_classes, self.width)
