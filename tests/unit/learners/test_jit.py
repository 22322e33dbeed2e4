"""Extensions of numba for kernels: words of eight bytes, kernels without reference counts."""

from __future__ import annotations

import re
import subprocess
import sys

import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numba.core import ir
from numba.core.errors import TypingError

from driftway.learners.engine.jit import fragment, kernel, kernel_without_refcounts, load8, store8, trailing_zeros
from driftway.learners.engine.kernel_cache import MARKS, SOURCES

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


@kernel_without_refcounts
def bare_sum(array):
    total = 0.0
    for value in array[1:]:
        total += value
    return total


@kernel_without_refcounts
def makes_an_array(n):
    return len(np.empty(n))


@kernel_without_refcounts
def returns_an_array(array):
    return array[1:]


@fragment
def clipped(value):
    return min(value, 9.0) if value > 0 else 0.0


@fragment
def clipped_sum(array):
    total = 0.0
    for value in array:
        total += clipped(value) if value != 4.0 else clipped(-value)
    return total


def sums(array, other):
    return clipped_sum(array) + clipped_sum(other) * clipped(other[0])


def instructions(function, array):
    """Return the instructions of a function's machine code, without the names of other functions."""
    compiled = numba.njit(error_model="numpy", _nrt=False)(function)
    compiled(array, array)
    code = compiled.inspect_asm(compiled.signatures[0])
    return [re.sub(r"_ZN\w+|\w*NumbaEnv\w*", "name", line) for line in code.splitlines() if re.match(r"\t\w", line)]


def test_names_that_are_not_copied_change_no_instruction(monkeypatch):
    ours = instructions(sums, np.arange(5.0))
    copied = []
    monkeypatch.delattr(ir.Scope, "__deepcopy__")
    monkeypatch.setattr(
        ir.Scope, "__reduce_ex__", lambda self, version: copied.append(self) or object.__reduce_ex__(self, version)
    )
    assert instructions(sums, np.arange(5.0)) == ours
    assert copied, "numba copies them no more: driftway.learners.engine.jit need not forbid it"


@pytest.mark.parametrize("kind", [int, np.uint64])
def test_word_is_the_eight_bytes_at_any_position_first_one_lowest(kind):
    for position in range(len(BYTES) - 7):
        expected = int.from_bytes(BYTES[position : position + 8].tobytes(), "little")
        assert int(read(BYTES, kind(position))) == expected
        out = np.zeros_like(BYTES)
        write(out, kind(position), np.uint64(expected))
        assert out[position : position + 8].tobytes() == BYTES[position : position + 8].tobytes()
        assert np.count_nonzero(out) == 8


@pytest.mark.parametrize("array", [np.zeros(9), np.zeros((2, 9), np.uint8), np.zeros(20, np.uint8)[::2]])
def test_words_are_of_gapless_bytes_only(array):
    with pytest.raises(Exception, match="load8"):
        read(array, 0)
    with pytest.raises(Exception, match="store8"):
        write(array, 0, np.uint64(1))


def test_nothing_is_written_to_what_is_read_only():
    with pytest.raises(Exception, match="store8"):
        write(BYTES, 0, np.uint64(1))


@settings(deadline=None)  # the first example compiles
@given(st.integers(0, 2**64 - 1))
def test_trailing_zeros(word):
    assert int(zeros(np.uint64(word))) == ((word & -word).bit_length() - 1 if word else 64)


def test_bare_kernel_reads_arrays_and_views_of_them():
    assert bare_sum(np.arange(5.0)) == 10.0


@pytest.mark.parametrize(("wrong", "argument"), [(makes_an_array, 3), (returns_an_array, np.arange(5.0))])
def test_bare_kernel_that_makes_or_returns_an_array_is_refused(wrong, argument):
    with pytest.raises(Exception, match=r"NRT required|[Oo]nly accept returning of array"):
        wrong(argument)


def test_files_with_pieces_of_kernels_count_for_the_cache():
    texts = {path.stem: path.read_bytes() for path in (SOURCES / "worker" / "wire").rglob("*.py")}
    for name in ("scanner", "decimals"):
        assert any(mark in texts[name] for mark in MARKS)


@kernel_without_refcounts
def product_and_sum(a, b, c):
    return a * b + c


@kernel_without_refcounts
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
        "from driftway.worker.stream.warm_up import compile_kernels as warm; warm(model_settings('dfop')); "
        "print('scipy.linalg' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False"]
