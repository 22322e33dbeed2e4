"""The contract of every learner, one function per promise; each takes a case and asserts.

A case makes learners (`make(d, n_classes)`), so that `test_suite_can_fail` can pass in faulty learners.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import sys
from collections.abc import Callable, Iterable, Iterator
from functools import cache

import numpy as np
import pytest
from numba.core.types import unliteral

from driftway.learners.engine.subroutines import CompiledFunction
from driftway.learners.learner import DIGEST_BYTES, MAGIC, Learner, SnapshotMismatch
from driftway.learners.metrics.prequential import predicted_class
from driftway.learners.registry import find
from tests.conformance.rows import hostile, rows
from tests.conformance.table import ROWS, Case
from tests.support.oracle.protocol import run

N, D = 240, 5

SIZES = (300, 3, 0.0), (N, 1, 0.1), (N, 6, 0.1), (120, 14, 0.1)
"""Rows, features and unlabelled share for the comparison with an oracle, which is plain Python and slow: windows and
budgets are full long before row 120, and epochs of up to 150 rows restart within 240. From 13 features on, matrices are
multiplied by another algorithm.
"""
SHORTER_SIZES = (40, 1, 0.1), (N, 6, 0.1), (30, 14, 0.1)
"""By default; for `costly_oracle`, whose oracles take seconds for each of `SIZES`, without the first one."""
ONE_SIZE, FEW_ROWS = (N, 6, 0.1), (60, 6, 0.1)
"""Enough for a variant of a kernel that was compared at more sizes: it gets other numbers. With the standardiser too,
which gives other numbers to a learner that is compared without it.
"""


def scores(learner: Learner, X: np.ndarray, y: np.ndarray, cuts: tuple[int, ...] = ()) -> np.ndarray:
    """Return prequential scores, with the rows split into batches at `cuts`."""
    score = np.full((len(X), learner.n_scores), np.nan)
    X, edges = np.ascontiguousarray(X), [0, *cuts, len(X)]
    for start, end in itertools.pairwise(edges):
        learner.predict_then_update(X[start:end], y[start:end], score[start:end])
    return score


def same(a: np.ndarray, b: np.ndarray) -> bool:
    """Return whether two arrays are equal bit for bit."""
    return a.tobytes() == b.tobytes()


def memory(learner: Learner) -> bytes:
    return learner.state.memory.tobytes()


def data(case: Case, n: int = N, d: int = D, unlabelled: float = 0.2) -> tuple[np.ndarray, np.ndarray]:
    return case.formed(rows(case.kind, n, d, 4, unlabelled))


EVERY_ROW = tuple(range(1, N))


def split_invariant(case: Case) -> None:
    rng = np.random.default_rng(0)
    some = [tuple(sorted(rng.choice(np.arange(0, N), 9).tolist())) for _ in range(6)]
    same_when_cut(case, [EVERY_ROW, (N // 2,), *some])


def split_at_every_row(case: Case) -> None:
    same_when_cut(case, [EVERY_ROW])


def same_when_cut(case: Case, places_of_cuts: Iterable[tuple[int, ...]]) -> None:
    X, y = data(case)
    uncut = case.make(D)
    expected = scores(uncut, X, y)
    for cuts in places_of_cuts:
        cut = case.make(D)
        assert same(scores(cut, X, y, cuts), expected), f"other scores when cut at {cuts}"
        assert memory(cut) == memory(uncut), f"other state when cut at {cuts}"


def resume_identical(case: Case) -> None:
    X, y = data(case)
    uninterrupted = case.make(D)
    expected = scores(uninterrupted, X, y)
    for first, second in [(0, 1), (17, 150), (101, 102), (239, 240)]:
        learner = case.make(D)
        parts = [scores(learner, X[:first], y[:first])]
        for start, end in [(first, second), (second, N)]:
            blob = learner.snapshot()
            learner = case.make(D)
            learner.restore(blob)
            assert learner.snapshot() == blob
            parts.append(scores(learner, X[start:end], y[start:end]))
        assert same(np.concatenate(parts), expected)
        assert memory(learner) == memory(uninterrupted)


def moves_with_its_memory(case: Case) -> None:
    X, y = data(case)
    unmoved = case.make(D)
    expected = scores(unmoved, X, y)
    moved = case.make(D)
    head = scores(moved, X[:100], y[:100])
    arena = np.full(moved.state.nbytes // 8 + 2, np.nan)
    moved.move_state_to(arena[1:-1].view(np.uint8))
    assert same(np.concatenate([head, scores(moved, X[100:], y[100:])]), expected)
    assert arena[1:-1].tobytes() == memory(unmoved), "the state does not live in the attached memory"
    assert np.isnan(arena[[0, -1]]).all()


def no_label_leak(case: Case) -> None:
    X, y = data(case)
    expected = scores(case.make(D), X, y)
    other = np.roll(y, 1) if case.kind != "binary" else 1.0 - y
    for i in [0, 1, 2, 3, 10, 50, 119, 120, 121, N - 1]:
        for tail in (other, np.full(N, np.nan)):
            changed = np.concatenate([y[:i], tail[i:]])
            got = scores(case.make(D), X, changed)
            assert same(got[: i + 1], expected[: i + 1]), f"a score up to row {i} knew a label from row {i} on"


def unlabelled_is_pure(case: Case) -> None:
    X, y = data(case)
    learner = case.make(D)
    scores(learner, X, y)
    before = memory(learner)
    strange = np.concatenate([X, case.formed(hostile(case.kind, 200, D))[0]])
    got = scores(learner, strange, np.full(len(strange), np.nan))
    assert memory(learner) == before
    predicted = np.empty_like(got)
    learner.predict(strange, predicted)
    assert memory(learner) == before
    assert same(predicted, got)
    assert np.isfinite(got).all()


def inputs_untouched(case: Case) -> None:
    X, y = data(case)
    X_before, y_before = X.copy(), y.copy()
    learner = case.make(D)
    expected = scores(learner, X, y)
    assert same(X, X_before)
    assert same(y, y_before)
    X.flags.writeable = y.flags.writeable = False
    assert same(scores(case.make(D), X, y), expected)


def oracle_equal(case: Case) -> None:
    equal_oracle(case, SIZES)


def oracle_equal_shorter(case: Case) -> None:
    equal_oracle(case, SHORTER_SIZES[1:] if case.row.costly_oracle else SHORTER_SIZES)


def oracle_equal_once(case: Case) -> None:
    equal_oracle(case, [FEW_ROWS if case.standardize else ONE_SIZE])


def equal_oracle(case: Case, sizes: Iterable[tuple[int, int, float]]) -> None:
    for n, d, unlabelled in sizes:
        X, y = data(case, n, d, unlabelled)
        got = scores(case.make(d), X, y)
        expected = np.array(run(case.oracle(d), X.tolist(), y.tolist()))
        if case.row.exact:
            assert same(got, expected + 0.0)
        else:
            np.testing.assert_allclose(got, expected, rtol=1e-9, atol=1e-9)


def seed_deterministic(case: Case) -> None:
    X, y = data(case)
    np.random.seed(5)  # noqa: NPY002 - the global generator must stay untouched
    before = np.random.get_state()[1].tobytes()  # noqa: NPY002
    first, second = case.make(D), case.make(D)
    assert same(scores(first, X, y), scores(second, X, y))
    assert memory(first) == memory(second)
    assert np.random.get_state()[1].tobytes() == before  # noqa: NPY002


def hostile_rows(case: Case) -> None:
    finite_on_hostile(case, 4000)


def hostile_rows_shorter(case: Case) -> None:
    finite_on_hostile(case, 1000)


def finite_on_hostile(case: Case, n: int) -> None:
    for d in (6, 14):
        X, y = case.formed(hostile(case.kind, n, d, case.classes() or 1))
        learner = case.make(d)
        score = np.empty((100, learner.n_scores))
        for start in range(0, len(X), 100):
            learner.predict_then_update(X[start : start + 100], y[start : start + 100], score)
            assert np.isfinite(score).all()
            for name in learner.state:
                values = learner.state[name]
                assert np.isfinite(values.astype(float)).all(), f"{name} is not finite after row {start + 100}"
                if name in case.row.symmetric:
                    sound(name, values, values > 0.0)
                elif name in case.row.semidefinite:
                    sound(name, values, values >= 0.0)


def sound(name: str, values: np.ndarray, fit: np.ndarray) -> None:
    """Assert that a matrix, or each of a stack, is bitwise symmetric, and `fit` is true on its whole diagonal.

    An array that is not square holds one or more diagonals only.
    """
    if values.ndim >= 2 and values.shape[-1] == values.shape[-2]:
        assert same(values, np.ascontiguousarray(np.swapaxes(values, -1, -2))), f"{name} is not symmetric"
        fit = np.diagonal(fit, axis1=-2, axis2=-1)
    assert fit.all(), f"{name} is not positive"


def one_class_only(case: Case) -> None:
    """If all labels are the same class, the last rows are predicted as that class, outliers too."""
    X, _ = data(case)
    for label in range(case.classes() or 2):
        learner = case.make(D)
        score = scores(learner, X, np.full(N, float(label)))
        assert np.isfinite(score).all()
        able = getattr(learner.parameters, "intercept", True)  # without one, it cannot learn a constant
        if case.kind != "regression" and able:
            last = predicted_class(score, learner.kind)[-50:]
            assert (last == label).all(), f"all {N} labels were {label}, the last 50 predictions are {last}"


def fixed_size(case: Case) -> None:
    compiled = {
        name: set(kernel.signatures) for name, kernel in all_kernels()
    }  # by earlier tests, with their own types
    for d, n_classes in [(1, 3), (2, 5), (9, 4)]:
        X, y = case.formed(rows(case.kind, 60, d, n_classes))
        learner = case.make(d, n_classes)
        size = len(learner.snapshot())
        layout = {name: (learner.state[name].dtype, learner.state[name].shape) for name in learner.state}
        scores(learner, X, y, (20, 21))
        assert len(learner.snapshot()) == size
        assert {n: (learner.state[n].dtype, learner.state[n].shape) for n in learner.state} == layout
        assert all(learner.state[n].base is not None for n in learner.state)
        kernel = getattr(learner, "_kernel", None)  # a wrapper has no kernels of its own
        assert len(getattr(kernel, "signatures", [])) <= 1, f"compiled for {kernel.signatures}"
    for name, kernel in all_kernels():
        before = compiled.get(name, set())
        if len(kernel.signatures) > len(before) + 1:
            # Constants in the source may have specialised machine code; sizes that depend on the data may not.
            more = {tuple(map(unliteral, one)) for one in kernel.signatures} - {
                tuple(map(unliteral, x)) for x in before
            }
            assert len(more) <= 1, f"{name} was compiled for {more}"


def all_kernels() -> list[tuple[str, CompiledFunction]]:
    """Return each kernel of the learners' modules that are loaded, with its name."""
    return kernels_in(tuple(name for name in list(sys.modules) if name.startswith("driftway.learners")))


@cache
def kernels_in(modules: tuple[str, ...]) -> list[tuple[str, CompiledFunction]]:
    """Return all kernels of modules by name; cached, as it checks some 10,000 objects."""
    return [
        (f"{name}.{kernel.__name__}", kernel)
        for name in modules
        for kernel in vars(sys.modules[name]).values()
        if isinstance(kernel, CompiledFunction)
    ]


def snapshot_guard(case: Case) -> None:
    guarded(case, places, strangers(case))


def snapshot_guard_shorter(case: Case) -> None:
    guarded(case, few_places, few_strangers(case))


def guarded(
    case: Case, places: Callable[[bytes, np.random.Generator], list[int]], others: Iterable[tuple[bytes, str]]
) -> None:
    X, y = data(case, d=2)
    learner, other = case.make(2), case.make(2)
    scores(learner, X, y)
    blob, before = learner.snapshot(), memory(other)

    def refused(bad: bytes, what: str) -> None:
        with pytest.raises(SnapshotMismatch):
            other.restore(bad)
        assert memory(other) == before, f"{what} changed the state"

    rng = np.random.default_rng(1)
    for end in places(blob, rng):
        refused(blob[:end], f"truncation at {end}")
    for place in places(blob, rng):
        flipped = bytearray(blob)
        flipped[place] ^= 1 << int(rng.integers(0, 8))
        refused(bytes(flipped), f"a flipped bit in byte {place}")
    refused(blob + b"\0", "a byte too many")
    for bad in (signed(b"DWL0" + blob[4:-DIGEST_BYTES]), signed(MAGIC + b"\xff\xff\0\0{}"), signed(MAGIC)):
        refused(bad, "another format")
    body = blob[:-DIGEST_BYTES]
    refused(signed(body + bytes(8)), "a longer state")
    refused(signed(body[:-8]), "a shorter state")
    for stranger in others:
        refused(*stranger)
    other.restore(blob)
    assert memory(other) == memory(learner)


def places(blob: bytes, rng: np.random.Generator) -> list[int]:
    """Return all positions of a short snapshot, or both ends and some between of a long one: one digest covers all."""
    n = len(blob)
    if n < 1000:
        return list(range(n))
    step = 1 + n // 100_000  # each position needs a digest of up to 10 MB
    return [*range(0, 500, step), *rng.integers(500, n - 200, 300 // step).tolist(), *range(n - 1, n - 201, -step)]


def few_places(blob: bytes, rng: np.random.Generator) -> list[int]:
    """Return some positions of a snapshot: both ends and some in between."""
    n = len(blob)
    return [*range(8), *rng.integers(8, n, 24).tolist(), *range(n - 8, n)]


def signed(body: bytes) -> bytes:
    """Return `body` with a valid digest."""
    return body + hashlib.blake2b(body, digest_size=DIGEST_BYTES).digest()


def strangers(case: Case) -> Iterator[tuple[bytes, str]]:
    """Yield snapshots that must be refused, and what they are: of all other learners, and of other variants."""
    yield from (first_snapshot(row.name) for row in ROWS.values() if row is not case.row)
    yield from variants(case)


def few_strangers(case: Case) -> Iterator[tuple[bytes, str]]:
    """Yield snapshots that must be refused: of the next learners in the table, which resemble it, and of variants."""
    names = list(ROWS)
    place = names.index(case.row.name)
    yield from (first_snapshot(names[(place + step) % len(names)]) for step in range(1, 9))
    yield from variants(case)


def variants(case: Case) -> Iterator[tuple[bytes, str]]:
    """Yield snapshots of the same learner with other parameters or sizes, which must be refused, and what they are."""
    found = [case.make(3)] if case.row.width(3) != case.row.width(2) else []
    if case.standardize:
        found.append(Case(case.row, case.kind, case.parameters).make(2))
    if case.kind == "multiclass":
        found.append(case.make(2, 5))
    if case.given:
        found.append(Case(case.row, case.kind, standardize=case.standardize).make(2))
    yield from map(described_snapshot, found)


@cache
def first_snapshot(name: str) -> tuple[bytes, str]:
    """Return a new learner's snapshot, and what it is; cached, as every learner has to refuse it."""
    row = ROWS[name]
    return described_snapshot(Case(row, find(name).tasks[0], json.dumps(dict(row.variants[0]))).make(2))


def described_snapshot(learner: Learner) -> tuple[bytes, str]:
    """Return a snapshot, and what it is."""
    return learner.snapshot(), f"a snapshot of {learner.identity()}"


CHECKS = (
    split_invariant,
    resume_identical,
    moves_with_its_memory,
    no_label_leak,
    unlabelled_is_pure,
    inputs_untouched,
    oracle_equal,
    seed_deterministic,
    hostile_rows,
    one_class_only,
    fixed_size,
    snapshot_guard,
)
