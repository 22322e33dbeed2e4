"""Where a replay stands, in a small JSON file: an interrupted one goes on where delivery ended.

The file is written once the broker has answered for every row before the position in it. Rows that left after the last
write and arrived before a crash are sent again: at least once. With a transaction the position travels in it as well,
as the committed offset of a group called like the transactional id, and the file only tells which run that is: exactly
once. Time begins anew: a profile at its start, event time at the first row that is left.
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
        The file; made if missing.
    facts : mapping
        What decides which rows go where: a file of another replay is refused. JSON values.

    Raises
    ------
    UsageFailure
        The file cannot be read, is no such file, or belongs to another replay.

    Attributes
    ----------
    position : int or None
        Where to go on; None: from the start.
    run : str
        Tells this replay, through all its interruptions, from any other.
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
        """Write that every row before `position` has arrived; survives a power cut.

        Raises
        ------
        Failure
            The file cannot be written.
        """
        content = {"version": VERSION, "position": position, "run": self.run, "replay": self._facts}
        beside = self.path.with_name(f"{self.path.name}.tmp")
        try:
            with beside.open("w", encoding="utf-8") as file:
                json.dump(content, file, indent=1)
                file.write("\n")
                file.flush()
                os.fsync(file.fileno())
            beside.replace(self.path)
        except OSError as error:
            with contextlib.suppress(OSError):
                beside.unlink(missing_ok=True)
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
            raise UsageFailure(f"{self.path} is no file of --resume") from None
        try:
            found = json.loads(text)
            version, position, run, facts = (found[key] for key in ("version", "position", "run", "replay"))
        except (ValueError, TypeError, KeyError):
            raise UsageFailure(f"{self.path} is no file of --resume") from None
        if version != VERSION:
            raise UsageFailure(f"{self.path} has version {version}, not {VERSION}")
        usable = isinstance(position, int) and not isinstance(position, bool) and position >= 0
        if not usable or not isinstance(run, str) or not isinstance(facts, dict):
            raise UsageFailure(f"{self.path} is no file of --resume")
        for name in sorted({*facts, *self._facts}):
            was, now = facts.get(name), self._facts.get(name)
            if was != now:
                raise UsageFailure(
                    f"{self.path} belongs to a replay with {name.replace('_', '-')} {json.dumps(was)}, "
                    f"not {json.dumps(now)}; name another file to begin anew"
                )
        return position, run
