"""Files that may be compressed, recognised by the extension of their names."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path, PurePosixPath
from typing import IO, Any

from driftway.worker.errors import UsageFailure

HEAD_BYTES, MAX_HEAD_BYTES, HEAD_LINES = 1 << 18, 1 << 28, 8
"""A beginning is so long, or longer until it has so many lines."""
UNREADABLE = (OSError, EOFError, zlib.error, lzma.LZMAError, zipfile.BadZipFile, UnicodeError)
"""What reading a file raises that is missing, damaged or in another encoding."""
COMPRESSIONS = {".zst": "zstd"}
"""End of the name -> compression, as pyarrow names it."""
ONLY_HERE = (".gz", ".bz2", ".xz", ".zip")
"""Ends of the names of files that pyarrow cannot decompress, or not if a part is empty or zeros fill up a block."""
PACKED = (".gz", ".bz2", ".xz", ".zst", ".zip")
RESOURCE_FORKS, HIDDEN = "__MACOSX/", "."
"""With what names begin in an archive that are no data: what Macs add for each file, and files such as `.DS_Store`."""


def open_binary(path: Path) -> Any:
    """Open a file, decompressed, as Python's buffered readers are; a ZIP archive must hold one file.

    Raises
    ------
    UsageFailure
        An archive holds another number of files or is encrypted, or a package is missing.
    """
    openers: dict[str, Any] = {
        ".gz": gzip.open, ".bz2": _open_bz2, ".xz": _open_xz, ".zst": _open_zstd, ".zip": _open_zip,
    }  # fmt: skip
    return openers.get(path.suffix.lower(), open)(path, "rb")


def open_text(path: Path, encoding: str, newline: str | None = None) -> IO[str]:
    """Open a file as text, decompressed; `newline` as for Python's `open`."""
    return io.TextIOWrapper(open_binary(path), encoding, newline=newline)


class _Parts(io.RawIOBase):
    """The parts of a file that are compressed one after another, decompressed.

    Python's own readers take a damaged part, and all after it, for the end of the file.

    Parameters
    ----------
    path : Path
        The file.
    make : callable
        Makes a decompressor, as of `bz2` and `lzma`.
    """

    def __init__(self, path: Path, make: Callable[[], Any]) -> None:
        super().__init__()
        self._file, self._make, self._part = path.open("rb"), make, make()

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while True:
            data = b""
            if self._part.eof:
                data = self._part.unused_data.lstrip(b"\0")  # zeros may fill up a block
                if not data and not (data := self._file.read(io.DEFAULT_BUFFER_SIZE)):
                    return 0
                if not (data := data.lstrip(b"\0")):
                    continue
                self._part = self._make()
            elif self._part.needs_input and not (data := self._file.read(io.DEFAULT_BUFFER_SIZE)):
                if not self._file.tell():
                    return 0
                raise EOFError("Compressed file ended before the end-of-stream marker was reached")
            found = self._part.decompress(data, len(buffer))
            if found:
                buffer[: len(found)] = found
                return len(found)

    def close(self) -> None:
        self._file.close()
        super().close()


def _open_bz2(path: Path, _mode: str) -> IO[bytes]:
    return io.BufferedReader(_Parts(path, bz2.BZ2Decompressor))


def _open_xz(path: Path, _mode: str) -> IO[bytes]:
    return io.BufferedReader(_Parts(path, lzma.LZMADecompressor))


def _open_zstd(path: Path, _mode: str) -> IO[bytes]:
    from driftway.producers.streams.arrow import require_pyarrow

    pa = require_pyarrow(str(path))
    return io.BufferedReader(pa.input_stream(str(path), compression="zstd"))


def _open_zip(path: Path, _mode: str) -> IO[bytes]:
    archive = zipfile.ZipFile(path)
    members = [one for one in archive.infolist() if _is_data(one)]
    if not members:
        raise UsageFailure(f"{path} holds no file")
    if len(members) > 1:
        names = ", ".join(one.filename for one in members[:3])
        raise UsageFailure(f"{path} holds {len(members)} files, not one: unpack it, and give one of them: {names}")
    if members[0].flag_bits & 1:
        raise UsageFailure(f"{path} is encrypted: unpack it")
    try:
        return archive.open(members[0])
    except NotImplementedError:  # Deflate64, say, which Windows uses for large files
        raise UsageFailure(f"{path} is compressed in a way that cannot be read here: unpack it") from None


def _is_data(member: zipfile.ZipInfo) -> bool:
    return not (
        member.is_dir()
        or member.filename.startswith(RESOURCE_FORKS)
        or PurePosixPath(member.filename).name.startswith(HIDDEN)
    )


def head_of(path: Path) -> bytes:
    """The beginning of a file, decompressed: the whole of it if it is shorter than HEAD_BYTES.

    Raises
    ------
    UsageFailure
        The file cannot be read.
    """
    try:
        with open_binary(path) as file:
            head: bytes = file.read(HEAD_BYTES)
            size = HEAD_BYTES
            while len(head) == size < MAX_HEAD_BYTES and max(head.count(b"\n"), head.count(b"\r")) < HEAD_LINES:
                head, size = head + file.read(size), 2 * size
            return head
    except UNREADABLE as error:
        raise cannot_read(path, error) from None


def cannot_read(path: Path, error: BaseException) -> UsageFailure:
    """Say in a sentence why a file cannot be read; `error` is of UNREADABLE or from pyarrow."""
    why = getattr(error, "strerror", None) or (str(error).splitlines() or ["damaged"])[0]
    return UsageFailure(f"cannot read {path}: {why}")
