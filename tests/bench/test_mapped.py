"""Events decoded by a schema, compared with the plain form; see the package's docstring."""

from __future__ import annotations

import os

import pytest

from tests.bench.mapped import measured

pytestmark = pytest.mark.slow

LEAST = 0.4
"""Least share of the plain form's events/s when only decoding: a flat event has twice the bytes of a plain one. The
share of a worker's messages/s is larger, because a worker also does other work."""
CASES = ("flat numbers", "with city and time", "beyond ASCII")


@pytest.mark.parametrize("d", [8, 30])
def test_mapped_events_are_read_nearly_as_fast_as_plain_ones(d: int, capsys: pytest.CaptureFixture[str]) -> None:
    found = measured(d)
    with capsys.disabled():
        print(f"\n{d} fields {'':18} {'us/row':>8} {'of plain':>8}")
        for name, spent in found.items():
            print(f"{name:28} {spent:8.3f} {found['plain'] / spent:8.2f}")
    if os.environ.get("DRIFTWAY_BENCH"):
        assert {name: found["plain"] / found[name] for name in CASES if found["plain"] < LEAST * found[name]} == {}
