"""Streams of `--table auto`: learners that are strong on them, and what peers reach with their defaults.

Nearly all learners of the registry were once measured on all of these streams behind the standardiser. Each stream has
its three best, without near duplicates, and `dfop`, `pa` and `weighted_majority`: running all again would take hours.
"""

from __future__ import annotations

from typing import NamedTuple

BATCH_SETS = ("a9a", "creditcard_default", "htru2", "magic04", "phishing", "w8a_train")
"""Data sets of the data folder that are not streams: their rows have no order in time."""


class ClassificationStream(NamedTuple):
    """A stream with classes: name to open it, number of classes, rivals of `auto`, and the best peer's accuracy."""

    opens: str
    n_classes: int
    rivals: tuple[str, ...]
    peer: float | None


def read(text: str) -> dict[str, ClassificationStream]:
    """Parse lines `name | classes | peer's accuracy or - | rivals` to name -> stream.

    Raises
    ------
    ValueError
        A line has another form.
    """
    found = {}
    for line in text.strip().splitlines():
        name, n_classes, peer, rivals = (cell.strip() for cell in line.split("|"))
        opens = f"{name}.csv.gz" if name == "sea" else name  # bare sea is the generator
        known = None if peer == "-" else float(peer)
        found[name] = ClassificationStream(opens, int(n_classes), tuple(rivals.split()), known)
    return found


STREAMS = read("""
electricity         |  2 | 92.27 | aromma cw pa dfop weighted_majority
spam500             |  2 | 97.22 | pa online_odm aromma dfop weighted_majority
usenet1             |  2 | 76.00 | flh saol condor dfop pa weighted_majority
usenet2             |  2 | 77.33 | condor truncated_gradient pa2 dfop pa weighted_majority
powersupply_ampm    |  2 | 91.67 | hmm_filter d_odm pa dfop weighted_majority
ozone_eighthr       |  2 | 93.96 | arowa beta_bernoulli mc_nherd dfop pa weighted_majority
occupancy           |  2 | 99.48 | pa mc_cw_stdev iellip dfop weighted_majority
sea                 |  2 | 89.28 | rda_l1 ogd_logistic fobos_l1 dfop pa weighted_majority
sea_nse             |  2 | 89.30 | rda_l1 ogd_logistic fobos_l1 dfop pa weighted_majority
hyperplane_moa      |  2 | 87.14 | scw1 ftrl_proximal arowa dfop pa weighted_majority
1CDT                |  2 | 99.83 | ogd_square acog csogd2 dfop pa weighted_majority
1CHT                |  2 | 99.34 | mc_pa2 bayes_probit dfop pa weighted_majority
2CDT                |  2 | 95.86 | ogd_square mc_pa2 svm_win dfop pa weighted_majority
UG-2C-2D            |  2 | -     | add_exp_d bayes_probit pa2 dfop pa weighted_majority
MG-2C-2D            |  2 | -     | learn_pp_nse oaue add_exp_d dfop pa weighted_majority
FG-2C-2D            |  2 | -     | add_exp_d learn_pp_nse quadratic_perceptron dfop pa weighted_majority
powersupply         | 24 | 17.51 | hmm_filter dwm ova:eos_elm ova:dfop ova:pa mc_pa weighted_majority
keystroke           |  4 | 94.00 | knn_win ova:mc_arow mc_nherd ova:dfop ova:pa mc_pa weighted_majority
5CVT                |  5 | 89.29 | ova:particle_filter ova:bayes_probit add_exp_d ova:dfop ova:pa weighted_majority
4CR                 |  4 | -     | ova:svm_win ova:mc_pa1 ova:dfop ova:pa mc_pa weighted_majority
4CRE-V1             |  4 | -     | ova:svm_win ova:mc_pa1 ova:dfop ova:pa mc_pa weighted_majority
4CE1CF              |  5 | -     | mc_scw2 mc_scw1 mc_ogd ova:dfop ova:pa mc_pa weighted_majority
movingSquares       |  4 | -     | hmm_filter add_exp_d mc_cw mc_pa ova:dfop ova:pa weighted_majority
transientChessboard |  8 | -     | hmm_filter knn_win ova:quadratic_perceptron ova:dfop ova:pa mc_pa weighted_majority
interchangingRBF    | 15 | -     | add_exp_d dwm ova:quadratic_perceptron ova:dfop ova:pa mc_pa weighted_majority
kddcup99_10pct      | 23 | -     | hmm_filter ova:mc_pa1 ova:pa ova:dfop mc_pa weighted_majority
""")

PEERS = (
    "The peers are River, MOA and scikit-learn with their defaults, prequentially over the whole stream: linear "
    "learners, trees, adaptive random forest, streaming random patches, leveraging bagging, dynamic weighted majority, "
    "nearest neighbours; the best of them on each stream, as measured once with their own programs, not here."
)

ONE_SIDED = ("4CR", "4CRE-V1", "4CE1CF", "5CVT", "keystroke", "powersupply")
"""Streams where `auto` should be better than one-against-all with passive-aggressive and with DFOP."""
AT_LEAST = {"electricity": 92.9, "MG-2C-2D": 93.3, "powersupply_ampm": 91.7}
"""Accuracies that `auto` should reach on whole streams."""
ABOVE_NO_CHANGE = ("occupancy", "kddcup99_10pct")

ORDER_TELLS = ("usenet1", "usenet2", "powersupply_ampm", "powersupply", "movingSquares", "keystroke")
"""Streams where the order of the labels alone predicts the next one well."""

OF_THE_PAPERS = (
    *("SEA", "hyperplane", "1CDT", "2CDT", "1CHT", "UG-2C-2D", "MG-2C-2D", "Usenet-1", "Usenet-2", "Spam"),
    *("Powersupply", "Electricity"),
)
"""Data sets of the papers' tables that are used here."""


class RegressionStream(NamedTuple):
    """A regression stream: DFOP's factor for it, and the best peer's MSE."""

    mu: float
    peer: float | None


REGRESSION_STREAMS = {
    "hyperplane_regression": RegressionStream(0.02, None),
    "sru1": RegressionStream(0.3, 0.000274),
    "sru2": RegressionStream(0.3, 0.000303),
    "bike_hour": RegressionStream(0.2, 9137.0),
    "beijing_pm25": RegressionStream(0.2, 601.5),
    "fried": RegressionStream(0.001, 4.19),
}
"""Factors: as in `--table dfop-regression`; 0.2 for real targets that drift, 0.001 without drift ("a small one is
safe"); see docs/algorithms/reference-results.md#accuracy-and-forgetting-factors-in-dfop."""

PROBABILITY_STREAMS = {
    "sea": ("gaussian_nb", "ogd_logistic", "bayes_probit", "mc_softmax"),
    "electricity": ("gaussian_nb", "ogd_logistic", "bayes_probit", "mc_softmax"),
    "spam500": ("gaussian_nb", "ogd_logistic", "bayes_probit", "mc_softmax"),
    "MG-2C-2D": ("gaussian_nb", "ogd_logistic", "bayes_probit", "mc_softmax"),
    "keystroke": ("gaussian_nb", "mc_softmax"),
    "5CVT": ("gaussian_nb", "mc_softmax"),
}
"""Stream -> learners whose scores are probabilities."""
