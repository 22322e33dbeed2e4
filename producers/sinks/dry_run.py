"""The sink that writes what would be sent to a file; needs no broker."""

from __future__ import annotations

import contextlib
import os
import struct
import sys
import time
from typing import BinaryIO

from driftway.producers.messages import Messages
from driftway.producers.sinks.sink import MAX_IDLE_SECONDS, Sink, StopRequest
from driftway.worker.errors import Failure, UsageFailure
from driftway.worker.wire import codec

STDOUT = "-"
LENGTH = struct.Struct("<i")
"""Precedes each packed value: its length in bytes; -1 is a null value, as in Kafka's protocol."""


class DryRun(Sink):
    """Writes values in the order of the rows: JSON one per line, packed ones each after its length.

    A null value is an empty line, or the length -1. Keys, partitions and timestamps are not written. If there are two
    topics, each line starts with its topic and a tab.

    Parameters
    ----------
    path : str
        The file, overwritten; ``-`` is stdout.
    form : str
        ``json`` or ``packed``.
    stop : StopRequest
        Ends every wait.
    topics : tuple of str or None
        The topics of rows and of delayed labels, if these have one of their own; JSON only.
    """

    def __init__(self, path: str, form: str, stop: StopRequest, topics: tuple[str, str] | None) -> None:
        super().__init__(stop)
        self.path = path
        self._topics = topics
        self._packed = form == codec.PACKED
        self._file: BinaryIO | None = None

    def open(self) -> None:
        try:
            self._file = sys.stdout.buffer if self.path == STDOUT else open(self.path, "wb")  # noqa: SIM115
        except OSError as error:
            raise UsageFailure(f"cannot write {self.path}: {error.strerror}") from None

    def send(self, messages: Messages, due: object = None) -> None:
        if self._packed:
            data = b"".join(
                LENGTH.pack(-1) if value is None else LENGTH.pack(len(value)) + value for value in messages.values
            )
        elif self._topics is not None and messages.is_label is not None:
            names = [f"{topic}\t".encode() for topic in self._topics]
            data = b"".join(
                names[late] + (value or b"") + b"\n"
                for late, value in zip(messages.is_label.tolist(), messages.values, strict=True)
            )
        else:
            data = b"".join(b"\n" if value is None else value + b"\n" for value in messages.values)
        self._write(data)

    def wait_for_capacity(self, rows: int, row_bytes: int) -> bool:
        return not self.stop.requests

    def idle(self, seconds: float) -> None:
        self._write(b"")
        time.sleep(min(seconds, MAX_IDLE_SECONDS))

    def finish(self) -> None:
        self._write(b"")
        self._close()

    def _write(self, data: bytes) -> None:
        """Write `data`; if it is empty, flush, so that the reader of a pipe gets what was written before."""
        if self._file is None:
            raise RuntimeError("the dry run has not been opened")
        try:
            self._file.write(data)
            if not data:
                self._file.flush()
        except BrokenPipeError:  # nobody reads on, as with `| head`
            self._close()
            raise
        except OSError as error:
            if self.path == STDOUT:
                # Discard what is still buffered: Python would try to write it again at exit.
                with contextlib.suppress(OSError):
                    os.dup2(os.open(os.devnull, os.O_WRONLY), self._file.fileno())
            self._close()
            raise Failure(f"cannot write {self.path}: {error.strerror}") from None

    def _close(self) -> None:
        """Close the file, unless it is stdout."""
        file, self._file = self._file, None
        if file is None:
            return
        with contextlib.suppress(OSError):
            if self.path != STDOUT:
                file.close()
