"""Holdout rows: drawn from the concept in force at a row, with a seed of their own; the stream is unaffected."""

from __future__ import annotations

import dataclasses
import math
from statistics import NormalDist
from typing import Any

import numpy as np
import pytest

from driftway.producers.streams import GENERATORS, open_stream
from driftway.producers.streams.generator import Generator, GeneratorSpec
from driftway.producers.streams.options import option
from driftway.producers.streams.registry import find_recipe
from driftway.producers.streams.stream import Array, Block
from driftway.worker.errors import UsageFailure
from tests.unit.producers.test_archive import BLOCKS, layout
from tests.unit.producers.test_gaussian_mixtures import Mixture, density, draw, moved
from tests.unit.producers.test_hyperplanes import naive_rotating
from tests.unit.producers.test_stream_generators import Xoshiro, read

HOLDS = [name for name in GENERATORS if find_recipe(name).sample is not None]
MIXTURES = ["gaussian_mixture_drift", "gaussian_mixture_switch"]
HYPERPLANES = ["hyperplane_staged", "hyperplane_rotating", "hyperplane_regression"]
PAPERS = {"sea", *HYPERPLANES, *MIXTURES, *(f"archive:{name}" for name in BLOCKS)}


def opened(name: str, **given: Any) -> Generator:
    stream = open_stream(name, **given)
    assert isinstance(stream, Generator)
    return stream


def same(a: Block, b: Block) -> bool:
    return a.X.tobytes() == b.X.tobytes() and a.y.tobytes() == b.y.tobytes()


def test_the_generators_used_in_papers_have_holdout_rows() -> None:
    assert set(HOLDS) >= PAPERS


@pytest.mark.parametrize("name", HOLDS)
def test_drawing_holdout_rows_does_not_change_the_stream(name: str) -> None:
    quiet, stream = read(open_stream(name, rows=900, seed=3)), opened(name, rows=900, seed=3)
    blocks = []
    for i, block in enumerate(stream.blocks(100)):
        blocks.append(block)
        stream.holdout((i * 371) % 900, 50, seed=i, noisy=i % 2 == 0)
    assert np.concatenate([block.X for block in blocks]).tobytes() == quiet[0].tobytes()
    assert np.concatenate([block.y for block in blocks]).tobytes() == quiet[1].tobytes()


@pytest.mark.parametrize("name", HOLDS)
def test_holdout_rows_depend_only_on_row_and_seed(name: str) -> None:
    stream = opened(name, rows=900, seed=3)
    rows = [0, 1, 449, 450, 899]
    forwards = {row: stream.holdout(row, 40, seed=7) for row in rows}
    assert all(same(stream.holdout(row, 40, seed=7), forwards[row]) for row in reversed(rows))
    assert same(opened(name, rows=900, seed=3).holdout(450, 40, seed=7), forwards[450])
    longer = stream.holdout(450, 60, seed=7)
    assert same(Block(longer.X[:40], longer.y[:40]), forwards[450])
    if name not in PAPERS:
        return  # features of the others may be whole numbers, which can repeat
    drawn = [*(block.X for block in forwards.values()), stream.holdout(450, 40, seed=8).X, read(stream)[0]]
    # With the stream's own seed and row 0, its own rows could repeat.
    drawn.append(stream.holdout(0, 40, seed=3).X)
    values = np.concatenate([x.ravel() for x in drawn])
    assert len(np.unique(values)) == len(values)


@pytest.mark.parametrize("row", [0, 1, 249, 250, 499, 500, 750, 999])
def test_sea_and_regression_follow_the_stage(row: int) -> None:
    stage = 4 * row // 1000
    X, y = opened("sea", rows=1000).holdout(row, 5000, seed=5)
    assert ((X[:, 0] + X[:, 1] <= (8, 9, 7, 9.5)[stage]) == y).all()
    assert X.min() >= 0
    assert X.mean(axis=0) == pytest.approx(5, abs=0.17)
    X, y = opened("hyperplane_regression", rows=1000).holdout(row, 5000, seed=5)
    i = (1, 2, 4, 7)[stage]
    np.testing.assert_allclose(y, X[:, i - 1 : i + 2].mean(axis=1), rtol=0, atol=1e-12)


def naive_weights(n: int, seed: int, d: int, stages: int) -> np.ndarray:
    """Return the weights of `hyperplane_staged` per row."""
    rng, stage, weights = Xoshiro(seed), -1, []
    for t in range(n):
        if stages * t // n != stage:
            stage = stages * t // n
            a = [rng.normal() for _ in range(d)]
        for _ in range(d + 1):
            rng.uniform()
        weights.append(a)
    return np.array(weights)


@pytest.mark.parametrize("name", ["hyperplane_staged", "hyperplane_rotating:mag=0.1,k=7"])
def test_hyperplanes_follow_the_weights_of_the_row(name: str) -> None:
    rotating = "rotating" in name
    weights = naive_rotating(900, 4, 10, 7, 0.1, 0.1, 0.05)[2] if rotating else naive_weights(900, 4, 10, 9)
    stream = opened(name, rows=900, seed=4)
    for row in (0, 1, 99, 100, 101, 500, 899):
        X, y = stream.holdout(row, 2000, seed=row)
        assert (((X - 0.5) @ weights[row] >= 0) == y).all()
        assert y.mean() == pytest.approx(0.5, abs=0.045)
    assert (((X - 0.5) @ weights[700] >= 0) == y).mean() < 0.99


def naive_mixtures(name: str, n: int, seed: int) -> list[Mixture]:
    """Return the parameters per row, as long as no row is rejected 10,000 times."""
    rng, stages, stage, mixtures = Xoshiro(seed), 10 if "switch" in name else 1, -1, []
    for t in range(n):
        if stages * t // n != stage:
            stage = stages * t // n
            mixture = draw(rng, 2)
        elif stages == 1 and t % 10 == 0:
            mixture = moved(rng, mixture, 0.05)
        while True:
            label = int(rng.uniform() < 0.5)
            a, b, sd = mixture[label][int(rng.uniform() * 2)]
            x = [a + sd * rng.normal()]
            x.append(b + sd * rng.normal())
            if favour(mixture, x, label) > 0.5:
                break
        mixtures.append(mixture)
    return mixtures


def favour(mixture: Mixture, x: list[float], label: int) -> float:
    own, other = density(mixture[label], x), density(mixture[1 - label], x)
    return math.log(own / other) if own and other else math.copysign(math.inf, own - other)


@pytest.mark.parametrize("name", MIXTURES)
def test_mixtures_follow_the_densities_of_the_row(name: str) -> None:
    mixtures, stream = naive_mixtures(name, 900, 4), opened(name, rows=900, seed=4)
    for row in (0, 9, 10, 89, 90, 555, 899):
        X, y = stream.holdout(row, 400, seed=row)
        least = [favour(mixtures[row], list(x), int(label)) for x, label in zip(X, y, strict=True)]
        assert min(least) > 0.5
        assert set(y) == {0.0, 1.0}
    before = [favour(mixtures[400], list(x), int(label)) for x, label in zip(X, y, strict=True)]
    assert min(before) < 0


@pytest.mark.parametrize("name", BLOCKS)
@pytest.mark.parametrize("share", [0.0, 0.3, 0.55, 0.999])
def test_archive_holdout_rows_have_the_bayes_accuracy_of_their_block(name: str, share: float) -> None:
    stream = opened(f"archive:{name}")
    row = int(share * stream.rows)
    X, y = stream.holdout(row, 20_000, seed=9)
    parts = layout(name, BLOCKS[name] * row // stream.rows)

    def log_density(label: int) -> Array:
        terms = [-(((X - m) ** 2 / v).sum(axis=1) + np.log(v).sum()) / 2 for m, v in map(np.array, parts[label])]
        return np.logaddexp.reduce(terms, axis=0) - math.log(len(terms))

    ratio = log_density(1) - log_density(0)
    right = ((ratio >= 0) == y).mean()
    # The accuracy of the Bayes rule is the mean of max(p, 1 - p), p its probability of class 1: a check of p itself.
    sure = 1 / (1 + np.exp(-np.abs(ratio)))
    assert right == pytest.approx(sure.mean(), abs=4 * math.sqrt(max(np.mean(sure * (1 - sure)), 1e-5) / 20_000))
    for label in range(2):
        x, means = X[y == label], np.array([m for m, _ in parts[label]])
        assert x.mean(axis=0) == pytest.approx(means.mean(axis=0), abs=4 * x.std(axis=0).max() / math.sqrt(len(x)))
    if name in ("2CDT", "2CHT"):
        distance = 4 * math.sqrt(2 if name == "2CDT" else 1)
        assert right == pytest.approx(NormalDist().cdf(distance / 3), abs=0.0085)


NOISY = {"sea": 0.1, "hyperplane_staged": 0.05, "hyperplane_rotating": 0.05, "stagger": 0.2, "sine": 0.2, "mixed": 0.2}


@pytest.mark.parametrize("name", NOISY)
def test_labels_are_clean_unless_noise_is_asked_for(name: str) -> None:
    noise = NOISY[name]
    stream = opened(name, rows=900, noise=noise)
    clean, noisy = stream.holdout(500, 20_000, seed=2), stream.holdout(500, 20_000, seed=2, noisy=True)
    assert clean.X.tobytes() == noisy.X.tobytes()
    assert (clean.y != noisy.y).mean() == pytest.approx(noise, abs=4 * math.sqrt(noise / 20_000))
    assert same(opened(name, rows=900, noise=0).holdout(500, 20_000, seed=2), clean)


def test_regression_noise_too() -> None:
    stream = opened("hyperplane_regression")
    clean, noisy = stream.holdout(700, 5000, seed=2), stream.holdout(700, 5000, seed=2, noisy=True)
    off = noisy.y - clean.y
    assert np.abs(off).max() == pytest.approx(0.1, abs=0.001)
    assert off.std() == pytest.approx(0.2 / math.sqrt(12), rel=0.05)


def counting(sample: bool, memory: int) -> tuple[GeneratorSpec, list[int]]:
    """Return a generator in plain Python, and the list of the rows that it has made."""
    drawn_rows: list[int] = []

    def fill(_values: Any, _rng: Any, _memory: Array, start: int, X: Array, y: Array) -> None:
        drawn_rows.extend(range(start, start + len(y)))
        X[:], y[:] = 0.0, 0.0

    def draw_zeros(_values: Any, _rng: Any, _memory: Array, _row: int, X: Array, y: Array) -> None:
        X[:], y[:] = 0.0, 0.0

    options = (option("rows", 30_000, "integer", low=1),)
    recipe = GeneratorSpec("counting", "", "", options, lambda _: (2, 1), fill, memory=lambda _: memory)
    return (dataclasses.replace(recipe, sample=draw_zeros) if sample else recipe), drawn_rows


def test_ascending_rows_make_the_stream_once_and_a_lower_row_starts_over() -> None:
    recipe, drawn_rows = counting(sample=True, memory=1)
    stream = Generator(recipe, 1, {})
    for row in (0, 0, 999, 1000, 20_000, 29_999, 29_999):
        stream.holdout(row, 5, seed=1)
    assert drawn_rows == list(range(30_000))
    drawn_rows.clear()
    stream.holdout(10, 5, seed=1)
    assert drawn_rows == list(range(11))


def test_a_concept_known_from_the_row_number_needs_no_earlier_rows() -> None:
    recipe, drawn_rows = counting(sample=True, memory=0)
    Generator(recipe, 1, {}).holdout(29_999, 5, seed=1)
    assert drawn_rows == []


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ((50_000, 10, 1), "sea: a holdout row must be from 0 to 49999, got 50000"),
        ((-1, 10, 1), "sea: a holdout row must be from 0 to 49999, got -1"),
        ((0, 0, 1), "sea: holdout rows must be at least 1, got 0"),
        ((0, 10, -1), "sea: seed must be a whole number from 0 to 2^64 - 1, got -1"),
        ((0, 10, 2**64), f"sea: seed must be a whole number from 0 to 2^64 - 1, got {2**64}"),
    ],
)
def test_a_wrong_argument_is_refused_in_one_sentence(arguments: tuple[int, int, int], sentence: str) -> None:
    with pytest.raises(UsageFailure) as failure:
        opened("sea").holdout(*arguments)
    assert str(failure.value) == sentence


def test_a_generator_without_holdout_rows_is_refused() -> None:
    recipe, _ = counting(sample=False, memory=0)
    with pytest.raises(UsageFailure, match="counting has no holdout rows"):
        Generator(recipe, 1, {}).holdout(0, 1, seed=1)


@pytest.mark.parametrize("seed", [0, 2**63, 2**64 - 1])
def test_any_number_is_a_valid_seed(seed: int) -> None:
    assert opened("sea").holdout(49_999, 3, seed=seed).X.shape == (3, 3)
