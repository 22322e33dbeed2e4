"""What the labels say of the next one, whatever the features are: they repeat, alternate, come in runs or cycles."""

from typing import NamedTuple

from driftway.learners.contract import Array, Counts, field, fragment, kernel_without_refcounts
from driftway.learners.numeric.elementary.logarithm import log

NAMES = "after_run", "after_past"
"""By the last label and how often it has come in succession; by the last few labels."""
EXPERTS = len(NAMES)
KEEP = 0.99
"""What a count keeps when its context has been seen once more."""
UNSEEN = 0.5
"""Rows that a context is thought to have had before any, spread over the classes."""
VANISHING = 1e-9


def contexts(K: int) -> tuple[int, int]:
    """How many lengths of a run are told apart, and how many pasts: of six labels of two classes, of fewer of more."""
    runs = 64 if K <= 4 else 16 if K <= 8 else 4
    pasts = 64 if K == 2 else K * K * K if K <= 4 else K * K if K <= 10 else K
    return runs, pasts


class LabelHistory(NamedTuple):
    """Counts of labels by what came before them, the old ones fading."""

    after_run: Array = field("f8[K R, K]", "labels after a run of each class and length")
    after_past: Array = field("f8[H, K]", "labels after each sequence of the last few")
    last: Counts = field("i8[1]", "the last label")
    run: Counts = field("i8[1]", "how often it came in succession before, at most R - 1")
    past: Counts = field("i8[1]", "the last few labels, as a number to the base K below H")


@fragment
def current_contexts(history: LabelHistory) -> tuple[int, int]:
    """Which counts speak of the next label: after the present run, after the last few labels."""
    R = history.after_run.shape[0] // history.after_run.shape[1]
    return history.last[0] * R + history.run[0], history.past[0]


@kernel_without_refcounts
def predict(history: LabelHistory, raw: Array) -> None:
    """Write both experts' logarithms of how likely each class is to the first rows of `raw`. Shapes: raw f8[E, K]."""
    after_run, after_past = current_contexts(history)
    predict_one(history.after_run[after_run], raw[0])
    predict_one(history.after_past[after_past], raw[1])


@kernel_without_refcounts
def predict_one(count: Array, raw: Array) -> None:
    """Logarithms of the counts, up to what all classes share. Shapes: count f8[K], raw f8[K]."""
    for c in range(count.shape[0]):
        raw[c] = log(count[c] + UNSEEN / count.shape[0])


@kernel_without_refcounts
def update(y: int, history: LabelHistory) -> None:
    """Take in the next label."""
    after_run, after_past = current_contexts(history)
    count_at(y, after_run, after_past, history)
    advance(y, history)


@kernel_without_refcounts
def count_at(y: int, after_run: int, after_past: int, history: LabelHistory) -> None:
    """Count a label at the places that spoke of it."""
    count_in(history.after_run[after_run], y)
    count_in(history.after_past[after_past], y)


@kernel_without_refcounts
def advance(y: int, history: LabelHistory) -> None:
    """Let what comes next stand behind this label."""
    K = history.after_run.shape[1]
    R = history.after_run.shape[0] // K
    history.run[0] = min(history.run[0] + 1, R - 1) if y == history.last[0] else 0
    history.past[0] = (history.past[0] * K + y) % history.after_past.shape[0]
    history.last[0] = y


@kernel_without_refcounts
def count_in(count: Array, y: int) -> None:
    """Let the counts of a context fade, then count a label. Shapes: count f8[K]."""
    for c in range(count.shape[0]):
        faded = count[c] * KEEP
        count[c] = faded if faded > VANISHING else 0.0
    count[y] += 1.0
