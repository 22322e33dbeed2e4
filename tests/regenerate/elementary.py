"""`python -m tests.regenerate.elementary`: learners/numeric/elementary/tables.py, all numbers computed with mpmath.

Nobody can check the tables by reading them, so `tests/unit/learners/test_elementary_functions.py` recomputes them and
compares.
"""

from __future__ import annotations

import sys
from itertools import pairwise
from pathlib import Path

from mpmath import chebyfit, erfc, exp, floor, log, mp, mpf, nint, pi

PAGE = Path(__file__).parents[2] / "learners" / "numeric" / "elementary" / "tables.py"
COMMAND = "python -m tests.regenerate.elementary"
HEAD = '''"""Tables of the elementary functions, made by `{command}` with mpmath.

Kernels hold copies of them: the word `@kernel` here puts this file into the digest of
`driftway.learners.engine.kernel_cache`.
"""

import numpy as np
from numpy.typing import NDArray

'''
EXP_STEPS = 128
LOG_BINS = 128
LOG_START = 181 / 256
ERFC_BINS = 77
ERFC_TERMS = 10
DIGIT_BITS = 24
DIGITS = 52
GRID = mpf(2) ** -42
"""The high parts of logarithms are multiples of this, so that adding them to multiples of ln 2 is exact."""


def exponentials() -> dict[str, list[float]]:
    """Return 2^(j / 128), rounded, and the relative rounding error."""
    true = [mpf(2) ** (mpf(j) / EXP_STEPS) for j in range(EXP_STEPS)]
    rounded = [float(value) for value in true]
    return {"EXP2": rounded, "EXP2_REST": [float(a / mpf(b) - 1) for a, b in zip(true, rounded, strict=True)]}


def log_bins() -> list[tuple[float, float]]:
    """Return the 128 bins of z from 181/256 on, of equal width below 1 and twice that width above."""
    edges = [LOG_START]
    while len(edges) <= LOG_BINS:
        edges.append(edges[-1] + (2.0**-8 if edges[-1] < 1.0 else 2.0**-7))
    return list(pairwise(edges))


def logarithms() -> dict[str, list[float]]:
    """Return 1 / z of every bin to 9 bits, and minus its logarithm in two parts; both bins at 1 have 1 and 0."""
    inverse = [1.0 if 1.0 in bin_ else float(nint(1024 / (mpf(bin_[0]) + bin_[1]))) / 512 for bin_ in log_bins()]
    true = [-log(mpf(c)) for c in inverse]
    head = [float(nint(value / GRID) * GRID) for value in true]
    return {"INVERSE": inverse, "LOG": head, "LOG_REST": [float(a - mpf(b)) for a, b in zip(true, head, strict=True)]}


def scaled_erfc() -> dict[str, list[float]]:
    """Return each bin's middle and the series of exp(x^2) erfc(x) about it: a two-part constant, then the powers."""
    middles, flat = [], []
    for i in range(ERFC_BINS):
        width = mpf(2) ** (i // 16 - 4)
        middle = mpf(2) ** (i // 16) * (1 + (mpf(i % 16) + mpf(1) / 2) / 16) - 1
        lowest = chebyfit(
            lambda r, c=middle: exp((c + r) ** 2) * erfc(c + r), [-width / 2, width / 2], ERFC_TERMS, asc=True
        )
        middles.append(float(middle))
        flat += [float(lowest[0]), float(lowest[0] - mpf(float(lowest[0]))), *map(float, lowest[1:])]
    return {"ERFC_MIDDLE": middles, "ERFC_POWERS": flat}


def two_over_pi() -> list[int]:
    """Return 2/pi in digits of 24 bits, after two leading zero digits."""
    value, digits = 2 / pi, [0, 0]
    for _ in range(DIGITS):
        value *= 2**DIGIT_BITS
        digits.append(int(floor(value)))
        value -= digits[-1]
    return digits


def lines(values: list[float] | list[int]) -> str:
    """Format numbers as lines of source."""
    out = "    "
    for value in values:
        word = f"{value!r},"
        column = len(out) - out.rfind("\n") - 1
        out += ("" if column == 4 else " ") + word if column + len(word) < 119 else f"\n    {word}"
    return out


def page() -> str:
    """Return the file's text."""
    with mp.workprec(2000):
        digits = two_over_pi()
    with mp.workdps(60):
        tables: dict[str, list[float]] = {**exponentials(), **logarithms(), **scaled_erfc()}
    text = HEAD.format(command=COMMAND)
    for name, values in tables.items():
        text += f"{name}: NDArray[np.float64] = np.array([\n{lines(values)}\n])  # fmt: skip\n\n"
    return text + f"TWO_OVER_PI: NDArray[np.int64] = np.array([\n{lines(digits)}\n])  # fmt: skip\n"


def main() -> int:
    """Write the file."""
    PAGE.write_text(page())
    return 0


if __name__ == "__main__":
    sys.exit(main())
