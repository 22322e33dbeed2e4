"""What additive experts share, of classes and of targets: who makes room for a newborn, and weights that sum to 1."""

from typing import Any

from driftway.learners.contract import fragment, integer, number
from driftway.learners.ensembles.expert_pool import enter, leave, lightest, total_weight

PRUNE = ("weakest", "oldest")
LEAST = 1e-300
"""What a weight decays to at least: weights that were all 0 would have no shares. One this small has no say either."""


def decay_factor(mistake: str) -> Any:
    """The parameter beta."""
    return number(0.5, f"What {mistake} leaves of an expert's weight.", above=0.0, below=1.0)


def pool_size() -> Any:
    """The parameter max_experts."""
    return integer(10, "The most experts.", at_least=2)


@fragment
def outgoing(oldest: bool, memory: Any) -> int:
    """Who leaves for a newborn, the oldest or the lightest expert; -1 if there is a free slot."""
    if memory.experts[0] < memory.states.shape[0]:
        return -1
    return 0 if oldest else lightest(memory)


@fragment
def succeed(gone: int, weight: float, memory: Any) -> int:
    """A newborn of that weight for the expert that leaves, or for none if that is -1; its slot."""
    if gone >= 0:
        leave(gone, memory)
    enter(max(weight, LEAST), memory)
    return int(memory.experts[0]) - 1


@fragment
def normalise(memory: Any) -> None:
    """Let the weights sum to 1."""
    total = total_weight(memory)
    for e in range(memory.experts[0]):
        memory.weight[e] /= total
