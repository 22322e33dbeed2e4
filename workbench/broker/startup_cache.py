"""Java's cache of a started Kafka, with its classes parsed and linked: a start with it takes a third of the processor.

Java 25 and newer write it when a broker ends cleanly, once per version of Kafka and Java. It takes 67 MB in the folder
of Kafka's jars, and some seconds at the end of that broker. At each start Java checks whether its version, its options
and the jars are the same, and ignores the cache if not.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
from pathlib import Path

FIRST_JAVA = 25
"""Older ones need several runs for such a cache, or have none."""
WRITE_SECONDS = 120.0
"""Longest end of a broker that writes it, which takes 5 s on two idle cores."""
CLEAN = 0, 128 + signal.SIGTERM
"""Exit codes of a broker that was told to end, and did."""
SILENT = "-Xlog:aot*=off"
"""Else Java prints what it has left out of the cache, as warnings."""


class StartupCache:
    """The cache, as one broker uses or writes it.

    Parameters
    ----------
    java : Path
        The command.
    folder : Path
        Where the cache is kept.
    """

    def __init__(self, java: Path, folder: Path) -> None:
        version = _version_of(java)
        self._able = int(version.partition(".")[0] or 0) >= FIRST_JAVA
        self._kept = folder / f"startup-{version}.aot"
        self._part = folder / f"startup-{version}.part"
        self._lock: int | None = None

    @property
    def writes(self) -> bool:
        """Whether the broker that was started last writes it."""
        return self._lock is not None

    def options(self) -> list[str]:
        """Options of Java: to use the cache, or to write it; none if it cannot, or another broker writes it."""
        if not self._able:
            return []
        if self._kept.exists():
            return [SILENT, f"-XX:AOTCache={self._kept}"]
        return [SILENT, f"-XX:AOTCacheOutput={self._part}"] if self._begin() else []

    def ended(self, code: int | None) -> None:
        """Keep what a broker has written that ended with this exit code, or remove it."""
        if self._lock is None:
            return
        with contextlib.suppress(OSError):
            if code in CLEAN:
                self._part.replace(self._kept)
            self._part.unlink(missing_ok=True)
        os.close(self._lock)
        self._lock = None

    def _begin(self) -> bool:
        """Take the lock, which ends with this process; False if somebody has it, or nothing can be written."""
        import fcntl

        held = None
        with contextlib.suppress(OSError):
            held = os.open(self._part.with_suffix(".lock"), os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
            self._lock, held = held, None
        if held is not None:
            os.close(held)
        return self.writes


def _version_of(java: Path) -> str:
    """The version in the release file of a Java; empty if there is none."""
    with contextlib.suppress(OSError):
        release = (java.parents[1] / "release").read_text()
        if found := re.search(r'^JAVA_VERSION="([0-9][0-9.]*)', release, re.MULTILINE):
            return found[1]
    return ""
