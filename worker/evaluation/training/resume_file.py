"""The resume file of a training run: what was asked for, what was read, and where the procedure stands.

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
SUFFIX = ".partial"


@dataclass(frozen=True)
class ResumeFile:
    """A run that has not ended.

    Parameters
    ----------
    asked : dict
        What decides the result, as the options say it; JSON values.
    origin : dict
        The rows that were read, as `Rows.origin` tells.
    progress : bytes
        What `Procedure.save` gave.
    """

    asked: dict[str, Any]
    origin: dict[str, Any]
    progress: bytes

    def write(self, path: Path) -> None:
        """Write it so that it is there whole or not at all.

        Raises
        ------
        UsageFailure
            It cannot be written.
        """
        header = write_json({"asked": self.asked, "origin": self.origin})
        body = b"".join([MAGIC, len(header).to_bytes(4, "little"), header, self.progress])
        save(path, body + _digest(body))

    @classmethod
    def read(cls, path: Path) -> ResumeFile:
        """Read it back.

        Raises
        ------
        UsageFailure
            It is not there, or cannot be read.
        Failure
            It is damaged, or something else.
        """
        try:
            blob = path.read_bytes()
        except FileNotFoundError:
            raise UsageFailure(f"there is nothing to resume: {path} does not exist") from None
        except OSError as error:
            raise UsageFailure(f"cannot read {path}: {error.strerror}") from None
        body, digest = blob[:-DIGEST_BYTES], blob[-DIGEST_BYTES:]
        if body[:4] != MAGIC or _digest(body) != digest:
            raise Failure(f"{path} is damaged, or no resume file: train without --resume, with --force")
        start = 8 + int.from_bytes(body[4:8], "little")
        header = read_json(body[8:start])
        return cls(header["asked"], header["origin"], body[start:])

    def require_same(self, asked: dict[str, Any], path: Path) -> None:
        """Refuse to go on with something else than was begun.

        Raises
        ------
        UsageFailure
            It names the first difference.
        """
        now = read_json(write_json(asked))
        for name in sorted(self.asked.keys() | now.keys()):
            before, after = self.asked.get(name), now.get(name)
            if before != after:
                raise UsageFailure(
                    f"{path} was begun with --{name} {_shown(before)}, not {_shown(after)}: --resume needs the same"
                )


def _shown(value: Any) -> str:
    return "not given" if value is None else str(value)


def _digest(body: bytes) -> bytes:
    return hashlib.blake2b(body, digest_size=DIGEST_BYTES).digest()
