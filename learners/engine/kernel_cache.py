"""The cache of kernels' machine code for later processes.

numba has such a cache, but it checks the source file of the called kernel only, trusts the bytes that it finds, and
lets processes that start together compile the same kernel. Here a file is named after the digest of all that its
machine code depends on (docs/decisions/0006), ends with the digest of its contents, and is written by one process while
others wait. Stale or damaged code never runs.
"""

import contextlib
import errno
import fcntl
import hashlib
import logging
import os
import pickle
import re
import stat
import sys
import tempfile
import time
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from driftway.learners.engine.dependencies import digest_of
from driftway.learners.engine.user_cache import user_cache

# Set before numba is imported: the vector library's functions return different bits (docs/decisions/0021).
os.environ["NUMBA_DISABLE_INTEL_SVML"] = "1"

import llvmlite.binding as llvm
import numba
import numba.core.config
from numba.core.compiler import CompileResult
from numba.core.registry import cpu_target
from numba.core.runtime.nrt import rtsys
from numba.core.serialize import dumps
from numba.core.types import BaseTuple

# A process that imported numba before must read the variable above.
numba.core.config.reload_config()  # type: ignore[no-untyped-call]

FORMAT = 3
"""Raised whenever the same function would be compiled to other machine code, or stored in another way."""
DIGEST_BYTES = 16
"""Length of the digest at the end of each file in the cache."""
MAX_WAIT_SECONDS = 120.0
"""How long to wait for a kernel that another process compiles, before it is compiled here as well."""
UNUSED_DAYS = 60
"""After so many days without use a file is deleted."""
WITHOUT_EFFECT = "NUMBA_CACHE_DIR", "NUMBA_NUM_THREADS"
"""numba's variables that do not change machine code."""
PREFIX = "driftway kernel "
"""Prefix of the symbols by which kernels call other kernels; the name in the cache follows."""
_LINKED: dict[str, Any] = {}
"""Name -> compiled kernel whose address the symbol has, which must not be deleted."""


class NotCached(Exception):
    """A kernel is not in the cache, and must not be compiled here, see `cached_only`."""


def _parent() -> Path:
    """Return the folder above the cache; a relative one is ignored, as by `user_cache`."""
    if os.path.isabs(folder := os.environ.get("NUMBA_CACHE_DIR", "")):
        return Path(folder)
    if (own := user_cache()) is not None:
        return own
    try:
        above = tempfile.gettempdir()
    except FileNotFoundError:  # nor a folder that can be written, as `_keep_code` then says
        above = "/tmp"  # noqa: S108
    return Path(above, f"driftway-{os.getuid()}")


def _choose(own: Path, shipped: Path) -> Path:
    """Return `shipped` if only that can be used: an image has kernels there for every user who may run it."""
    try:
        _require_usable(own)
    except OSError:
        with contextlib.suppress(OSError):
            if any(shipped.glob("*.kernel")):
                _require_usable(shipped)
                return shipped
    return own


def _keep_code() -> bool:
    """Make the folder; False if it cannot be used, so that every process compiles for itself."""
    try:
        _require_usable(FOLDER)
    except OSError as error:
        _warn(error.strerror)
        return False
    return True


def _require_usable(folder: Path) -> None:
    """Make a folder; require that it has kernels or can be written, and that nobody else can write there.

    Raises
    ------
    OSError
        It does not, or others can.
    """
    folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    folder.mkdir(mode=0o700, exist_ok=True)
    above, own = folder.parent.stat(), folder.lstat()
    # With the sticky bit, nobody can exchange another user's folder. But they can put files into it.
    _require_private(above, 0 if above.st_mode & stat.S_ISVTX else stat.S_IWOTH)
    _require_private(own, stat.S_IWGRP | stat.S_IWOTH)
    # One that cannot be written, as in an image whose files are read-only, serves for what is in it.
    if next(folder.glob("*.kernel"), None) is None:
        tempfile.TemporaryFile(dir=folder).close()


def _require_private(folder: os.stat_result, others: int) -> None:
    """Require that nobody else can have put files into a folder, or exchanged it: the code in it is executed.

    Raises
    ------
    PermissionError
        It is a link, belongs to somebody else, or has one of the permissions `others`.
    """
    ours = stat.S_ISDIR(folder.st_mode) and folder.st_uid in (os.geteuid(), 0)
    if not ours or folder.st_mode & others:
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


def _read(path: Path) -> bytes | None:
    """Return a file's contents; None if it is absent, or does not end with their digest, e.g. after a power cut."""
    try:
        content = path.read_bytes()
    except OSError:
        return None
    body = content[:-DIGEST_BYTES]
    return body if content[-DIGEST_BYTES:] == _digest(body) else None


def _write(path: Path, body: bytes) -> None:
    """Write a file so that nobody reads half of it."""
    file = tempfile.NamedTemporaryFile(dir=path.parent, delete=False)  # noqa: SIM115  (closed below)
    try:
        with file:  # a full disk may only show when it is closed
            file.write(body + _digest(body))
        os.replace(file.name, path)
    except BaseException:
        os.unlink(file.name)
        raise


def type_text(kind: Any) -> str:
    """Return a type of numba as text that says everything about it, the fields of NamedTuples included."""
    tuples: Any = BaseTuple
    if not isinstance(kind, tuples):
        return str(kind)
    fields, made = getattr(kind, "fields", ()), getattr(kind, "instance_class", tuple)
    # A member of several memories is passed in another way than a memory, though its fields have the same types.
    parts, indices = getattr(kind, "stacked", kind.types), getattr(kind, "indices", "")
    return f"{made.__module__}.{made.__qualname__} {fields} ({', '.join(map(type_text, parts))}){indices}"


@cache
def _machine() -> str:
    """Return a digest of everything but functions and types that decides about machine code."""
    variables = {key: value for key, value in os.environ.items() if key.startswith("NUMBA_")}
    chosen = sorted((key, value) for key, value in variables.items() if key not in WITHOUT_EFFECT)
    processor = cpu_target.target_context.codegen().magic_tuple()
    facts = f"{FORMAT} {numba.__version__} {sys.version_info[:2]} {chosen} {processor}"
    return hashlib.blake2b(facts.encode(), digest_size=4).hexdigest()


def name_of(function: Any, kinds: Any) -> str:
    """Return the name in the cache of a kernel for types of arguments; it says all that its machine code depends on."""
    # What is stored names the kernel's module, which must exist when it is read.
    key = f"{function.__module__} {[type_text(one) for one in kinds]} {digest_of(function)}"
    digest = hashlib.blake2b(key.encode(), digest_size=16).hexdigest()
    name = re.sub(r"\W+", "_", ".".join(function.__qualname__.split(".")[-3:]))
    return f"{name[:80]}-{_machine()}-{digest}"


def _path(name: str) -> Path:
    return FOLDER / f"{name}.kernel"


def _load(path: Path, target: Any) -> Any:
    """Load a kernel, and first those that it calls; None if one of them is not in the cache."""
    content = _read(path)
    if content is None:
        return None
    called, reduced = pickle.loads(content)  # noqa: S301
    for name in called:
        if not is_linked(name):
            other = _load(_path(name), target)
            if other is None:
                return None
            link(name, other)
    with contextlib.suppress(OSError):
        os.utime(path)
    return CompileResult._rebuild(target, *reduced)  # type: ignore[no-untyped-call] # noqa: SLF001


def is_linked(name: str) -> bool:
    """Whether kernels that are loaded from now on can call the kernel of that name."""
    return name in _LINKED


def link(name: str, compiled: Any) -> None:
    """Let kernels that are loaded from now on call a compiled one."""
    llvm.add_symbol(PREFIX + name, compiled.library.get_pointer_to_function(compiled.fndesc.llvm_func_name))
    _LINKED[name] = compiled


class _Cache:
    """The cached machine code of one kernel, as numba's dispatcher asks for it.

    A kernel whose code cannot be written still runs.
    """

    def __init__(self, function: Any) -> None:
        self._function = function
        self._locked: dict[Path, int] = {}
        self.cache_path = str(FOLDER)

    def load_overload(self, signature: Any, target: Any) -> Any:
        """Return the compiled kernel for argument types; None if it must be compiled, which other processes await.

        Raises
        ------
        NotCached
            It must be compiled, within `cached_only`.
        """
        # numba's own cache refreshes the target here, in 0.2 s; only the compiler needs that, and does it itself.
        rtsys.initialize(target)
        path = self._path(signature)
        compiled = _load(path, target)
        if compiled is None:
            if _CACHED_ONLY:
                raise NotCached(self._function.__qualname__)
            self._lock(path)
            compiled = _load(path, target)
        return compiled

    def save_overload(self, signature: Any, compiled: Any) -> None:
        """Keep a kernel that was just compiled."""
        path = self._path(signature)
        try:
            _write(path, dumps((getattr(compiled.library, "called", ()), compiled._reduce())))  # type: ignore[no-untyped-call] # noqa: SLF001
            _delete_unused()
        except OSError as error:
            _warn(error.strerror)

    def _path(self, signature: Any) -> Path:
        return _path(name_of(self._function, getattr(signature, "args", signature)))

    def _lock(self, path: Path) -> None:
        """Wait while another process compiles the kernel, and let others wait for this one."""
        try:
            held = os.open(path.with_suffix(".lock"), os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        except OSError:
            return
        self._locked[path], limit = held, time.monotonic() + MAX_WAIT_SECONDS
        while time.monotonic() < limit:
            try:
                fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return
            except BlockingIOError:
                time.sleep(0.02)
            except OSError:  # a file system without locks
                return

    def unlock(self) -> None:
        """Let others go on, who find the kernel, or try to compile it themselves."""
        for path in list(self._locked):
            if (held := self._locked.pop(path, None)) is not None:  # else another thread has just done so
                path.with_suffix(".lock").unlink(missing_ok=True)
                os.close(held)


@cache
def _delete_unused() -> None:
    """Delete kernels that nobody has used for a long time, once per process that compiles."""
    for path in FOLDER.iterdir():
        with contextlib.suppress(FileNotFoundError):  # another process has just renamed or deleted it
            if path.stat().st_mtime < time.time() - UNUSED_DAYS * 86_400:
                path.unlink()


def count_cached() -> tuple[int, int]:
    """Return the numbers of kernels in the cache: those that this process could use, and those of other machines.

    Another machine is another processor, or another version of Python or numba.
    """
    names = [path.stem.split("-")[-2:-1] for path in FOLDER.glob("*-*-*.kernel")]
    ours = names.count([_machine()])
    return ours, len(names) - ours


_CACHED_ONLY: list[bool] = []


@contextlib.contextmanager
def cached_only() -> Iterator[None]:
    """Within it, a kernel that is not in the cache raises `NotCached` instead of being compiled."""
    _CACHED_ONLY.append(True)
    try:
        yield
    finally:
        _CACHED_ONLY.pop()


FOLDER = _choose(_parent() / "kernels", Path(sys.prefix, "share", "driftway", "kernels"))
KEEP_CODE = _keep_code()


def unlock(cache: Any) -> None:
    """After a compilation, with or without success: let other processes go on that wait for the same kernel."""
    if isinstance(cache, _Cache):  # else numba's own, which keeps nothing
        cache.unlock()


def kept(compiled: Any) -> Any:
    """Attach the cache to a kernel; numba has no public interface for that.

    Does nothing without a cache, or with NUMBA_DISABLE_JIT, which leaves plain functions.
    """
    if KEEP_CODE and hasattr(compiled, "py_func"):
        compiled._cache = _Cache(compiled.py_func)  # noqa: SLF001
    return compiled
