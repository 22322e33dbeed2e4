"""The mean of a series that counts all values alike at first, and later the recent ones more."""

from driftway.learners.engine.jit import fragment


@fragment
def newest_share(values: float, least: float) -> float:
    """Return the newest value's share in the mean of so many values; it never falls below `least`."""
    return max(1.0 / values, least)
