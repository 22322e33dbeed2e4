"""The segments protocol against its published numbers, on the real streams.

See docs/algorithms/reference-results.md#our-reproduction-of-dfop.
"""

from __future__ import annotations

import pytest

from driftway import cli
from driftway.learners.spec import Spec
from driftway.worker.evaluation.protocols import Job, run
from driftway.worker.settings.option_values import SEGMENTS
from tests.support.real_streams import RealStreams

CLOSE = 0.1
"""Percentage points; 0.5 is required. One row of usenet's 1,200 is 0.083, and usenet2 differs from the reference, which
another program made, by about that much (76.17 for 76.08). The longer streams agree to 0.02."""

REFERENCE = [
    ("2CDT", "dfop:mu=0.01", 96.16, 0.04),
    ("2CDT", "rls", 62.28, 0.24),
    ("1CDT", "rls", 98.20, 2.09),
    ("UG-2C-2D", "dfop:mu=0.001", 95.58, 0.08),
    ("UG-2C-2D", "rls", 66.47, 1.43),
    ("usenet1", "dfop:mu=0.02", 69.92, 0.64),
    ("usenet2", "dfop:mu=0.02", 76.08, 0.26),
    ("electricity", "dfop:mu=0.001", 76.50, 0.31),
    ("electricity", "rls", 73.49, 0.44),
]


@pytest.mark.parametrize(("stream", "learner", "mean", "deviation"), REFERENCE)
def test_segments_give_the_published_means_and_deviations(
    stream: str, learner: str, mean: float, deviation: float, real_streams: RealStreams
) -> None:
    """Raw features with an intercept; figures in percent."""
    opening = {"data_dir": real_streams.data_dir(stream)}
    job = Job(stream, Spec.parse(learner), opening=opening, protocol=SEGMENTS, standardize=False)
    found = run(cli.open_stream, job).figure("accuracy")
    assert found.mean is not None
    assert found.deviation is not None
    assert 100 * found.mean == pytest.approx(mean, abs=CLOSE)
    assert 100 * found.deviation == pytest.approx(deviation, abs=CLOSE)
