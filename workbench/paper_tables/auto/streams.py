"""Streams of `--table auto`, and the learners that are strong on them.

Nearly all learners of the registry were once measured on all of these streams with the standardiser. Each stream has
its three best, without near duplicates, and `dfop`, `pa` and `weighted_majority`: running all again would take hours.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

BATCH_SETS = ("a9a", "creditcard_default", "htru2", "magic04", "phishing", "w8a_train")
"""Data sets of the data folder that are not streams: their rows have no order in time."""

IN_RANDOM_ORDER = ("magic04", "w8a_train")
"""Batch sets whose file has one class after the other."""
SHUFFLE_SEED = 0


class ClassificationStream(NamedTuple):
    """A stream with classes: name to open it, number of classes, and rivals of `auto`."""

    opens: str
    n_classes: int
    rivals: tuple[str, ...]


def read(text: str) -> dict[str, ClassificationStream]:
    """Parse lines `name | classes | rivals` to name -> stream.

    Raises
    ------
    ValueError
        A line has another form.
    """
    found = {}
    for line in text.strip().splitlines():
        name, n_classes, rivals = (cell.strip() for cell in line.split("|"))
        opens = f"{name}.csv.gz" if name == "sea" else name  # bare sea is the generator
        found[name] = ClassificationStream(opens, int(n_classes), tuple(rivals.split()))
    return found


STREAMS = read("""
electricity         |  2 | aromma cw pa dfop weighted_majority
spam500             |  2 | pa online_odm aromma dfop weighted_majority
usenet1             |  2 | flh saol condor dfop pa weighted_majority
usenet2             |  2 | condor truncated_gradient pa2 dfop pa weighted_majority
powersupply_ampm    |  2 | hmm_filter d_odm pa dfop weighted_majority
ozone_eighthr       |  2 | arowa beta_bernoulli mc_nherd dfop pa weighted_majority
occupancy           |  2 | pa mc_cw_stdev iellip dfop weighted_majority
sea                 |  2 | rda_l1 ogd_logistic fobos_l1 dfop pa weighted_majority
sea_nse             |  2 | rda_l1 ogd_logistic fobos_l1 dfop pa weighted_majority
hyperplane_moa      |  2 | scw1 ftrl_proximal arowa dfop pa weighted_majority
1CDT                |  2 | ogd_square acog csogd2 dfop pa weighted_majority
1CHT                |  2 | mc_pa2 bayes_probit dfop pa weighted_majority
2CDT                |  2 | ogd_square mc_pa2 svm_win dfop pa weighted_majority
UG-2C-2D            |  2 | add_exp_d bayes_probit pa2 dfop pa weighted_majority
MG-2C-2D            |  2 | learn_pp_nse oaue add_exp_d dfop pa weighted_majority
FG-2C-2D            |  2 | add_exp_d learn_pp_nse quadratic_perceptron dfop pa weighted_majority
powersupply         | 24 | hmm_filter dwm ova:eos_elm ova:dfop ova:pa mc_pa weighted_majority
keystroke           |  4 | knn_win ova:mc_arow mc_nherd ova:dfop ova:pa mc_pa weighted_majority
5CVT                |  5 | ova:particle_filter ova:bayes_probit add_exp_d ova:dfop ova:pa weighted_majority
4CR                 |  4 | ova:svm_win ova:mc_pa1 ova:dfop ova:pa mc_pa weighted_majority
4CRE-V1             |  4 | ova:svm_win ova:mc_pa1 ova:dfop ova:pa mc_pa weighted_majority
4CE1CF              |  5 | mc_scw2 mc_scw1 mc_ogd ova:dfop ova:pa mc_pa weighted_majority
movingSquares       |  4 | hmm_filter add_exp_d mc_cw mc_pa ova:dfop ova:pa weighted_majority
transientChessboard |  8 | hmm_filter knn_win ova:quadratic_perceptron ova:dfop ova:pa mc_pa weighted_majority
interchangingRBF    | 15 | add_exp_d dwm ova:quadratic_perceptron ova:dfop ova:pa mc_pa weighted_majority
kddcup99_10pct      | 23 | hmm_filter ova:mc_pa1 ova:pa ova:dfop mc_pa weighted_majority
""")

ABOVE_ONE_AGAINST_ALL = ("4CR", "4CRE-V1", "4CE1CF", "5CVT", "keystroke", "powersupply")
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


FACTORS = {
    "hyperplane_regression": 0.02,
    "sru1": 0.3,
    "sru2": 0.3,
    "bike_hour": 0.2,
    "beijing_pm25": 0.2,
    "fried": 0.001,
}
"""Regression stream -> DFOP's factor for it.

As in `--table dfop-regression`; 0.2 for real targets that drift, 0.001 without drift ("a small one is
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

ONLY_BESIDE_PEERS = {
    **{"phishing": 2, "htru2": 2, "magic04": 2, "creditcard_default": 2, "a9a": 2, "w8a_train": 2},
    **{"nycflights60k": 2, "wall_robot": 4, "steel_usage": 0, "airquality_co": 0},
}
"""Further streams on which `auto` is compared with peers -> number of classes, 0 for targets."""
BESIDE_PEERS = {name: one.n_classes for name, one in STREAMS.items()} | dict.fromkeys(FACTORS, 0) | ONLY_BESIDE_PEERS
"""All streams on which `auto` is compared with peers -> number of classes, 0 for targets."""

BEFORE_FORESTS = {
    **{"electricity": 93.15, "spam500": 98.21, "usenet1": 99.00, "usenet2": 99.13, "powersupply_ampm": 99.95},
    **{"ozone_eighthr": 93.88, "occupancy": 99.41, "sea": 89.39, "sea_nse": 89.40, "hyperplane_moa": 87.66},
    **{"1CDT": 99.84, "1CHT": 99.34, "2CDT": 96.49, "UG-2C-2D": 96.18, "MG-2C-2D": 93.28, "FG-2C-2D": 95.78},
    **{"powersupply": 99.91, "keystroke": 91.75, "5CVT": 91.35, "4CR": 99.98, "4CRE-V1": 98.44, "4CE1CF": 98.34},
    **{"movingSquares": 100.00, "transientChessboard": 88.34, "interchangingRBF": 99.34, "kddcup99_10pct": 99.96},
    **{"hyperplane_regression": 0.005841, "sru1": 0.00019854, "sru2": 0.00017105, "beijing_pm25": 545.7},
    **{"fried": 2.79, "magic04": 83.84, "phishing": 94.45, "creditcard_default": 81.44, "htru2": 98.03},
    **{"nycflights60k": 67.96, "wall_robot": 92.91, "steel_usage": 14.072, "airquality_co": 0.080328},
    **{"bike_hour": 5720.2},
}
"""Stream -> accuracy in per cent, or MSE, of `auto` before it had forests."""


def opens_as(name: str) -> str:
    """Return the name that opens a stream."""
    return STREAMS[name].opens if name in STREAMS else name


def opened(open_stream: Callable[..., Any], name: str, **opening: Any) -> Any:
    """Open a stream; those of `IN_RANDOM_ORDER` have their rows shuffled by a fixed seed."""
    from driftway.producers.row_random import Shuffled

    stream = open_stream(name, **opening)
    return Shuffled(stream, SHUFFLE_SEED) if name in IN_RANDOM_ORDER else stream
