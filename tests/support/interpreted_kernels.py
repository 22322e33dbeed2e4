"""Run kernels as plain Python, in which an out-of-bounds index raises; import this module before any kernel.

Compiled code reads out of bounds silently. With NUMBA_DISABLE_JIT=1 numba leaves functions uncompiled. Intrinsics,
which have no Python body, and functions that rely on 64-bit wrap-around are replaced here.

`python -m tests.support.interpreted_kernels I N` runs part I of N of the conformance table this way, with `slow` behind
it also the variants of a learner that run the same kernel as an earlier one, or that only slow tests check.
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
    """`driftway.learners.numeric.elementary.words.number_of`; in compiled code its argument wraps."""
    return float(np.uint64(bits & WORD).view(np.float64))


def member(stacked: Any, i: int) -> Any:
    """`driftway.learners.engine.jit.member`, for arrays and tuples of arrays."""
    return stacked[i] if isinstance(stacked, np.ndarray) else type(stacked)(*(member(one, i) for one in stacked))


def trailing_zeros(word: int) -> int:
    """`driftway.learners.engine.jit.trailing_zeros`."""
    return (int(word) & -int(word)).bit_length() - 1


if os.environ.get("NUMBA_DISABLE_JIT") == "1":
    words.number_of = number_of  # type: ignore[assignment]
    driftway.learners.engine.jit.member = member
    driftway.learners.engine.jit.trailing_zeros = trailing_zeros

ROWS, HOSTILE, WIDE = 100, 60, 30
"""Rows of plain data, of hostile data, and rows so wide that matrices are multiplied by columns."""
MORE_ROWS, MORE_HOSTILE = 240, 120
LATE_LINES = {"learn_pp_nse", "norma", "kernel_alma", "rbp", "forgetron", "fogd", "bsgd_merge"}
"""Learners with kernel lines that only later rows reach: up to row 197 of the plain ones, and 104 of the hostile."""
LATE, WAITING = 60, 4
"""Rows with delayed labels, and how many wait at a time."""


def streams(case: Case) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Kind -> rows to run a case on."""
    from tests.conformance.rows import hostile, rows

    plain, wild = (MORE_ROWS, MORE_HOSTILE) if case.row.name in LATE_LINES else (ROWS, HOSTILE)
    made = {
        "plain": rows(case.kind, plain, 5, 4, 0.2),
        "hostile": hostile(case.kind, wild, 5, case.classes() or 1),
        "wide": rows(case.kind, WIDE, 14, 4, 0.2),
    }
    return {name: case.formed(one) for name, one in made.items()}


def out_of_bounds(case: Case) -> list[str]:
    """Run a case row by row on each kind of rows; return where it indexes out of bounds."""
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
                    raise  # on hostile rows, compiled code continues with inf or nan
    return found


def out_of_bounds_delayed(case: Case) -> list[str]:
    """As `out_of_bounds`, with delayed labels, of which every fifth never arrives."""
    from driftway.learners.engine.update_loop import LABEL_EXPIRED, DelayedRows

    X, y = streams(case)["plain"]
    learner = case.make(5)
    cached_prediction = learner.prediction_cache(WAITING)
    if not (cached_prediction.size or learner.uses_unlabelled):
        return []
    score = np.empty((2, learner.n_scores))
    for t in range(WAITING, LATE):
        waited = t - WAITING
        gone = waited % 5 == 0 or np.isnan(y[waited])
        due = np.array([np.nan if gone else y[waited], np.nan])
        slot = np.array([LABEL_EXPIRED if gone else t % WAITING, t % WAITING])
        try:
            learner.predict_then_update_delayed(X[[waited, t]], due, score, DelayedRows(slot, cached_prediction))
        except IndexError as error:
            return [f"{case.label}, row {t}, late ones: {error}"]
    return []


def main(part: int, parts: int, slow: bool) -> int:
    """Run one case per kernel of the part, or every one if `slow`; print which index out of bounds.

    With the standardiser it is one per kind of task, or one per learner and kind.
    """
    from tests.conformance.table import cases

    failed = 0
    chosen: dict[tuple[Any, ...], Case] = {}
    for case in (one for one in cases() if slow or not one.slow):
        standardized = case.kind, case.row.name if slow else ""
        chosen.setdefault(standardized if case.standardize else (*case.kernel, case.parameters if slow else ""), case)
    for case in list(chosen.values())[part::parts]:
        for complaint in out_of_bounds(case) + out_of_bounds_delayed(case):
            print(complaint)
            failed += 1
    print(f"{len(chosen)} cases, part {part} of {parts}, {failed} past an array")
    return 1 if failed else 0


if __name__ == "__main__":
    np.seterr(all="ignore")
    sys.exit(main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:] == ["slow"]))
