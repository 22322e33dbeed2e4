"""A pool of experts that are added and removed: the first `experts` slots are in use, the oldest expert first."""

from functools import cache
from typing import Any, NamedTuple

from driftway.learners.contract import Array, Counts, field, fragment, scratch
from driftway.learners.engine.jit import member
from driftway.learners.ensembles.expert import Expert, Fragment, move, renew


class ExpertPool(NamedTuple):
    """State of ensembles whose experts vote with weights."""

    members: Any
    """Views of `states`, from which `driftway.learners.engine.jit.member` takes one expert's."""
    fresh: Array
    """f8[M, words]: the experts' initial states."""
    weight: Array = field("f8[M]", "the experts' weights; the first `experts` are in use")
    experts: Counts = field("i8[1]", "experts in use", largest="M")
    learned: Counts = field("i8[1]", "labelled rows so far")
    states: Array = field("f8[M, words]", "the experts' states, one after the other, the oldest first")
    margins: Array = scratch("f8[M]", "the experts' predictions of the row")
    votes: Array = scratch("f8[M]", "the classes that they vote for")
    S: Array = scratch("f8[K]", "share of the weight that votes for each class")


@cache
def voting(expert: Expert) -> Fragment:
    """Make ``vote(x, parameters, memory)``, which writes the prediction and the vote of every expert in use."""
    predict, choose, _, _ = expert

    @fragment
    def vote(x: Array, p: Any, memory: Any) -> None:
        for e in range(memory.experts[0]):
            one = member(memory.members, e)
            predict(x, p.base, one, memory.margins, e)
            memory.votes[e] = choose(one, memory.margins[e])

    return vote


@fragment
def tally(memory: Any) -> None:
    """Sum the weights of the votes for each class into S f8[K]."""
    for r in range(memory.S.shape[0]):
        memory.S[r] = 0.0
    for e in range(memory.experts[0]):
        memory.S[int(memory.votes[e])] += memory.weight[e]


@fragment
def shares(memory: Any) -> None:
    """As `tally`, as shares of the total weight; 0 if that is 0."""
    total = total_weight(memory)
    tally(memory)
    for r in range(memory.S.shape[0]):
        memory.S[r] /= total if total > 0.0 else 1.0


@fragment
def total_weight(memory: Any) -> float:
    """Return the sum of the weights of the experts in use."""
    total = 0.0
    for e in range(memory.experts[0]):
        total += memory.weight[e]
    return total


@fragment
def enter(weight: float, memory: Any) -> None:
    """Put a new expert with the given weight into the first free slot; there must be one."""
    e = memory.experts[0]
    renew(e, memory)
    memory.weight[e] = weight
    memory.experts[0] = e + 1


@fragment
def leave(gone: int, memory: Any) -> None:
    """Remove expert `gone`; those after it move up."""
    last = memory.experts[0] - 1
    for e in range(gone, last):
        move(e + 1, e, memory)
        memory.weight[e] = memory.weight[e + 1]
    memory.experts[0] = last


@fragment
def lightest(memory: Any) -> int:
    """Return the expert with the smallest weight; ties go to the oldest."""
    least = 0
    for e in range(1, memory.experts[0]):
        if memory.weight[e] < memory.weight[least]:
            least = e
    return least
