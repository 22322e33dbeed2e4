"""The position of a replay in a small JSON file, so that an interrupted replay resumes where delivery ended.

The file is written once the broker has acknowledged every row before the position in it. Rows that were sent after the
last write and arrived before a crash are sent again: at least once. With transactions, each one also commits the
position, as the offset of a group named like the transactional id, and the file identifies the run: exactly once. Time
starts over: a profile at its start, event time at the first row that is left.
"""

from __future__ import annotations

import contextlib
import json
import os
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from driftway.worker.errors import Failure, UsageFailure

VERSION = 1
ReplayFingerprint = Mapping[str, Any]


class ReplayPosition:
    """The position of one replay, kept in a file.

    Parameters
    ----------
    path : str
        The file; created if missing.
    facts : mapping
        JSON values that decide which rows go where; a file with other ones belongs to another replay and is refused.

    Raises
    ------
    UsageFailure
        The file cannot be read, has another format, or belongs to another replay.

    Attributes
    ----------
    position : int or None
        Where to resume; None: from the start.
    run : str
        Identifies this replay across all its interruptions.
    """

    def __init__(self, path: str, facts: ReplayFingerprint) -> None:
        self.path = Path(path)
        self.position: int | None = None
        self.run = uuid.uuid4().hex
        self._facts = json.loads(json.dumps(dict(facts)))
        found = self._read()
        if found is not None:
            self.position, self.run = found

    def save(self, position: int) -> None:
        """Record durably that every row before `position` has arrived.

        Raises
        ------
        Failure
            The file cannot be written.
        """
        content = {"version": VERSION, "position": position, "run": self.run, "replay": self._facts}
        temporary = self.path.with_name(f"{self.path.name}.tmp")
        try:
            with temporary.open("w", encoding="utf-8") as file:
                json.dump(content, file, indent=1)
                file.write("\n")
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(self.path)
        except OSError as error:
            with contextlib.suppress(OSError):
                temporary.unlink(missing_ok=True)
            raise Failure(f"cannot write {self.path}: {error.strerror}") from None
        self.position = position

    def _read(self) -> tuple[int, str] | None:
        try:
            text = self.path.read_text(encoding="utf-8")
        except FileNotFoundError:
            return None
        except OSError as error:
            raise UsageFailure(f"cannot read {self.path}: {error.strerror}") from None
        except UnicodeDecodeError:
            raise UsageFailure(f"{self.path} is not a file of --resume") from None
        try:
            found = json.loads(text)
            version, position, run, facts = (found[key] for key in ("version", "position", "run", "replay"))
        except (ValueError, TypeError, KeyError):
            raise UsageFailure(f"{self.path} is not a file of --resume") from None
        if version != VERSION:
            raise UsageFailure(f"{self.path} has version {version}, not {VERSION}")
        usable = isinstance(position, int) and not isinstance(position, bool) and position >= 0
        if not usable or not isinstance(run, str) or not isinstance(facts, dict):
            raise UsageFailure(f"{self.path} is not a file of --resume")
        for name in sorted({*facts, *self._facts}):
            stored, current = facts.get(name), self._facts.get(name)
            if stored != current:
                raise UsageFailure(
                    f"{self.path} belongs to a replay with {name.replace('_', '-')} {json.dumps(stored)}, "
                    f"not {json.dumps(current)}; give another file to start over"
                )
        return position, run
