"""Shared parts of the additive expert ensembles: which expert a new one replaces, and normalised weights."""

from typing import Any

from driftway.learners.contract import fragment, integer, number
from driftway.learners.ensembles.expert_pool import enter, leave, lightest, total_weight

PRUNE = ("weakest", "oldest")
LEAST = 1e-300
"""Lower bound of a decayed weight, since weights that are all 0 cannot be normalised; negligible in a vote."""


def decay_factor(mistake: str) -> Any:
    """Declare the parameter beta."""
    return number(0.5, f"What {mistake} leaves of an expert's weight.", above=0.0, below=1.0)


def pool_size() -> Any:
    """Declare the parameter max_experts."""
    return integer(10, "Largest number of experts.", at_least=2)


@fragment
def outgoing(oldest: bool, memory: Any) -> int:
    """Return the expert to replace, the oldest or the lightest; -1 if there is a free slot."""
    if memory.experts[0] < memory.states.shape[0]:
        return -1
    return 0 if oldest else lightest(memory)


@fragment
def succeed(gone: int, weight: float, memory: Any) -> int:
    """Replace expert `gone`, or none if that is -1, by a new one with the given weight; return its slot."""
    if gone >= 0:
        leave(gone, memory)
    enter(max(weight, LEAST), memory)
    return int(memory.experts[0]) - 1


@fragment
def normalise(memory: Any) -> None:
    """Normalise the weights to sum to 1."""
    total = total_weight(memory)
    for e in range(memory.experts[0]):
        memory.weight[e] /= total
