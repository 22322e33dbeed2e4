"""Where kernels' machine code is kept for later processes, and what is believed of it.

numba keeps machine code itself, but looks at the called kernel's file only and believes every byte that it finds. Here
the folder is named after the sources of all kernels (docs/decisions/0006), and each file ends with a digest of itself:
after an upgrade or a power cut, or on a disk that fails, a kernel is compiled anew. It never runs other bits.
"""

import contextlib
import hashlib
import io
import logging
import os
import tempfile
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

# Before numba looks for it: the vector library's functions have bits of their own (docs/decisions/0021).
os.environ["NUMBA_DISABLE_INTEL_SVML"] = "1"

import numba
from numba.core.caching import CompileResultCacheImpl, FunctionCache, IndexDataCacheFile, UserProvidedCacheLocator

SOURCES = Path(__file__).resolve().parents[2]
"""The folder that holds every package with kernels."""

MARKS = b"@kernel", b"@kernel_without_refcounts", b"@fragment", b"@callback"
"""What a file's text has if kernels, or pieces of them, are in it."""

DIGEST_BYTES = 16
"""At the end of each file in the cache."""


def _cache_folder() -> tuple[Path, str]:
    """Where machine code is kept: a folder named after all kernels' sources; and a word for these very files.

    numba's own cache looks at the file of the called kernel only. After a change in a kernel that it inlines
    (an upgrade, a pull) it would go on running the old code, and a recovered run would differ from the first.
    """
    digest, files = hashlib.blake2b(digest_size=8), hashlib.blake2b(numba.__version__.encode(), digest_size=8)
    for package in ("learners", "producers", "worker"):
        for file in sorted((SOURCES / package).rglob("*.py")):
            text = file.read_bytes()
            if any(mark in text for mark in MARKS):
                digest.update(text)
                files.update(f"{file} {file.stat().st_mtime_ns}".encode())
    home = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    above = os.environ.get("NUMBA_CACHE_DIR") or os.path.join(home, "driftway")
    return Path(above) / f"kernels-{digest.hexdigest()}", files.hexdigest()


FOLDER, FILES = _cache_folder()


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


def _name(part: Any) -> str:
    """What tells a part of a kernel from others, in every process alike: where it is written, or a plain value."""
    function = getattr(part, "py_func", part)
    if not callable(function):
        return repr(part)
    cells = getattr(function, "__closure__", None) or ()
    return f"{function.__module__}.{function.__qualname__}({', '.join(_name(cell.cell_contents) for cell in cells)})"


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

    def _index_key(self, sig: Any, codegen: Any) -> Any:
        """As numba's, but a kernel made of others is known by their names: pickled, they differ in each process.

        What they do is in the folder's name.
        """
        code = hashlib.sha256(self._py_func.__code__.co_code).hexdigest()
        return sig, codegen.magic_tuple(), code, _name(self._py_func)

    def save_overload(self, sig: Any, data: Any) -> None:
        try:
            super().save_overload(sig, data)  # type: ignore[no-untyped-call]
        except OSError as error:
            _warn(error.strerror)


KEEP_CODE = _keep_code()


def mark_of(what: str) -> Path | None:
    """The file that says that the kernels for `what` are in the cache, once it has been made; None: nothing is kept.

    numba also looks at the time of a kernel's file: what a mark says, it says of these files and this numba only.
    """
    name = hashlib.blake2b(f"{FILES} {what}".encode(), digest_size=8).hexdigest()
    return FOLDER / f"{name}.compiled" if KEEP_CODE else None


def kept(compiled: Any) -> Any:
    """Give a kernel its place in the cache, for which numba has no public door.

    Without a cache, or with NUMBA_DISABLE_JIT, which leaves plain functions, there is nothing to do.
    """
    if KEEP_CODE and hasattr(compiled, "py_func"):
        try:
            compiled._cache = _Cache(compiled.py_func)  # noqa: SLF001
        except RuntimeError:  # numba found no place, and does not say why
            _warn("no file can be made there")
    return compiled
