"""The learner that needs no tuning."""

from driftway.learners.auto import classification, regression
from driftway.learners.contract import Learner, Parameters, UpdateRule, integer, number
from driftway.learners.learner import REGRESSION


class Auto(Learner):
    """A mixture of many kinds of experts, which learns their weights from every label.

    It needs no tuning: long and short memories, linear and curved decision boundaries, neighbours, the order of the
    labels, random forests, a network and the effects of single values of a feature are all among the experts, and the
    mixture shifts weight between them as the stream changes. Forests and network are tried at the start, used while
    they make the error smaller, and tried again in longer and longer intervals. Class scores are log-odds, from which
    probabilities follow.
    Rows should be standardised, as they are by default: features are clipped to six deviations. A single target more
    than 20 deviations away is ignored; after five of them the stream counts as moved, and `auto` adopts their scale.

    Cost
    ----
    Labels: O(n^2 + n (K + W + D) + K D + E^2 + T (K + m)) per row, 8 n (W + D) + 16 n^2 + 8 W + 64 K n + 32 K D +
    32 E^2 bytes, 8 K^2 64 at most for the labels' order, 4096 (24 + 8 K) and 2.2 MB at most for single values and
    T N (4 K + 9) + 6.4 MB at most for forests, with W = 512 neighbours, D = 128 waves, E = 16 experts, T = 48 trees of
    N <= 511 nodes, m <= 12 features that a leaf observes; the network O(288 (n + K)) and 9000 n bytes.
    Targets: O(q^2 + n W + T m) per row, 16 q^2 + 48 n^2 + 8 n W bytes, 1.1 MB for single values and T N 25 + 16 MB at
    most for forests, q = n (n + 1) / 2 up to 12 features and 2 n above, T = 75; above 90 features or so O(n b + T m)
    and 360 kB instead, with least squares in blocks of b = 45,000 / n columns. At 8 features that is 4.1 MB for two
    classes and 11 for targets.
    Families of experts that do not fit in `budget` are left out, those of least value for their cost first; a larger
    budget never drops one.

    Source
    ------
    Mixing of log-odds is Mahoney's, *Adaptive Weighing of Context Models*, 2005, analysed by Mattern, DCC 2012; here
    with the covariance of an extended Kalman filter, and weights shared by all classes. Exponential weights: Vovk,
    COLT 1990. The forests follow Gomes et al., *Adaptive random forests*, Machine Learning 106, 2017, and Ikonomovska,
    Gama and Dzeroski's FIMT-DD, DMKD 23, 2011, on binned features. docs/decisions/0031, 0058, 0060, 0081, 0083,
    0089 and 0091 to 0093 list the alternatives tried.
    """

    name = "auto"
    tasks = ("binary", "multiclass", "regression")
    mixes = True
    reads_raw = True
    link = "logistic"
    multiclass_link = "softmax"
    revision = 2  # docs/decisions/0081 and 0083

    class Params(Parameters):
        budget: float = number(
            30.0,
            "Microseconds per row: if all experts together would take more, by the count of their multiplications, "
            "those on waves, of second order, by neighbours, forests and network are left out; "
            "a larger budget never drops one.",
            above=0.0,
        )
        seed: int = integer(
            1, "Seed of the waves' frequencies, the forests and the network.", at_least=0, at_most=2**53
        )

    def experts(self) -> dict[str, float]:
        """In classification, each expert's share of the true class's lead over about the last thousand rows.

        In regression, its current weight in the mean.
        """
        asked = self.rule().parameters
        of = regression if self.task == REGRESSION else classification
        return dict(zip(of.names(asked), of.shares(asked, self.state).tolist(), strict=True))

    def rule(self) -> UpdateRule:
        if self.task == REGRESSION:
            return regression.rule_for(self.n_features, self.parameters.budget)
        return classification.rule_for(self.n_features, self.n_classes, self.parameters.budget)

    def initialise(self) -> None:
        if self.task == REGRESSION:
            regression.begin(self.state, self.parameters.seed)
        else:
            classification.begin(self.state, self.parameters.seed)
