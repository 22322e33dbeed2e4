"""Kernels get a memory by its address: its fields, those of nested ones and of members, and items of arrays."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any, NamedTuple

import numba
import numpy as np
import pytest

from driftway.learners.engine.jit import fragment, kernel, member
from driftway.learners.engine.kernel_cache import name_of
from driftway.learners.engine.memory_types import Memory, indexed
from driftway.learners.engine.state import Array, State
from driftway.learners.engine.state_layout import as_views, field, fields_of, group_views, part


class Inner(NamedTuple):
    """Nested memory."""

    least: Array = field("f8[1]", "one")
    table: Array = field("i8[2, K]", "two axes")


class Outer(NamedTuple):
    """Memory with a nested one."""

    weight: Array = field("f8[K]", "weights")
    inner: Any = part(Inner, "nested")


SIZES = {"K": 3}


def outer():
    memory = as_views(Outer, State(fields_of(Outer, SIZES)))
    memory.weight[:] = [1.5, 2.5, 4.0]
    memory.inner.least[:] = 8.0
    memory.inner.table[:] = [[1, 2, 3], [4, 5, 6]]
    return memory


def stacked(count):
    """Return `count` memories as ensembles keep them: a member's arrays lie together, so those of all have gaps."""
    state = State(fields_of(Outer, SIZES))
    words = np.zeros((count, state.nbytes // 8))
    views = {}
    for name in state:
        dtype, shape = state.fields[name]
        at = state.start(name) // 8
        size = state[name].nbytes // 8
        views[name] = words[:, at : at + size].view(dtype).reshape(count, *shape)
    views["weight"][:] = np.arange(count * 3).reshape(count, 3)
    views["inner.table"][:] = np.arange(count * 6).reshape(count, 2, 3)
    return group_views(Outer, views)


@kernel
def total(memory):
    found = 0.0
    for k in range(memory.weight.shape[0]):
        found += memory.weight[k] * memory.inner.table[1, k]
    return found + memory.inner.least[0]


@kernel
def total_of_inner(inner):
    least, table = inner
    return least[0] + table[0, 0]


@kernel
def passed_on(memory):
    return total(memory) + total_of_inner(memory.inner)


@kernel
def scaled(memory, factor):
    for k in range(memory.weight.shape[0]):
        memory.weight[k] *= factor
    memory.inner.table[0, 0] += 1


@fragment
def first_of(one):
    return one.weight[0] + one.inner.table[1, 2]


@kernel
def of_members(memory, out):
    for e in range(out.shape[0]):
        one = member(memory, e)
        out[e] = first_of(one) + total_of_inner(one.inner)


def test_a_memory_has_its_own_numba_type():
    kind = numba.typeof(outer())
    assert isinstance(kind, Memory)
    assert isinstance(kind.types[1], Memory)
    assert [one.ndim for one in kind.types[1].types] == [1, 2]


def test_kernels_read_fields_of_a_memory_and_of_nested_ones():
    assert total(outer()) == 1.5 * 4 + 2.5 * 5 + 4.0 * 6 + 8.0
    assert total_of_inner(outer().inner) == 9.0
    assert passed_on(outer()) == total(outer()) + 9.0


def test_each_call_sees_the_arrays_that_it_was_given():
    first, second = outer(), outer()
    second.weight[:] = 0.0
    assert [total(one) for one in (first, second, first)] == [total.py_func(one) for one in (first, second, first)]


def test_kernels_write_to_the_arrays():
    memory = outer()
    scaled(memory, 2.0)
    assert memory.weight.tolist() == [3.0, 5.0, 8.0]
    assert memory.inner.table.tolist() == [[2, 2, 3], [4, 5, 6]]


def test_a_member_is_read_from_arrays_with_gaps():
    memories, out = stacked(4), np.empty(4)
    of_members(memories, out)
    assert out.tolist() == [
        memories.weight[e, 0]
        + memories.inner.table[e, 1, 2]
        + memories.inner.least[e, 0]
        + memories.inner.table[e, 0, 0]
        for e in range(4)
    ]


@kernel
def members_side_by_side(memory, out):
    """Hold members that the same line found, while it finds the next."""
    last = member(memory, 0)
    for e in range(out.shape[0]):
        one = member(memory, e)
        out[e] = 10.0 * last.weight[0] + one.weight[0]
        last = one


def test_a_member_stays_the_same_while_the_next_is_found():
    out = np.empty(4)
    members_side_by_side(stacked(4), out)
    assert out.tolist() == [0.0, 3.0, 36.0, 69.0]


@kernel
def items(matrix, flags, i, j, out):
    out[0] = matrix[i, j]
    out[1] = matrix[i][j]
    out[2] = matrix[-1, -2]
    out[3] = matrix[-1][0]
    row = matrix[i]
    out[4] = row[j] + row.shape[0] + row.size + row.strides[0]
    matrix[i, j] = 7
    matrix[i][0] = -1.0
    flags[i] = not flags[i]
    out[5] = 1.0 if flags[i] else 0.0
    for value in matrix[0]:
        out[6] += value


@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "i4"])
@pytest.mark.parametrize("shape", [(3, 4), (2, 3, 4)])
def test_items_and_rows_equal_those_of_numpy(dtype, shape):
    found, expected = [], []
    for run, results in ((items, found), (items.py_func, expected)):
        matrix, flags, out = np.arange(np.prod(shape)).reshape(shape).astype(dtype), np.zeros(3, np.bool_), np.zeros(8)
        block = matrix if matrix.ndim == 2 else matrix[1]
        run(block, flags, np.int64(1), np.uint8(2), out)
        results += [out.tolist(), matrix.tolist(), flags.tolist()]
    assert found == expected


@kernel
def third_of(array, i):
    return array[i, 3]


def test_bounds_are_checked_if_numba_boundscheck_is_set():
    code = (
        "import numpy as np; from tests.unit.learners.test_memory_types import third_of;third_of(np.zeros((2, 3)), 0)"
    )
    variables = {**os.environ, "NUMBA_BOUNDSCHECK": "1"}
    ended = subprocess.run([sys.executable, "-c", code], env=variables, capture_output=True, text=True, check=False)
    assert ended.returncode == 1
    assert "IndexError: index is out of bounds" in ended.stderr


def test_a_member_gets_another_kernel_than_a_memory_whose_fields_have_the_same_types():
    """Its value has an index beside the address: code for the one crashes with the other."""

    def any_function(memory):
        return memory

    memory, one_of_two = numba.typeof(outer()), indexed(numba.typeof(stacked(2)))
    assert memory.types[0] == one_of_two.types[0]
    assert name_of(any_function, (memory,)) != name_of(any_function, (one_of_two,))
