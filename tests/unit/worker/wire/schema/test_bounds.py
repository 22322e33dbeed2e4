"""The field scanner once more with bounds checking, as it never checks whether a position is still inside the text.

Slow, as all its kernels are compiled anew.
"""

from __future__ import annotations

import pytest

from tests.unit.worker.wire.test_scanner_bounds import PYTEST, run

pytestmark = [pytest.mark.timeout(1000), pytest.mark.slow]

SUITES = ("fields", "shapes"), ("words", "debezium"), ("convert", "times")


@pytest.mark.parametrize("suite", SUITES, ids="-".join)
def test_the_scanner_of_fields_stays_inside_its_text(pytestconfig: pytest.Config, suite: tuple[str, ...]) -> None:
    paths = (f"tests/unit/worker/wire/schema/test_{part}.py" for part in suite)
    done = run(pytestconfig, *PYTEST, *paths)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
    assert " passed" in done.stdout
