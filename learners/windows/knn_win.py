"""Nearest neighbours in a sliding window."""

import math
from typing import NamedTuple

from driftway.learners.contract import (
    Array,
    Counts,
    Learner,
    ParameterError,
    Parameters,
    UpdateRule,
    field,
    fragment,
    integer,
    scratch,
)
from driftway.learners.windows.distances import squared_distances


class KNNWin(Learner):
    """Predicts the class of the row's nearest neighbour among the last `window` rows, or of most of its k nearest.

    Learns decision boundaries of any shape immediately and forgets by the window alone. Its distances count every
    feature, relevant or not, in its own unit: standardise. Choose k = 5 to 15 if labels are noisy.

    With d_c the distance to the nearest row of class c: S_c = (1 / d_c) / sum of 1 / d_r, hence with two classes
    s = (d_0 - d_1) / (d_0 + d_1), 1 or -1 if only one is in the window. With k > 1: S_c = n_c / k, where n_c of the k
    nearest are of class c; ties in distance go to the newest row.

    Cost
    ----
    O(window d) per row, with k > 1 O(window (d + k)) at worst; 8 window (d + 1) + 8 bytes.

    Source
    ------
    Cover and Hart, IEEE Transactions on Information Theory 13, 1967, on a window. docs/algorithms/windows.md#knn_win.
    Differs: several classes; the ring is stored by columns; a row whose squared distance overflows is not a neighbour.
    """

    name = "knn_win"
    tasks = ("binary", "multiclass")
    votes = True

    class Params(Parameters):
        window: int = integer(1000, "W, number of stored labelled rows.", at_least=1)
        k: int = integer(1, "Number of neighbours, k <= window.", at_least=1)

        def __post_init__(self) -> None:
            super().__post_init__()
            if self.k > self.window:
                raise ParameterError(f"k must be <= window = {self.window}, got {self.k}")

    def rule(self) -> UpdateRule:
        p = self.parameters
        return UpdateRule(score, learn, p.numbers(), KNNWinState, {"W": p.window, "k": p.k}, classes=True)


class KNNWinState(NamedTuple):
    """State of `knn_win`. By columns, so that several distances are computed at a time."""

    column: Array = field("f8[d, W]", "features of the last W rows; row t from 0 stands at t mod W")
    label: Counts = field("i8[W]", "their classes", largest="K - 1")
    taken: Counts = field("i8[1]", "labelled rows so far")
    S: Array = scratch("f8[K]", "the scores")
    squared: Array = scratch("f8[W]", "squared distances from the row")
    nearest: Array = scratch("f8[k]", "the least of them, in ascending order")
    class_of: Array = scratch("f8[k]", "classes of the nearest")


@fragment
def score(x: Array, p: KNNWin.Params, memory: KNNWinState) -> None:
    """Write the scores of the classes. Shapes: x f8[d]. docs/algorithms/windows.md#knn_win."""
    n = min(memory.taken[0], memory.label.shape[0])
    squared_distances(x, memory.column, n, memory.squared)
    for c in range(memory.S.shape[0]):
        memory.S[c] = 0.0
    if p.k == 1:
        share_by_distance(n, memory)
    else:
        vote(n, p.k, memory)


@fragment
def share_by_distance(n: int, memory: KNNWinState) -> None:
    """Compute S_c from the distance to the nearest row of each class, with 1 / d_c relative to the largest.

    Classes at distance 0 share everything equally; a class that is not in the window gets 0.
    """
    S, squared, label = memory.S, memory.squared, memory.label
    for c in range(S.shape[0]):
        S[c] = math.inf
    for i in range(n):
        S[label[i]] = min(S[label[i]], squared[i])
    least = math.inf
    for c in range(S.shape[0]):
        least = min(least, S[c])
    total = 0.0
    for c in range(S.shape[0]):
        near = S[c] < math.inf
        S[c] = (1.0 if S[c] == least else math.sqrt(least) / math.sqrt(S[c])) if near else 0.0
        total += S[c]
    for c in range(S.shape[0]):
        S[c] = S[c] / total if total > 0.0 else 0.0


@fragment
def vote(n: int, k: int, memory: KNNWinState) -> None:
    """Compute S_c from the number of each class among the k nearest rows, visiting rows from newest to oldest.

    Invariant: nearest[:found] is in ascending order, with the newer of equal ones first.
    """
    squared, nearest, class_of = memory.squared, memory.nearest, memory.class_of
    found = 0
    for back in range(1, n + 1):
        i = (memory.taken[0] - back) % memory.label.shape[0]
        if squared[i] < (nearest[k - 1] if found == k else math.inf):
            place = min(found, k - 1)
            while place > 0 and nearest[place - 1] > squared[i]:
                nearest[place], class_of[place] = nearest[place - 1], class_of[place - 1]
                place -= 1
            nearest[place], class_of[place] = squared[i], memory.label[i]
            found = min(found + 1, k)
    for place in range(found):
        memory.S[int(class_of[place])] += 1.0 / k


@fragment
def learn(x: Array, label: int, _omega: float, _finite: bool, _p: KNNWin.Params, memory: KNNWinState) -> None:
    """Add the row, in place of the oldest if the window is full. Shapes: x f8[d]."""
    slot = memory.taken[0] % memory.label.shape[0]
    for j in range(x.shape[0]):
        memory.column[j, slot] = x[j]
    memory.label[slot] = label
    memory.taken[0] += 1
