"""Experts that predict the next label from the previous ones alone: repeats, alternation, runs and cycles."""

from typing import NamedTuple

from driftway.learners.contract import Array, Counts, field, fragment, kernel
from driftway.learners.numeric.elementary.logarithm import log

NAMES = "after_run", "after_past"
"""Contexts: the last label with its run length; the last few labels."""
EXPERTS = len(NAMES)
KEEP = 0.99
"""Factor by which the counts of a context decay each time it occurs."""
UNSEEN = 0.5
"""Prior rows of a context, spread over the classes."""
VANISHING = 1e-9


def contexts(K: int) -> tuple[int, int]:
    """Return the number of distinct run lengths and of distinct pasts (six labels for two classes, fewer for more)."""
    runs = 64 if K <= 4 else 16 if K <= 8 else 4
    pasts = 64 if K == 2 else K * K * K if K <= 4 else K * K if K <= 10 else K
    return runs, pasts


class LabelHistory(NamedTuple):
    """Decaying counts of labels by context."""

    after_run: Array = field("f8[K R, K]", "labels after a run of each class and length")
    after_past: Array = field("f8[H, K]", "labels after each sequence of the last few")
    last: Counts = field("i8[1]", "the last label", largest="K - 1")
    run: Counts = field("i8[1]", "how often it came in succession before, at most R - 1", largest="R - 1")
    past: Counts = field("i8[1]", "the last few labels, as a number to the base K below H", largest="H - 1")


@fragment
def current_contexts(history: LabelHistory) -> tuple[int, int]:
    """Return the contexts of the next label: indices for the current run and for the last few labels."""
    R = history.after_run.shape[0] // history.after_run.shape[1]
    return history.last[0] * R + history.run[0], history.past[0]


@kernel
def predict(history: LabelHistory, raw: Array) -> None:
    """Write both experts' log-probabilities of each class to the first rows of `raw`. Shapes: raw f8[E, K]."""
    after_run, after_past = current_contexts(history)
    predict_one(history.after_run[after_run], raw[0])
    predict_one(history.after_past[after_past], raw[1])


@kernel
def predict_one(count: Array, raw: Array) -> None:
    """Write the logarithms of the smoothed counts, unnormalised. Shapes: count f8[K], raw f8[K]."""
    for c in range(count.shape[0]):
        raw[c] = log(count[c] + UNSEEN / count.shape[0])


@kernel
def update(y: int, history: LabelHistory) -> None:
    """Count the next label and advance the history."""
    after_run, after_past = current_contexts(history)
    count_at(y, after_run, after_past, history)
    advance(y, history)


@kernel
def count_at(y: int, after_run: int, after_past: int, history: LabelHistory) -> None:
    """Count a label in the given contexts."""
    count_in(history.after_run[after_run], y)
    count_in(history.after_past[after_past], y)


@kernel
def advance(y: int, history: LabelHistory) -> None:
    """Append a label to the history."""
    K = history.after_run.shape[1]
    R = history.after_run.shape[0] // K
    history.run[0] = min(history.run[0] + 1, R - 1) if y == history.last[0] else 0
    history.past[0] = (history.past[0] * K + y) % history.after_past.shape[0]
    history.last[0] = y


@kernel
def count_in(count: Array, y: int) -> None:
    """Decay the counts of a context, then count a label. Shapes: count f8[K]."""
    for c in range(count.shape[0]):
        faded = count[c] * KEEP
        count[c] = faded if faded > VANISHING else 0.0
    count[y] += 1.0
