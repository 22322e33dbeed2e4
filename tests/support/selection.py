"""Select which cases of a long parametrised test run by default; the others are marked slow."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

import pytest


def slow_but(taken: Collection[Any], cases: Iterable[Any]) -> list[Any]:
    """`cases` as parameters, all marked slow except those in `taken`."""
    return [pytest.param(case, marks=[] if case in taken else [pytest.mark.slow]) for case in cases]
