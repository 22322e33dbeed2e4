"""The cache of kernels' machine code for later processes, with checks of its contents.

numba has such a cache, but it checks the source file of the called kernel only, and does not verify the cached bytes.
Here the folder is named after the sources of all kernels (docs/decisions/0006), and each file ends with its digest:
after an upgrade or a power cut, or on a failing disk, a kernel is recompiled. Stale or damaged code never runs.
"""

import contextlib
import errno
import hashlib
import io
import logging
import os
import stat
import tempfile
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

# Set before numba is imported: the vector library's functions return different bits (docs/decisions/0021).
os.environ["NUMBA_DISABLE_INTEL_SVML"] = "1"

import numba
import numba.core.config
from numba.core.caching import CompileResultCacheImpl, FunctionCache, IndexDataCacheFile, UserProvidedCacheLocator

SOURCES = Path(__file__).resolve().parents[2]
"""The folder that holds every package with kernels."""

MARKS = b"@kernel", b"@kernel_without_refcounts", b"@fragment", b"@callback"
"""A source file that contains one of these has kernels or fragments in it."""

DIGEST_BYTES = 16
"""Length of the digest at the end of each file in the cache."""


def _cache_folder() -> tuple[Path, str]:
    """Return the cache folder, named after the sources of all kernels, and a digest of these files' paths and mtimes.

    numba's own cache checks the file of the called kernel only. After a change in a kernel that it inlines (an upgrade,
    a pull) it would keep running the old code, and a recovered run would differ from the first.
    """
    digest, files = hashlib.blake2b(digest_size=8), hashlib.blake2b(numba.__version__.encode(), digest_size=8)
    for package in ("learners", "producers", "worker"):
        for file in sorted((SOURCES / package).rglob("*.py")):
            text = file.read_bytes()
            if any(mark in text for mark in MARKS):
                digest.update(text)
                files.update(f"{file} {file.stat().st_mtime_ns}".encode())
    return _parent() / f"kernels-{digest.hexdigest()}", files.hexdigest()


def _parent() -> Path:
    """Return the folder above the cache; a relative one is ignored, since it would depend on where a process starts."""
    for variable, below in (("NUMBA_CACHE_DIR", ""), ("XDG_CACHE_HOME", "driftway")):
        if os.path.isabs(folder := os.environ.get(variable, "")):
            return Path(folder, below)
    home = os.path.expanduser("~")
    if os.path.isabs(home):
        return Path(home, ".cache", "driftway")
    return Path(tempfile.gettempdir(), f"driftway-{os.getuid()}")  # a user without a home, as in some containers


FOLDER, FILES = _cache_folder()


def _keep_code() -> bool:
    """Point numba at the cache; False if it cannot be used, so that every process compiles for itself."""
    try:
        FOLDER.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        FOLDER.mkdir(mode=0o700, exist_ok=True)
        _require_private(FOLDER.parent.stat(), stat.S_IWOTH)
        _require_private(FOLDER.lstat(), stat.S_IWGRP | stat.S_IWOTH)
        tempfile.TemporaryFile(dir=FOLDER).close()
    except OSError as error:
        _warn(error.strerror)
        return False
    # Before: a variable that has changed since numba was imported would make it read all variables again, and forget
    # the folder.
    numba.core.config.reload_config()  # type: ignore[no-untyped-call]
    numba.config.CACHE_DIR = str(FOLDER)  # type: ignore[attr-defined]
    return True


def _require_private(folder: os.stat_result, others: int) -> None:
    """Require that nobody else can have put files into a folder, or exchanged it: numba runs the code that it finds.

    Raises
    ------
    PermissionError
        It is a link, belongs to somebody else, or has one of the permissions `others`, without the sticky bit.
    """
    ours = stat.S_ISDIR(folder.st_mode) and folder.st_uid in (os.geteuid(), 0)
    if not ours or (folder.st_mode & others and not folder.st_mode & stat.S_ISVTX):
        raise PermissionError(errno.EPERM, "somebody else could write there")


@cache
def _warn(why: str) -> None:
    """Log once that kernels are not cached."""
    logging.getLogger("driftway").warning(
        "compiled kernels cannot be kept in %s, so that every start compiles them: %s; NUMBA_CACHE_DIR moves it",
        FOLDER,
        why,
    )


def _digest(content: bytes) -> bytes:
    return hashlib.blake2b(content, digest_size=DIGEST_BYTES).digest()


def _whole(path: str) -> bool:
    """Whether a file exists and ends with the digest of its contents before that."""
    try:
        content = Path(path).read_bytes()
    except OSError:
        return False
    return content[-DIGEST_BYTES:] == _digest(content[:-DIGEST_BYTES])


def _name(part: Any) -> str:
    """Return a name for a part of a kernel that is the same in every process: its module and name, or its value."""
    function = getattr(part, "py_func", part)
    if not callable(function):
        return repr(part)
    cells = getattr(function, "__closure__", None) or ()
    return f"{function.__module__}.{function.__qualname__}({', '.join(_name(cell.cell_contents) for cell in cells)})"


class _Files(IndexDataCacheFile):
    """A kernel's files in the cache; a damaged one, e.g. after a power cut, counts as absent.

    numba does not verify them: a truncated file ended the process with a traceback, and corrupt machine code would run.
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
            raise FileNotFoundError(name)  # makes numba compile it
        return super()._load_data(name)  # type: ignore[no-untyped-call]


class _Place(CompileResultCacheImpl):
    """Uses only the configured folder: numba's fallback, next to the sources, may hold code of older sources."""

    _locator_classes: Any = [UserProvidedCacheLocator]  # noqa: RUF012


class _Cache(FunctionCache):
    """The cached machine code of one kernel; if it cannot be written, the kernel still runs."""

    _impl_class = _Place

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)  # type: ignore[no-untyped-call]
        place = self._impl
        self._cache_file = _Files(self._cache_path, place.filename_base, place.locator.get_source_stamp())  # type: ignore[no-untyped-call]

    def _index_key(self, sig: Any, codegen: Any) -> Any:
        """As numba's key, but the functions in a kernel's closure enter by name: their pickles differ by process.

        Their source is covered by the folder's name.
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
    """Return the file whose existence means that the kernels for `what` are cached; None if there is no cache.

    numba also checks the mtime of a kernel's file, so a mark is valid only for these files and this numba version.
    """
    name = hashlib.blake2b(f"{FILES} {what}".encode(), digest_size=8).hexdigest()
    return FOLDER / f"{name}.compiled" if KEEP_CODE else None


def kept(compiled: Any) -> Any:
    """Attach the cache to a kernel; numba has no public interface for that.

    Does nothing without a cache, or with NUMBA_DISABLE_JIT, which leaves plain functions.
    """
    if KEEP_CODE and hasattr(compiled, "py_func"):
        try:
            compiled._cache = _Cache(compiled.py_func)  # noqa: SLF001
        except RuntimeError:  # numba found no usable folder and gives no reason
            _warn("no file can be made there")
    return compiled
