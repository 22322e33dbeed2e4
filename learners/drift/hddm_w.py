"""Hoeffding's drift detection method on weighted averages (HDDM-W)."""

import math
from typing import NamedTuple

from driftway.learners.contract import Array, Counts, Parameters, field, flag, fragment, number
from driftway.learners.drift.detector import DRIFT, QUIET, WARNING, Detector, DetectorRule
from driftway.learners.drift.hddm_a import HDDMANumbers, refuse_order
from driftway.learners.numeric.elementary.logarithm import log_for_python

MEAN, SQUARES = 0, 1
"""Indices in an average: its value, and the sum of its squared weights."""


class HDDMW(Detector):
    """As `hddm_a`, with exponentially weighted averages: the fastest of all on sudden changes, good on slow ones.

    The cut is where the weighted mean z of all rows plus its bound was smallest: z_0 is the average up to it, z_1 the
    one since, and a drift is z_1 - z_0 > sqrt((I_0 + I_1) ln(1 / drift_conf) / 2), I the sums of squared weights.

    Cost
    ----
    O(1) per row; 120 bytes.

    Source
    ------
    Frias-Blanco, del Campo-Avila, Ramos-Jimenez, Morales-Bueno, Ortiz-Diaz and Caballero-Mota, IEEE TKDE 27, 2015, with
    McDiarmid's bound. docs/algorithms/drift.md#drift-detectors. Differs: `two_sided` resets when errors have decreased,
    without signalling a drift.
    """

    name = "hddm_w"
    clips = True

    class Params(Parameters):
        drift_conf: float = number(0.001, "Probability of a false drift.", above=0.0, below=1.0)
        warn_conf: float = number(0.005, "Of a false warning, at least drift_conf.", above=0.0, below=1.0)
        lam: float = number(0.05, "Weight of the newest row. Smaller = longer memory.", above=0.0, below=1.0)
        two_sided: bool = flag(False, "Begin anew where errors have become fewer.")

        def __post_init__(self) -> None:
            super().__post_init__()
            refuse_order(self.drift_conf, self.warn_conf)

    def rule(self) -> DetectorRule:
        p = self.parameters
        drift, warn = -log_for_python(p.drift_conf), -log_for_python(p.warn_conf)
        return DetectorRule(detect, HDDMANumbers(drift, drift, warn, p.two_sided, p.lam), HDDMWState)


class HDDMWState(NamedTuple):
    """State of `hddm_w`: exponentially weighted means and their sums of squared weights."""

    seen: Counts = field(
        "i8[3]", "rows in the mean of all; in that since the cut for more errors; since that for fewer"
    )
    all: Array = field("f8[2]", "of all rows since the last drift")
    before: Array = field("f8[2]", "of those before the cut for more errors")
    since: Array = field("f8[2]", "and since")
    before_fall: Array = field("f8[2]", "of those before the cut for fewer")
    since_fall: Array = field("f8[2]", "and since")


@fragment
def detect(error: float, p: HDDMANumbers, memory: HDDMWState) -> int:
    """Add an error, clipped to [0, 1].

    See docs/algorithms/drift.md#drift-detectors.
    """
    error, seen = min(max(error, 0.0), 1.0), memory.seen
    fade(error, p.lam, memory.all, seen, 0)
    bound = math.sqrt(0.5 * memory.all[SQUARES] * p.one)
    first = seen[0] == 1
    if first or memory.all[MEAN] + bound < memory.before[MEAN] + math.sqrt(0.5 * memory.before[SQUARES] * p.one):
        memory.before[MEAN], memory.before[SQUARES] = memory.all[MEAN], memory.all[SQUARES]
        seen[1] = 0
    else:
        fade(error, p.lam, memory.since, seen, 1)
    low = memory.before_fall[MEAN] - math.sqrt(0.5 * memory.before_fall[SQUARES] * p.one)
    if first or memory.all[MEAN] - bound > low:
        memory.before_fall[MEAN], memory.before_fall[SQUARES] = memory.all[MEAN], memory.all[SQUARES]
        seen[2] = 0
    else:
        fade(error, p.lam, memory.since_fall, seen, 2)
    risen = seen[1] > 0 and above(memory.since, memory.before, p.drift)
    warned = seen[1] > 0 and above(memory.since, memory.before, p.warn)
    fallen = p.two_sided and seen[2] > 0 and above(memory.before_fall, memory.since_fall, p.drift)
    if risen or fallen:
        seen[:] = 0
    return DRIFT if risen else WARNING if warned and not fallen else QUIET


@fragment
def fade(error: float, lam: float, average: Array, seen: Counts, which: int) -> None:
    """Add an error to an average."""
    if seen[which] == 0:
        average[MEAN], average[SQUARES] = error, 1.0
    else:
        average[MEAN] += lam * (error - average[MEAN])
        average[SQUARES] = lam * lam + (1.0 - lam) * (1.0 - lam) * average[SQUARES]
    seen[which] += 1


@fragment
def above(larger: Array, smaller: Array, level: float) -> bool:
    """Whether one average is significantly larger than another. Shapes: larger f8[2], smaller f8[2]."""
    return larger[MEAN] - smaller[MEAN] > math.sqrt(0.5 * (larger[SQUARES] + smaller[SQUARES]) * level)
