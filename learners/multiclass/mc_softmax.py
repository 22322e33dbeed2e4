"""Multiclass online gradient descent on the log loss of a softmax."""

from driftway.learners.contract import Learner, UpdateRule
from driftway.learners.multiclass.gradient_descent import ClassDescentParameters, descend, learn_softmax


class MCSoftmax(Learner):
    """Multinomial logistic regression: steps along every row, by how far the classes' probabilities are from the label.

    W_r <- W_r - eta_t (p_r - [r = y]) x for all classes r, p = softmax(S). With two classes it is `ogd_logistic` with 2
    eta.

    Cost
    ----
    O(K d) per row; 8 K d + 16 bytes.

    Source
    ------
    Huang, Online Learning, "Multi-class Online Learning"; Zinkevich, ICML 2003.
    docs/algorithms/conventions.md#step-size-schedules and docs/algorithms/multiclass.md#mc_softmax.
    """

    name = "mc_softmax"
    tasks = ("binary", "multiclass")
    link = "logistic"
    multiclass_link = "softmax"

    Params = ClassDescentParameters

    def rule(self) -> UpdateRule:
        return descend(learn_softmax, self.parameters)
