"""When forests and network are used: while they improve the mixture, and from time to time to test whether they do.

They cost more than all other experts together, and on most streams they gain nothing. They are tried at the start. If
they do not reduce the error, they are not used for a while. This pause doubles with every trial that fails. It ends
early when the error of the other experts rises, because they may be better after a drift. They keep what they have
learned. The rule counts labelled rows and does not use a clock.
"""

from typing import Any, NamedTuple

import numpy as np

from driftway.learners.auto.recent_loss import RecentLoss, has_risen
from driftway.learners.contract import Array, Counts, field, kernel, part
from driftway.learners.engine.state import State
from driftway.learners.numeric.fading_mean import newest_share

EVERY = 1000
"""Labelled rows between two judgements while they are used."""
SETTLING = 500
"""Labelled rows at the beginning of their use that are not judged."""
PATIENCE = 4
"""Judgements in a row without a gain that end their use. At the start there are 3 with classes, after a pause one."""
FIRST_PAUSE, LONGEST_PAUSE = 8000, 256_000
KEEP = 0.9995
"""Decay per row of the losses that are compared."""


class Usage(NamedTuple):
    """Whether forests and network are used, and how much they gain."""

    used: Counts = field("i8[1]", "1 while they are", start=1.0, largest="1")
    rows: Counts = field("i8[1]", "labelled rows since their use or a pause began")
    pause: Counts = field("i8[1]", "rows of the next pause", start=FIRST_PAUSE)
    fails: Counts = field("i8[1]", "judgements in a row without a gain")
    loss: Array = field("f8[2]", "mean loss without and with them since their use began, old rows discounted")
    without: Any = part(RecentLoss, "the loss without them, which shows a drift")


@kernel
def judge(usage: Usage, without: float, both: float, worth: float) -> None:
    """Count a labelled row's losses without and with them; decide whether they are used from now on.

    `worth` is the share of the loss that they must gain.
    """
    usage.rows[0] += 1
    drifted = has_risen(usage.without, without)
    rows = usage.rows[0]
    if usage.used[0] == 0:
        if rows >= usage.pause[0] or (2 * rows >= usage.pause[0] and drifted):
            usage.used[0], usage.rows[0], usage.fails[0] = 1, 0, PATIENCE - 1
            usage.pause[0] = min(2 * usage.pause[0], LONGEST_PAUSE)
            usage.loss[0] = usage.loss[1] = 0.0
        return
    if rows > SETTLING:
        share = newest_share(rows - SETTLING, 1.0 - KEEP)
        usage.loss[0] += share * (without - usage.loss[0])
        usage.loss[1] += share * (both - usage.loss[1])
    if rows % EVERY == 0:
        if usage.loss[0] - usage.loss[1] >= worth * usage.loss[0]:
            usage.pause[0], usage.fails[0] = FIRST_PAUSE, 0
        else:
            usage.fails[0] += 1
        if usage.fails[0] >= PATIENCE:
            usage.used[0], usage.rows[0] = 0, 0


def with_second_mixture(shares: Array, state: State) -> Array:
    """Return the shares of the other experts, f8[E], and behind them those of forests and network; they sum to 1."""
    first, *added = state["second.mixing.share"].tolist()
    if not state["second.usage.used"][0]:
        first, added = 1.0, [0.0] * len(added)
    return np.concatenate([shares * first, added])
