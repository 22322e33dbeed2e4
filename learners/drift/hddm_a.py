"""Hoeffding's drift detection method on averages (HDDM-A)."""

import math
from typing import NamedTuple

from driftway.learners.contract import Array, Counts, ParameterError, Parameters, field, flag, fragment, number
from driftway.learners.drift.detector import DRIFT, QUIET, WARNING, Detector, DetectorRule
from driftway.learners.numeric.elementary.logarithm import log_for_python


class HDDMA(Detector):
    """Signals a drift when the mean error after a cut is significantly larger than before it.

    Assumes only that the errors are in [0, 1], and bounds the probability of false alarms. For sudden changes; for slow
    ones use `hddm_w`.

    The cut is the row at which the mean of all rows plus its bound was smallest. With n_0 rows of mean u_0 up to it and
    n rows of mean u in total, a drift is u - u_0 >= sqrt((1/n_0 - 1/n) ln(2 / drift_conf) / 2).

    Cost
    ----
    O(1) per row; 48 bytes.

    Source
    ------
    Frias-Blanco, del Campo-Avila, Ramos-Jimenez, Morales-Bueno, Ortiz-Diaz and Caballero-Mota, IEEE TKDE 27, 2015.
    docs/algorithms/drift.md#drift-detectors. Differs: `two_sided` resets when errors have decreased, without signalling
    a drift.
    """

    name = "hddm_a"
    clips = True

    class Params(Parameters):
        drift_conf: float = number(0.001, "Probability of a false drift.", above=0.0, below=1.0)
        warn_conf: float = number(0.005, "Of a false warning, at least drift_conf.", above=0.0, below=1.0)
        two_sided: bool = flag(False, "Begin anew where errors have become fewer.")

        def __post_init__(self) -> None:
            super().__post_init__()
            refuse_order(self.drift_conf, self.warn_conf)

    def rule(self) -> DetectorRule:
        return DetectorRule(detect, bounds_of(self.parameters), HDDMAState)


class HDDMANumbers(NamedTuple):
    """Parameters of `hddm_a` and `hddm_w`, with logarithms instead of probabilities."""

    one: float
    """ln(1 / drift_conf)."""
    drift: float
    """ln(2 / drift_conf); in `hddm_w` ln(1 / drift_conf)."""
    warn: float
    two_sided: bool
    lam: float = 0.0


class HDDMAState(NamedTuple):
    """State of `hddm_a`."""

    rows: Counts = field("i8[3]", "rows since the last drift; up to the cut for more errors; for fewer; 0 = no cut yet")
    sums: Array = field("f8[3]", "sums of their errors")


def refuse_order(drift_conf: float, warn_conf: float) -> None:
    """Reject confidences with which a warning would be rarer than a drift.

    Raises
    ------
    ParameterError
        warn_conf < drift_conf.
    """
    if warn_conf < drift_conf:
        raise ParameterError(f"warn_conf must be >= drift_conf = {drift_conf:g}, got {warn_conf}")


def bounds_of(p: HDDMA.Params) -> HDDMANumbers:
    """Convert the parameters to those of the kernel."""
    drift, warn = log_for_python(2.0 / p.drift_conf), log_for_python(2.0 / p.warn_conf)
    return HDDMANumbers(-log_for_python(p.drift_conf), drift, warn, p.two_sided)


@fragment
def detect(error: float, p: HDDMANumbers, memory: HDDMAState) -> int:
    """Add an error, clipped to [0, 1].

    See docs/algorithms/drift.md#drift-detectors.
    """
    rows, sums = memory
    rows[0] += 1
    sums[0] += min(max(error, 0.0), 1.0)
    n, mean = float(rows[0]), sums[0] / rows[0]
    bound = math.sqrt(p.one / (2.0 * n))
    if rows[1] == 0 or sums[1] / rows[1] + math.sqrt(p.one / (2.0 * rows[1])) >= mean + bound:
        rows[1], sums[1] = rows[0], sums[0]
    if rows[2] == 0 or sums[2] / rows[2] - math.sqrt(p.one / (2.0 * rows[2])) <= mean - bound:
        rows[2], sums[2] = rows[0], sums[0]
    risen = mean - sums[1] / rows[1]
    drifted = rows[1] < rows[0] and risen >= chance_of(n, float(rows[1]), p.drift)
    fallen = p.two_sided and rows[2] < rows[0] and sums[2] / rows[2] - mean >= chance_of(n, float(rows[2]), p.drift)
    warned = rows[1] < rows[0] and risen >= chance_of(n, float(rows[1]), p.warn)
    if drifted or fallen:
        rows[:] = 0
        sums[:] = 0.0
    return DRIFT if drifted else WARNING if warned and not fallen else QUIET


@fragment
def chance_of(n: float, before: float, level: float) -> float:
    """Bound of the random difference between the mean of n rows and that of the first `before` of them."""
    return math.sqrt(0.5 * ((n - before) / (before * n)) * level)
