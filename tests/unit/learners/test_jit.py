"""Extensions of numba for kernels: words of eight bytes, kernels without reference counts."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numba.core.errors import TypingError

from driftway.learners.engine.jit import kernel, load8, store8, trailing_zeros

BYTES = np.frombuffer(bytes(range(1, 41)), np.uint8)


@kernel
def read(array, position):
    return load8(array, position)


@kernel
def write(array, position, word):
    store8(array, position, word)


@kernel
def zeros(word):
    return trailing_zeros(word)


@kernel
def sum_of_view(array):
    total = 0.0
    for value in array[1:]:
        total += value
    return total


@kernel
def makes_an_array(n):
    return len(np.empty(n))


@kernel
def returns_an_array(array):
    return array[1:]


@pytest.mark.parametrize("kind", [int, np.uint64])
def test_load8_and_store8_are_little_endian_at_any_position(kind):
    for position in range(len(BYTES) - 7):
        expected = int.from_bytes(BYTES[position : position + 8].tobytes(), "little")
        assert int(read(BYTES, kind(position))) == expected
        out = np.zeros_like(BYTES)
        write(out, kind(position), np.uint64(expected))
        assert out[position : position + 8].tobytes() == BYTES[position : position + 8].tobytes()
        assert np.count_nonzero(out) == 8


@pytest.mark.parametrize(
    "array",
    [
        np.zeros(20, np.uint8)[::2],
        pytest.param(np.zeros(9), marks=pytest.mark.slow),
        pytest.param(np.zeros((2, 9), np.uint8), marks=pytest.mark.slow),
    ],
)
def test_load8_and_store8_refuse_arrays_other_than_contiguous_bytes(array):
    with pytest.raises(Exception, match="load8"):
        read(array, 0)
    with pytest.raises(Exception, match="store8"):
        write(array, 0, np.uint64(1))


def test_store8_refuses_a_read_only_array():
    with pytest.raises(Exception, match="store8"):
        write(BYTES, 0, np.uint64(1))


@given(st.integers(0, 2**64 - 1))
def test_trailing_zeros_are_counted(word):
    assert int(zeros(np.uint64(word))) == ((word & -word).bit_length() - 1 if word else 64)


def test_kernels_read_arrays_and_views_of_them():
    assert sum_of_view(np.arange(5.0)) == 10.0


@pytest.mark.parametrize(("wrong", "argument"), [(makes_an_array, 3), (returns_an_array, np.arange(5.0))])
def test_a_kernel_that_makes_or_returns_an_array_is_refused(wrong, argument):
    with pytest.raises(Exception, match=r"NRT required|[Oo]nly accept returning of array"):
        wrong(argument)


@kernel
def product_and_sum(a, b, c):
    return a * b + c


@kernel
def products_and_sums(a, b, c):
    for i in range(a.shape[0]):
        c[i] = a[i] * b[i] + c[i]


def test_products_are_rounded_before_they_are_added():
    a, b, c = 1.0 + 2.0**-30, 1.0 - 2.0**-30, -1.0  # a b is 1 - 2^-60, which rounds to 1
    assert product_and_sum(a, b, c) == 0.0
    many = np.full(64, c)
    products_and_sums(np.full(64, a), np.full(64, b), many)
    assert many.tolist() == [0.0] * 64


def test_the_compilers_vector_library_is_off():
    code = "import driftway.learners.engine.jit, numba; print(numba.config.DISABLE_INTEL_SVML, numba.config.USING_SVML)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["1", "False"]


@kernel
def blas(a, b):
    return np.dot(a, b)


def test_a_kernel_with_blas_is_refused():
    """The order of its sums would depend on the processor."""
    with pytest.raises((TypingError, ImportError), match="BLAS"):
        blas(np.ones(3), np.ones(3))


def test_a_worker_loads_no_blas():
    code = (
        "import sys; from tests.unit.worker.rows import model_settings; "
        "from driftway.worker.stream.warm_up import compile_kernels as warm; warm(model_settings('dfop'), 'native'); "
        "print('scipy.linalg' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False"]
