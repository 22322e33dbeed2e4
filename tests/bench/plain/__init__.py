"""One loop per learner as one would write it by hand: the update of the paper and nothing else.

Each takes rows f8[n, d] (with the intercept's column already there, which the learner has to append), y f8[n],
score f8[n, 1] and its own arrays, and runs at the learner's default parameters.
"""

from __future__ import annotations

from tests.bench.plain import forgetting, linear, second_order
from tests.bench.plain.loop import Loop

PLAIN: dict[str, Loop] = {**linear.PLAIN, **second_order.PLAIN, **forgetting.PLAIN}
