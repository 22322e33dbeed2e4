"""What a linear learner shows of its state to the learners of other partitions."""

import math
from typing import NamedTuple


class SharedFields(NamedTuple):
    """What others may see of a linear learner, beside its field `weight` f8[d] or f8[K, d]."""

    covariance: str = ""
    """The field P f8[d, d], symmetric; none: weights are all there is."""
    factor: float = 1.0
    """lambda: by what the information of a row is multiplied at each later one."""
    adds: bool = False
    """Whether information is the sum of what each row has brought, faded by `factor`."""
    p_max: float = math.inf
    """Largest diagonal entry of P."""
