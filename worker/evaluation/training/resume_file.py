"""The resume file of a training run: its options, the rows that were read, and the state of the procedure.

Layout: magic (4 bytes), header length (4, little-endian), header (JSON), the procedure's own bytes, digest (16).
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from driftway.worker.errors import Failure, UsageFailure
from driftway.worker.state.model_file import save
from driftway.worker.wire.codec import read_json, write_json

MAGIC = b"DWP1"
DIGEST_BYTES = 16


@dataclass(frozen=True)
class ResumeFile:
    """An unfinished run.

    Parameters
    ----------
    asked : dict
        The options that decide the result; JSON values.
    origin : dict
        Origin of the rows, as `RowSource.origin` returned it.
    progress : bytes
        State of the procedure, as `Procedure.save` returned it.
    """

    asked: dict[str, Any]
    origin: dict[str, Any]
    progress: bytes

    def write(self, path: Path) -> None:
        """Write the file atomically.

        Raises
        ------
        UsageFailure
            The file cannot be written.
        """
        header = write_json({"asked": self.asked, "origin": self.origin})
        body = b"".join([MAGIC, len(header).to_bytes(4, "little"), header, self.progress])
        save(path, body + _digest(body))

    @classmethod
    def read(cls, path: Path) -> ResumeFile:
        """Read a resume file.

        Raises
        ------
        UsageFailure
            The file does not exist, or cannot be read.
        Failure
            The file is damaged, or is not a resume file.
        """
        try:
            blob = path.read_bytes()
        except FileNotFoundError:
            raise UsageFailure(f"there is nothing to resume: {path} does not exist") from None
        except OSError as error:
            raise UsageFailure(f"cannot read {path}: {error.strerror}") from None
        body, digest = blob[:-DIGEST_BYTES], blob[-DIGEST_BYTES:]
        if body[:4] != MAGIC or _digest(body) != digest:
            raise Failure(f"{path} is damaged, or not a resume file: use --force instead of --resume")
        start = 8 + int.from_bytes(body[4:8], "little")
        header = read_json(body[8:start])
        return cls(header["asked"], header["origin"], body[start:])

    def require_same(self, asked: dict[str, Any], path: Path) -> None:
        """Refuse to resume with other options than the run was started with.

        Raises
        ------
        UsageFailure
            The options differ; the message names the first difference.
        """
        now = read_json(write_json(asked))
        for name in sorted(self.asked.keys() | now.keys()):
            before, after = self.asked.get(name), now.get(name)
            if before != after:
                raise UsageFailure(
                    f"{path} was started with --{name} {_shown(before)}, not {_shown(after)}: --resume needs the same"
                )


def _shown(value: Any) -> str:
    return "not given" if value is None else str(value)


def _digest(body: bytes) -> bytes:
    return hashlib.blake2b(body, digest_size=DIGEST_BYTES).digest()
