"""The ARMA series: its recursion, and that it stays bounded."""

from __future__ import annotations

import numpy as np
import pytest

from driftway.producers.streams import open_stream
from driftway.worker.errors import UsageFailure
from tests.unit.producers.test_stream_generators import Xoshiro, read


def naive(n: int, seed: int, ar: list[float], ma: list[float], deviation: float) -> tuple[np.ndarray, np.ndarray]:
    rng, y = Xoshiro(seed), [0.0] * len(ar)
    e = [0.0] * len(ma)
    for _ in range(n):
        e.append(deviation * rng.normal())
        y.append(e[-1] + sum(a * v for a, v in zip(ar, reversed(y), strict=False)))
        y[-1] += sum(b * v for b, v in zip(ma, e[-2::-1], strict=False))
    values = np.array(y[len(ar) :])
    return np.concatenate([[0.0], values[:-1]])[:, None], values


@pytest.mark.parametrize(("ar", "ma"), [([0.6, -0.5, 0.4, -0.4, 0.3], [0.3, -0.2]), ([-0.9], [0.5, 0.1, 2.0])])
def test_arma_equals_the_oracle(ar: list[float], ma: list[float]) -> None:
    given = f"arma:rows=500,ar={'/'.join(map(str, ar))},ma={'/'.join(map(str, ma))},noise=0.5"
    X, y = read(open_stream(given, seed=4), size=64)
    expected = naive(500, 4, ar, ma, 0.5)
    np.testing.assert_allclose(X, expected[0], rtol=0, atol=1e-12)
    np.testing.assert_allclose(y, expected[1], rtol=0, atol=1e-12)


@pytest.mark.parametrize("ar", ["1", "0.5/0.5", "-1.2", "0/0/1.5"])
def test_a_series_that_would_not_stay_bounded_is_refused(ar: str) -> None:
    with pytest.raises(UsageFailure, match=f"arma: ar must be stationary, got {ar}"):
        open_stream(f"arma:ar={ar}")
