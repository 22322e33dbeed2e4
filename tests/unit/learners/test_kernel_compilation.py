"""Where the compilation of kernels differs from numba's: loops, type inference, linking."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from numba.core import types
from numba.core.registry import cpu_target

from driftway.learners.engine.jit import fragment, kernel
from driftway.learners.engine.separate_kernels import Library
from driftway.learners.engine.subroutines import CompiledFunction
from driftway.learners.engine.type_inference import caching


@kernel
def up_to(n, out):
    count = 0
    for i in range(n):
        if i == 7:
            continue
        out[count] = i
        count += 1
        if count == 9:
            break
    return count


@kernel
def between(start, stop, out):
    count, last = 0, -100
    for i in range(start, stop):
        for k in range(i, stop):
            out[count] = 100 * i + k
            count += 1
        last = i
    return count + 10_000 * last


@kernel
def in_steps(start, stop, step, out):
    count = 0
    for i in range(start, stop, step):
        out[count] = i
        count += 1
    return count


@kernel
def one_range_twice(n, out):
    places = range(2, n)
    count = 0
    for i in places:
        for k in places:
            out[count] = 10 * i + k
            count += 1
    return count


@kernel
def alone(start, stop, out):
    count = 0
    for i in range(start, stop):
        out[count] = i
        count += 1
    return count


LEAST, MOST = np.iinfo(np.int64).min, np.iinfo(np.int64).max


@pytest.mark.parametrize(
    ("run", "arguments"),
    [
        *((up_to, (n,)) for n in (-3, 0, 1, 7, 8, 30, LEAST, np.int32(5), np.uint8(5), np.uint64(12))),
        *((between, given) for given in ((0, 0), (2, 6), (-3, 2), (5, 1))),
        *((between, given) for given in ((np.int32(-2), np.int32(3)), (np.int32(-2), np.int64(3)))),
        *((in_steps, given) for given in ((0, 10, 3), (10, 0, -3), (0, 10, -1), (3, 3, 1))),
        *((one_range_twice, (n,)) for n in (2, 5)),
        *((alone, given) for given in ((MOST - 2, MOST), (LEAST, LEAST + 2))),
    ],
)
def test_loops_over_ranges_equal_those_of_python(run: Any, arguments: tuple[Any, ...]) -> None:
    found, expected = np.zeros(40, np.int64), np.zeros(40, np.int64)
    with np.errstate(over="ignore"):
        assert run(*arguments, found) == run.py_func(*map(int, arguments), expected)
    assert found.tolist() == expected.tolist()


def test_a_step_of_zero_is_an_error() -> None:
    with pytest.raises(ValueError, match="must not be zero"):
        in_steps(0, 10, 0, np.zeros(40, np.int64))


@fragment
def half_of_first(x):
    return 0.5 * x[0]


@fragment
def first_caller(x):
    return half_of_first(x) + 1.0


@fragment
def second_caller(x):
    return half_of_first(x) * half_of_first(x)


def test_a_function_that_several_others_call_is_linked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    linked: Counter[str] = Counter()
    link = Library._get_module_for_linking

    def counted(library: Library) -> Any:
        linked[library.name] += 1
        return link(library)

    def both(x):
        return first_caller(x) + second_caller(x)

    monkeypatch.setattr(Library, "_get_module_for_linking", counted)
    assert CompiledFunction(both, inline=False)(np.full(1, 4.0)) == 7.0
    counts = {name.rpartition(".")[2]: count for name, count in linked.items()}
    assert [counts[name] for name in ("half_of_first", "first_caller", "second_caller")] == [1, 1, 1]


def test_the_type_of_an_operation_is_resolved_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: Counter[Any] = Counter()
    context: Any = cpu_target.typing_context
    resolve = context.resolve_function_type

    def counted(function: Any, args: Any, kws: Any) -> Any:
        asked[function, tuple(args)] += 1
        return resolve(function, args, kws)

    def sums(x, n):
        total = 0.0
        for i in range(n):
            total = total + x[i] * x[i] * x[i]
            total = total + x[i] * 3.5
        return total

    monkeypatch.setattr(context, "resolve_function_type", counted)
    caching.cache_clear()
    assert CompiledFunction(sums, inline=False)(np.full(2, 2.0), 2) == 30.0
    first = {key: n for key, n in asked.items() if isinstance(key[0], types.Function)}
    assert first
    assert CompiledFunction(sums, inline=False)(np.full(2, 2.0), 2) == 30.0
    assert {key: n for key, n in asked.items() if isinstance(key[0], types.Function)} == first
