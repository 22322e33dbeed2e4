"""The one place that knows how kernels are compiled.

Every kernel in the project is decorated with :func:`kernel` or :func:`bare_kernel`. No `fastmath`: it reorders sums
and drops the NaN checks, so a recovered run would differ from an uninterrupted one in the last bits. No `parallel`:
thread timing must not decide an order of operations. `nogil` lets the Kafka client's threads run on.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import logging
import os
import tempfile
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numba
from numba.core import cgutils
from numba.core.caching import CompileResultCacheImpl, FunctionCache, IndexDataCacheFile, UserProvidedCacheLocator
from numba.extending import intrinsic

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

F = TypeVar("F", bound=Callable[..., Any])

SOURCES = Path(__file__).resolve().parents[1]
"""The folder that holds every package with kernels."""

MARKS = b"@kernel", b"@bare_kernel", b"@fragment"
"""What a file's text has if kernels, or pieces of them, are in it."""

DIGEST_BYTES = 16
"""At the end of each file in the cache."""


def _cache_folder() -> Path:
    """Where machine code is kept: a folder named after all kernels' sources.

    numba's own cache looks at the file of the called kernel only. After a change in a kernel that it inlines
    (an upgrade, a pull) it would go on running the old code, and a recovered run would differ from the first.
    """
    digest = hashlib.blake2b(digest_size=8)
    for package in ("learners", "producers", "worker"):
        for file in sorted((SOURCES / package).rglob("*.py")):
            text = file.read_bytes()
            if any(mark in text for mark in MARKS):
                digest.update(text)
    home = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    above = os.environ.get("NUMBA_CACHE_DIR") or os.path.join(home, "driftway")
    return Path(above) / f"kernels-{digest.hexdigest()}"


FOLDER = _cache_folder()


def _keep_code() -> bool:
    """Point numba at the cache; False if nothing can be written there: every process compiles for itself."""
    try:
        FOLDER.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=FOLDER).close()
    except OSError as error:
        _warn(error.strerror)
        return False
    numba.config.CACHE_DIR = str(FOLDER)  # type: ignore[attr-defined]
    return True


@cache
def _warn(why: str) -> None:
    """Say, once, that kernels are not kept."""
    logging.getLogger("driftway").warning(
        "compiled kernels cannot be kept in %s, so that every start compiles them: %s; NUMBA_CACHE_DIR moves it",
        FOLDER,
        why,
    )


def _digest(content: bytes) -> bytes:
    return hashlib.blake2b(content, digest_size=DIGEST_BYTES).digest()


def _whole(path: str) -> bool:
    """Whether a file is there, and ends with the digest of what stands before it."""
    try:
        content = Path(path).read_bytes()
    except OSError:
        return False
    return content[-DIGEST_BYTES:] == _digest(content[:-DIGEST_BYTES])


class _Files(IndexDataCacheFile):
    """A kernel's files in the cache; one that is not whole, as a power cut leaves it, counts as absent.

    numba believes them: half a file ended the process with a traceback, and other bytes within machine code would be
    run.
    """

    @contextlib.contextmanager
    def _open_for_write(self, filepath: str) -> Iterator[io.BytesIO]:
        with super()._open_for_write(filepath) as file:
            content = io.BytesIO()
            yield content
            file.write(content.getvalue() + _digest(content.getvalue()))

    def _load_index(self) -> Any:
        return super()._load_index() if _whole(self._index_path) else {}  # type: ignore[no-untyped-call]

    def _load_data(self, name: str) -> Any:
        if not _whole(self._data_path(name)):  # type: ignore[no-untyped-call]
            raise FileNotFoundError(name)  # what numba takes for "compile it"
        return super()._load_data(name)  # type: ignore[no-untyped-call]


class _Place(CompileResultCacheImpl):
    """Only the folder that numba was pointed at: beside the sources, its next choice, code of older ones may lie."""

    _locator_classes: Any = [UserProvidedCacheLocator]  # noqa: RUF012


class _Cache(FunctionCache):
    """The machine code of one kernel for later processes; a disk that fails costs the keeping, never the kernel."""

    _impl_class = _Place

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)  # type: ignore[no-untyped-call]
        place = self._impl
        self._cache_file = _Files(self._cache_path, place.filename_base, place.locator.get_source_stamp())  # type: ignore[no-untyped-call]

    def save_overload(self, sig: Any, data: Any) -> None:
        try:
            super().save_overload(sig, data)  # type: ignore[no-untyped-call]
        except OSError as error:
            _warn(error.strerror)


KEEP_CODE = _keep_code()


def _kept(compiled: Any) -> Any:
    """Give a kernel its place in the cache, for which numba has no public door.

    Without a cache, or with NUMBA_DISABLE_JIT, which leaves plain functions, there is nothing to do.
    """
    if KEEP_CODE and hasattr(compiled, "py_func"):
        try:
            compiled._cache = _Cache(compiled.py_func)  # noqa: SLF001
        except RuntimeError:  # numba found no place, and does not say why
            _warn("no file can be made there")
    return compiled


def kernel(function: F) -> F:
    """Compile `function` on first call, keep the machine code for later processes, release the GIL."""
    return cast(F, _kept(numba.njit(nogil=True, fastmath=False, error_model="numpy")(function)))


def bare_kernel(function: F) -> F:
    """Compile as `kernel` does, but without reference counts: it must neither make nor return an array.

    Every fragment pasted into a kernel takes a reference to each array that it is given, by atomic instructions that
    numba finds no reason to leave out of loops. They took two thirds of the scanner's time (0.23 against 0.07 µs a
    message). The caller holds the arrays all the while. A kernel that makes an array is refused by the compiler.
    """
    njit: Any = numba.njit  # its annotations leave `_nrt` out
    return cast(F, _kept(njit(nogil=True, fastmath=False, error_model="numpy", _nrt=False)(function)))


def fragment(function: F) -> F:
    """A piece of kernels, pasted into each of them: for scanners that call it per byte or per number.

    A call passes arrays with their reference counts, which cost more than reading a number does. In a `kernel` pasting
    keeps only some of these out of loops; see `bare_kernel`.
    """
    return cast(F, numba.njit(nogil=True, fastmath=False, error_model="numpy", inline="always")(function))


def _is_text(array: Any) -> bool:
    """Whether a numba type is that of bytes without gaps: u1[n], C order."""
    return isinstance(array, numba.types.Array) and (array.dtype, array.ndim, array.layout) == (numba.types.u1, 1, "C")


def _word_at(context: Any, builder: Any, array: Any, position: Any) -> Any:
    """Pointer to the 8 bytes of array[position:]; checks bounds where NUMBA_BOUNDSCHECK asks for it."""
    if context.enable_boundscheck:
        check: Any = cgutils.do_boundscheck
        for place in (position, builder.add(position, position.type(7))):
            check(context, builder, place, builder.extract_value(array.shape, 0))
    word = context.get_value_type(numba.types.uint64)
    return builder.bitcast(builder.gep(array.data, [position]), word.as_pointer())


def _load8(typing_context: Any, array: Any, position: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        text = context.make_array(signature.args[0])(context, builder, arguments[0])
        loaded = builder.load(_word_at(context, builder, text, arguments[1]))
        loaded.align = 1
        return loaded

    word = numba.types.uint64
    return (word(array, word), generate) if _is_text(array) else None


def _store8(typing_context: Any, array: Any, position: Any, word: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        text = context.make_array(signature.args[0])(context, builder, arguments[0])
        stored = builder.store(arguments[2], _word_at(context, builder, text, arguments[1]))
        stored.align = 1
        return context.get_dummy_value()

    word_type = numba.types.uint64
    return (numba.types.void(array, word_type, word_type), generate) if _is_text(array) and array.mutable else None


def _trailing_zeros(typing_context: Any, word: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], cgutils.false_bit)

    return numba.types.uint64(numba.types.uint64), generate


load8 = cast("Callable[[NDArray[np.uint8], int | np.uint64], np.uint64]", intrinsic(_load8))
"""In kernels: the 8 bytes array[position:position + 8] as one word, the first byte lowest. Nothing checks bounds."""

store8 = cast("Callable[[NDArray[np.uint8], int | np.uint64, np.uint64], None]", intrinsic(_store8))
"""In kernels: write a word over array[position:position + 8], its lowest byte first. Nothing checks bounds."""

trailing_zeros = cast("Callable[[np.uint64], np.uint64]", intrinsic(_trailing_zeros))
"""In kernels: how many bits of a word lie below its lowest one; 64 for 0."""
