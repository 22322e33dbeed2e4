"""Kernels as plain Python, in which an index past the end of an array raises; to be loaded before any of them.

Compiled code reads on without a word. With NUMBA_DISABLE_JIT=1 numba leaves every function as it is written. What
the compiler puts in by other means than Python, and words of 64 bits that wrap, are put in here.

`python -m tests.support.interpreted_kernels I N` runs part I of N of the conformance table so.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

import numpy as np

import driftway.learners.engine.jit
from driftway.learners.numeric.elementary import words

if TYPE_CHECKING:
    from tests.conformance.table import Case

WORD = (1 << 64) - 1


def number_of(bits: int) -> float:
    """`driftway.learners.numeric.elementary.words.number_of`, whose argument wraps in compiled code."""
    return float(np.uint64(bits & WORD).view(np.float64))


def member(stacked: Any, i: int) -> Any:
    """`driftway.learners.engine.jit.member`, of arrays and of tuples of them."""
    return stacked[i] if isinstance(stacked, np.ndarray) else type(stacked)(*(member(one, i) for one in stacked))


def trailing_zeros(word: int) -> int:
    """`driftway.learners.engine.jit.trailing_zeros`."""
    return (int(word) & -int(word)).bit_length() - 1


if os.environ.get("NUMBA_DISABLE_JIT") == "1":
    words.number_of = number_of  # type: ignore[assignment]
    driftway.learners.engine.jit.member = member
    driftway.learners.engine.jit.trailing_zeros = trailing_zeros

ROWS = 240
"""Of plain data: the last line of a kernel that is not run before is run in row 197, where a pool of learn_pp_nse is
full; windows and budgets of the table's variants are full, and were turned over, long before."""
HOSTILE, WIDE = 120, 30
"""Of rows that no kernel likes (the last line that only these run: in row 95, of fogd), and of rows so wide that
matrices are multiplied by columns (in the first)."""
LATE, WAITING = 60, 4
"""Of rows that wait for their labels, and how many wait at a time."""


def streams(case: Case) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """The kinds of rows that a case is run on."""
    from tests.conformance.rows import hostile, rows

    made = {
        "plain": rows(case.kind, ROWS, 5, 4, 0.2),
        "hostile": hostile(case.kind, HOSTILE, 5, case.classes() or 1),
        "wide": rows(case.kind, WIDE, 14, 4, 0.2),
    }
    return {name: case.formed(one) for name, one in made.items()}


def past_an_array(case: Case) -> list[str]:
    """Run a case once on each kind of rows, row by row; say where it goes past an array."""
    from tests.conformance.checks import scores

    found = []
    for (name, (X, y)), d in zip(streams(case).items(), (5, 5, 14), strict=True):
        learner = case.make(d)
        for t in range(len(X)):
            try:
                scores(learner, X[t : t + 1], y[t : t + 1])
            except IndexError as error:
                found.append(f"{case.label}, row {t} of {len(X)} {name} ones: {error}")
                break
            except (ArithmeticError, ValueError):
                if name != "hostile":
                    raise  # on those, compiled code goes on with inf or nan
    return found


def past_an_array_late(case: Case) -> list[str]:
    """As `past_an_array`, where rows wait for their labels; every fifth of these never comes."""
    from driftway.learners.engine.update_loop import LABEL_EXPIRED, DelayedRows

    X, y = streams(case)["plain"]
    learner = case.make(5)
    opinion = learner.prediction_cache(WAITING)
    if not (opinion.size or learner.uses_unlabelled):
        return []
    score = np.empty((2, learner.n_scores))
    for t in range(WAITING, LATE):
        waited = t - WAITING
        gone = waited % 5 == 0 or np.isnan(y[waited])
        due = np.array([np.nan if gone else y[waited], np.nan])
        slot = np.array([LABEL_EXPIRED if gone else t % WAITING, t % WAITING])
        try:
            learner.predict_then_update_delayed(X[[waited, t]], due, score, DelayedRows(slot, opinion))
        except IndexError as error:
            return [f"{case.label}, row {t}, late ones: {error}"]
    return []


def main(part: int, parts: int) -> int:
    """Run every case; say which go past an array."""
    from tests.conformance.table import cases

    failed = 0
    met = set()
    for number, case in enumerate(cases()):
        kind = case.kind, case.row.name
        if number % parts != part or (case.standardize and kind in met):
            continue
        met |= {kind} if case.standardize else set()
        for complaint in past_an_array(case) + past_an_array_late(case):
            print(complaint)
            failed += 1
    print(f"{number + 1} cases, part {part} of {parts}, {failed} past an array")
    return 1 if failed else 0


if __name__ == "__main__":
    np.seterr(all="ignore")
    sys.exit(main(*map(int, sys.argv[1:])))
