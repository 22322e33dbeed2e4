"""The archive's moving classes: rows by the definition, and the layout of the public files."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from driftway.producers.streams import open_stream
from driftway.worker.errors import UsageFailure
from tests.support.real_streams import RealStreams
from tests.unit.producers.test_stream_generators import Xoshiro, read

Component = tuple[tuple[float, float], tuple[float, float]]
"""Means and variances of x1 and x2; the components of a class have equal weight, no covariance."""

BLOCKS = {"1CDT": 40, "1CHT": 40, "2CDT": 40, "2CHT": 40, "MG-2C-2D": 100, "UG-2C-2D": 100}
ROWS = {"1CDT": 400, "1CHT": 400, "2CDT": 400, "2CHT": 400, "MG-2C-2D": 2000, "UG-2C-2D": 1000}
PUBLIC = [name for name in BLOCKS if name != "2CHT"]

PARTING = {"x1": (8, 6, 4, 2.5, 2, 2), "x2": (8, 8, 7.5, 6, 4, 2)}
"""MG-2C-2D, class 1: one component at equally spaced times; the other is its mirror image."""

WANDERING = {
    "x1": ((2, 6, 8, 7, 3, 3), (8, 4, 2, 3, 7, 7)),
    "x2": ((3, 3, 5, 5, 7, 3), (7, 7, 5, 4, 2, 7)),
    "variance 1": ((1, 2, 2, 1, 1.5, 1.5), (1, 2, 2, 1, 1, 1.5)),
    "variance 2": ((1, 1, 2, 1, 1.5, 1.5), (1, 2, 3, 3, 3, 1.5)),
}
"""UG-2C-2D: the parameters of both classes at equally spaced times."""


def layout(name: str, block: int) -> tuple[list[Component], list[Component]]:
    """Return the components of both classes in a block."""
    if name in ("MG-2C-2D", "UG-2C-2D"):
        time, times = block / 99, np.linspace(0, 1, 6)
        if name == "UG-2C-2D":
            now = {what: [float(np.interp(time, times, row)) for row in rows] for what, rows in WANDERING.items()}
            x1, x2, v1, v2 = now.values()
            return [((x1[0], x2[0]), (v1[0], v2[0]))], [((x1[1], x2[1]), (v1[1], v2[1]))]
        up, (a, b) = 6 * time, (float(np.interp(time, times, row)) for row in PARTING.values())
        unit = (1.0, 1.0)
        return [((2 + up, 2 + up), unit), ((8 - up, 2 + up), unit)], [((a, b), unit), ((b, a), unit)]
    m = min(block, 40 - block)
    still = {"1CDT": (0, 0), "1CHT": (0, 2), "2CDT": (m, m), "2CHT": (m, 2)}[name]
    moving = (4 + m, 4 + m if "D" in name[2:3] else 2)
    return [(still, (2.25, 2.25))], [(moving, (2.25, 2.25))]


def naive(name: str, n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng, X, y = Xoshiro(seed), [], []
    for t in range(n):
        label = int(rng.uniform() < 0.5)
        parts = layout(name, BLOCKS[name] * t // n)[label]
        mean, variance = parts[int(rng.uniform() * len(parts))]
        X.append([m + math.sqrt(v) * rng.normal() for m, v in zip(mean, variance, strict=True)])
        y.append(float(label))
    return np.array(X), np.array(y)


def misfit(name: str, X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return how rows misfit the layout of `name`: chi-square f8[2, 5] over all blocks, one degree of freedom each.

    By class: the two means, then the variance of x1, the covariance and the variance of x2.
    """
    blocks = BLOCKS[name]
    squares = np.zeros((2, 5))
    for block, (rows, labels) in enumerate(zip(np.split(X, blocks), np.split(y, blocks), strict=True)):
        for label, parts in enumerate(layout(name, block)):
            x = rows[labels == label]
            means = np.array([mean for mean, _ in parts])
            centre = means.mean(axis=0)
            spread = np.diag(np.mean([variance for _, variance in parts], axis=0)) + np.cov(means.T, bias=True)
            z = x - centre
            squares[label, :2] += len(x) * z.mean(axis=0) ** 2 / np.diag(spread)
            for entry, (i, j) in enumerate([(0, 0), (0, 1), (1, 1)], start=2):
                products = z[:, i] * z[:, j]
                squares[label, entry] += len(x) * (products.mean() - spread[i, j]) ** 2 / products.var()
    return squares


def most(name: str) -> float:
    """Return the mean of a chi-square plus five standard deviations."""
    return BLOCKS[name] + 5 * math.sqrt(2 * BLOCKS[name])


@pytest.mark.parametrize("name", BLOCKS)
def test_rows_are_those_of_the_definition(name: str) -> None:
    X, y = read(open_stream(f"archive:{name}", rows=1500, seed=6), size=37)
    expected = naive(name, 1500, 6)
    assert y.tolist() == expected[1].tolist()
    np.testing.assert_allclose(X, expected[0], rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", PUBLIC)
def test_the_public_copy_has_this_layout(name: str, real_streams: RealStreams) -> None:
    public, made = open_stream(name, data_dir=real_streams.data_dir(name)), open_stream(f"archive:{name}")
    X, y = read(public)
    assert (len(y), public.n_features) == (made.rows, made.n_features) == (BLOCKS[name] * ROWS[name], 2)
    assert (y.reshape(BLOCKS[name], -1).mean(axis=1) == 0.5).all()
    assert misfit(name, X, y).max() < most(name)


def test_a_wrong_layout_does_not_fit_the_public_copy(real_streams: RealStreams) -> None:
    folder = real_streams.data_dir("UG-2C-2D", "1CHT")
    X, y = read(open_stream("UG-2C-2D", data_dir=folder))
    assert misfit("UG-2C-2D", np.roll(X, 1000, axis=0), np.roll(y, 1000)).max() > most("UG-2C-2D")
    assert misfit("UG-2C-2D", X * 1.01, y).max() > most("UG-2C-2D")
    X, y = read(open_stream("1CHT", data_dir=folder))
    assert misfit("1CHT", X + np.array([0.2, 0.0]), y).max() > most("1CHT")


@pytest.mark.parametrize("name", BLOCKS)
def test_the_generator_has_this_layout(name: str) -> None:
    stream = open_stream(f"archive:{name}", seed=5)
    X, y = read(stream)
    squares = misfit(name, X, y)
    assert squares.max() < most(name)
    assert squares.mean() == pytest.approx(BLOCKS[name], rel=0.3)  # the fit is neither too bad nor too good
    assert stream.drift_points == tuple(range(ROWS[name], stream.rows, ROWS[name]))
    # Labels are fair coin tosses: four standard deviations of the share, and of repeated labels.
    assert y.mean() == pytest.approx(0.5, abs=2 / math.sqrt(stream.rows))
    assert (y[1:] == y[:-1]).mean() == pytest.approx(0.5, abs=2 / math.sqrt(stream.rows))


def test_the_components_of_a_class_are_equally_frequent() -> None:
    X, y = read(open_stream("archive:MG-2C-2D", seed=2))
    start = X[:2000][y[:2000] == 0]
    assert (start[:, 0] < 5).mean() == pytest.approx(0.5, abs=0.065)  # 1,000 rows, components at 2 and 8


def test_options_follow_the_second_colon_of_a_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DRIFTWAY_DATA", raising=False)
    (tmp_path / "2CDT.csv").write_text("a,y\n1,0\n")
    by_name = open_stream("archive:2CDT:rows=4000,seed=3", data_dir=str(tmp_path))
    assert by_name.name == "archive:2CDT"
    assert by_name.rows == 4000
    assert by_name.drift_points[:2] == (100, 200)
    assert read(by_name)[0].tobytes() == read(open_stream("archive:2CDT", rows=4000, seed=3))[0].tobytes()
    assert open_stream("2CDT", data_dir=str(tmp_path)).source == "file 2CDT.csv"


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("archive:2CDT:rows", "'rows' in '2CDT:rows' is not parameter=value"),
        ("archive:2CDT:rows=39", "archive:2CDT: rows must be at least the 40 stages, got 39"),
        ("archive:2CDT:noise=0", "archive:2CDT has no parameter 'noise'; available: rows, seed"),
        ("archive:4CR", "there is no stream 'archive:4CR'; did you mean archive:"),
        ("archive", "there is no stream 'archive'; did you mean archive:"),
    ],
)
def test_a_wrong_name_or_option_is_refused_in_one_sentence(
    name: str, sentence: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("DRIFTWAY_DATA", raising=False)
    with pytest.raises(UsageFailure) as failure:
        open_stream(name)
    assert str(failure.value).startswith(sentence)
