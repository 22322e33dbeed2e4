"""The state fields that a linear learner shares with the learners of other partitions."""

import math
from typing import NamedTuple


class SharedFields(NamedTuple):
    """What a linear learner shares, besides its field `weight` f8[d] or f8[K, d]."""

    covariance: str = ""
    """Name of the field P f8[d, d], symmetric; empty if it has only weights."""
    factor: float = 1.0
    """lambda: the factor by which each later row multiplies the information of a row."""
    adds: bool = False
    """Whether its information is the sum of the rows' contributions, discounted by `factor`."""
    p_max: float = math.inf
    """Largest diagonal entry of P."""
