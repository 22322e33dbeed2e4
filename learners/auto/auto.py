"""The learner that needs no tuning."""

from driftway.learners.auto import classification, regression
from driftway.learners.contract import Learner, Parameters, UpdateRule, integer, number
from driftway.learners.learner import REGRESSION


class Auto(Learner):
    """Experts of many kinds, asked side by side, and a mixture that learns from every label which of them to believe.

    Nothing is to be chosen: long and short memories, straight and curved borders, neighbours and the order of the
    labels are all among the experts, and the mixture follows the stream from one to another. Scores of classes are
    log-odds and stand for probabilities. Rows are taken to be standardised, as they are by default: beyond six
    deviations a feature counts as six. A single target that is more than 20 deviations away is forgotten; from the
    fifth on the stream has moved, and `auto` with it.

    Cost
    ----
    Labels: O(n^2 + n (K + W + D) + K D + E^2) per row, 8 n (W + D) + 16 n^2 + 8 W + 64 K n + 32 K D + 32 E^2 bytes and
    8 K^2 64 at most for the labels' order, with W = 512 neighbours, D = 128 waves, E = 16 experts.
    Targets: O(q^2 + n W) per row, 16 q^2 + 48 n^2 + 8 n W bytes, q = n (n + 1) / 2 up to 12 features and 2 n above.
    Families of experts that `budget` has no room for are left out, those worth least for their cost first; more budget
    never loses one.

    Source
    ------
    Mixing of log-odds is Mahoney's, *Adaptive Weighing of Context Models*, 2005, analysed by Mattern, DCC 2012; here
    with the covariance of an extended Kalman filter, and weights shared by all classes. Exponential weights: Vovk,
    COLT 1990. docs/decisions/0031 tells what was tried.
    """

    name = "auto"
    tasks = ("binary", "multiclass", "regression")
    mixes = True
    link = "logistic"
    multiclass_link = "softmax"

    class Params(Parameters):
        budget: float = number(
            30.0,
            "Microseconds that a row may take: experts on waves, of second order and by neighbours are left out where "
            "all together would take more, by the count of their multiplications; with more budget none is lost.",
            above=0.0,
        )
        seed: int = integer(1, "Draw of the waves' frequencies.", at_least=0, at_most=2**53)

    def experts(self) -> dict[str, float]:
        """Of classes, how much of the lead of rows' classes each made up over the last thousand rows.

        Of targets, its weight in the mean now.
        """
        asked = self.rule().parameters
        names = regression.names(asked) if self.task == REGRESSION else classification.names(asked)
        shares = self.state["stacking.share" if self.task == REGRESSION else "mixing.share"]
        return dict(zip(names, shares.tolist(), strict=True))

    def rule(self) -> UpdateRule:
        if self.task == REGRESSION:
            return regression.rule_for(self.n_features, self.parameters.budget)
        return classification.rule_for(self.n_features, self.n_classes, self.parameters.budget)

    def initialise(self) -> None:
        if self.task == REGRESSION:
            regression.begin(self.state)
        else:
            classification.begin(self.state, self.parameters.seed)
