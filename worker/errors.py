"""Failures that are shown to the user, one sentence and a documented exit code, and words for them. Leaf module.

| code | meaning |
|---|---|
| 0 | done |
| 1 | failure |
| 2 | usage |
| 3 | fenced: another owner has taken over |
| 4 | cannot restore |
| 5 | broker or schema registry unreachable |

`driftway check` ends with 6 if there are warnings, but no errors.
"""

from __future__ import annotations

import contextlib
import errno
import os
import select
import stat
import threading
from pathlib import Path
from typing import ClassVar

DAY_MS = 86_400_000
SPARE_FILES = 12
"""A client opens several files at once, and closes them again if one of them cannot be opened, or when it is closed."""
MAX_BYTES = 1 << 24
"""Most bytes of a small file that the user names, and of any device: a wrong name may be that of one without an end."""
FIFO_SECONDS = 10
TOO_MANY_FILES = errno.EMFILE, errno.ENFILE
DISK_FULL = errno.ENOSPC, errno.EDQUOT, errno.EFBIG
"""No more can be written: the disk, the user's quota or the limit of a file's size (`ulimit -f`) is reached."""
NO_MORE_THREADS = "this process cannot start more threads: raise its limit (ulimit -u, TasksMax=, pids.max)"


def file_shortage() -> str:
    """Say that this process can hardly open any more files, the usual hidden cause of failed connections; or nothing.

    To be asked where a connection failed, while the process still has its files open.
    """
    opened = list[int]()
    try:
        for _ in range(SPARE_FILES):
            opened.append(os.open(os.devnull, os.O_RDONLY))
    except OSError as error:
        if error.errno in TOO_MANY_FILES:
            return "this process cannot open more files: raise its limit (ulimit -n)"
    finally:
        for number in opened:
            with contextlib.suppress(OSError):
                os.close(number)
    return ""


def is_thread_shortage(error: Exception) -> bool:
    """Whether Python could not start a thread or a process because of a limit."""
    if isinstance(error, BlockingIOError):  # of a file it has another text
        return error.strerror == os.strerror(errno.EAGAIN)
    return isinstance(error, RuntimeError) and str(error) == "can't start new thread"


def require_threads(wanted: int) -> None:
    """Fail unless this process can start as many threads, or processes, beside those that it has.

    To be asked before libraries start them: halfway, some leave tracebacks of child processes behind, and the Kafka
    client ends the process.

    Raises
    ------
    Failure
        It cannot.
    """
    over, started = threading.Event(), list[threading.Thread]()
    try:
        for _ in range(wanted):
            thread = threading.Thread(target=over.wait, daemon=True)
            thread.start()
            started.append(thread)
    except RuntimeError as error:
        if not is_thread_shortage(error):
            raise
        raise Failure(NO_MORE_THREADS) from None
    finally:
        over.set()
        for thread in started:
            thread.join()


def with_file_shortage(sentence: str) -> str:
    """Return a sentence about a failed connection, with its cause if that is `file_shortage`."""
    cause = file_shortage()
    return f"{sentence}; {cause}" if cause and cause not in sentence else sentence


def no_topic(name: str, why: str = "") -> str:
    """Say that a topic is not among those that the brokers show; `why` is the likely reason why there is none."""
    return f"there is no topic {name}{f' ({why})' if why else ''}, or this principal may not describe it"


def shown(text: str) -> str:
    """Make text safe for a terminal and a log: what it quotes from records and files may have control characters."""
    return "".join(c if c.isprintable() else "?" for c in text)


def plural(n: int, one: str, several: str = "") -> str:
    """Return a number with the noun or clause that agrees with it: ``1 row``, ``2,000 rows``, ``3 passes``."""
    return f"{n:,} {one if n == 1 else several or one + ('es' if one.endswith('s') else 's')}"


def duration(millis: int) -> str:
    """Return a duration in its largest suitable unit."""
    for unit, size in (("d", DAY_MS), ("h", 3_600_000), ("min", 60_000), ("s", 1000)):
        if millis >= size:
            number = millis / size
            return f"{number:,.0f} {unit}" if number >= 100 else f"{number:.3g} {unit}"
    return f"{millis} ms"


def read_file(path: str | Path, what: str = "", max_bytes: int | None = MAX_BYTES) -> bytes:
    """Return the content of a file that the user named, which may be a pipe from another command.

    Whatever the name leads to, reading it ends: a FIFO may have no writer, and a device no end.

    Raises
    ------
    UsageFailure
        It cannot be read, nothing comes from it, or it has more than `max_bytes`; with None only a device can have too
        many. The message calls the file `what`.
    """
    what = what or str(path)
    try:
        with open(path, "rb", opener=_open_at_once) as file:
            if max_bytes is None and stat.S_ISCHR(os.fstat(file.fileno()).st_mode):
                max_bytes = MAX_BYTES
            content = file.read(-1 if max_bytes is None else max_bytes + 1)
    except OSError as error:
        raise UsageFailure(f"cannot read {what}: {error.strerror}") from None
    if max_bytes is not None and len(content) > max_bytes:
        raise UsageFailure(f"{what} has more than {max_bytes:,} bytes: give another file")
    return content


def require_writable(path: str | Path, replaced: bool = False) -> None:
    """Check, before a long run, that a file can be written where the user wants it.

    `replaced`: a new file takes its place, so it is the folder that must be writable.

    Raises
    ------
    UsageFailure
        It is a folder, or its folder does not exist; or the user may not write there.
    """
    target = Path(path)
    folder = target.absolute().parent
    if target.is_dir():
        raise UsageFailure(f"cannot write {path}: it is a directory")
    if not folder.is_dir():
        raise UsageFailure(f"cannot write {path}: there is no directory {target.parent}")
    kept = target.exists() and not replaced
    if not os.access(target if kept else folder, os.W_OK):
        what = "the file" if kept else f"the directory {target.parent}"
        raise UsageFailure(f"cannot write {path}: {what} is not writable")


def _open_at_once(path: str, flags: int) -> int:
    """Open a file, and wait for data only as long as FIFO_SECONDS."""
    number = os.open(path, flags | os.O_NONBLOCK)
    try:
        if stat.S_ISFIFO(os.fstat(number).st_mode):
            waiting = select.poll()
            waiting.register(number, select.POLLIN)
            if not waiting.poll(1000 * FIFO_SECONDS):
                raise TimeoutError(errno.ETIMEDOUT, f"nothing was written to it for {FIFO_SECONDS} s")
        os.set_blocking(number, True)
    except OSError:
        os.close(number)
        raise
    return number


class Failure(Exception):
    """An error that one sentence explains to the user."""

    exit_code: ClassVar[int] = 1


class UsageFailure(Failure):
    """The caller asked for something that does not exist or does not fit together."""

    exit_code = 2


class LearnerFailed(Failure):
    """A learner cannot continue on rows on which others can."""


class Fenced(Failure):
    """Another owner has taken over what this process owned."""

    exit_code = 3


class CannotRestore(Failure):
    """A partition's state cannot be restored, and starting cold was not allowed."""

    exit_code = 4


class Unreachable(Failure):
    """No broker, or no schema registry, answered within the time allowed."""

    exit_code = 5

    def __init__(self, sentence: str) -> None:
        super().__init__(with_file_shortage(sentence))
