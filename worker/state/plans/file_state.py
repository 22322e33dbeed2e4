"""The state of a model file with which a model begins, as it is stored in the topic of plans.

A plan names the state by its digest. The state itself is in chunks before the plan, in the same transaction, with keys
that no other state has. So it remains in the compacted topic, and every reader of the plan finds it, even if the file
was deleted. Layout of a stored state: length of the header (4 bytes, little-endian), header (JSON), the learner's
memory.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from driftway.learners.learner import Learner
from driftway.worker.errors import Failure
from driftway.worker.state.stored_fields import CHUNK_BYTES, Malformed, StoredFields, split_chunks
from driftway.worker.wire.codec import read_json, write_json

MAX_CHUNKS = 256
DIGEST_BYTES, DIGEST = 16, re.compile(r"[0-9a-f]{32}")
KEY_PREFIX = b"state."
"""Begins the keys of chunks; those of plans are their numbers."""


class StoredLearner(NamedTuple):
    """A learner's state, and what another one must have in common with it to go on from there."""

    identity: dict[str, Any]
    """As `Learner.identity`, as parsed JSON."""
    columns: tuple[str, ...] | None
    """Names of its input columns, in order; None if they have none."""
    memory: bytes
    calibration: bytes = b""
    """State of the calibrator behind it; empty: it has none, or an earlier version wrote it."""


@dataclass(frozen=True)
class FileState:
    """What a plan says of the state with which a model begins.

    Parameters
    ----------
    name : str
        The file's name, for people only.
    digest : str
        Digest of the stored state, in hexadecimal.
    chunks : int
        Number of its chunks, 1 to MAX_CHUNKS.
    learner : StoredLearner or None
        The state; None while its chunks have not been read.
    """

    name: str
    digest: str
    chunks: int
    learner: StoredLearner | None = field(default=None, compare=False, repr=False)

    def as_dict(self) -> dict[str, Any]:
        """What is stored in a plan."""
        return {"name": self.name, "digest": self.digest, "chunks": self.chunks}

    @classmethod
    def of_fields(cls, fields: StoredFields) -> FileState:
        """As `as_dict` has stored it.

        Raises
        ------
        Malformed
            It is something else.
        """
        digest = fields.text("digest")
        if not DIGEST.fullmatch(digest):
            raise Malformed("digest is not 32 hexadecimal digits")
        return cls(fields.text("name"), digest, fields.integer("chunks", at_least=1, at_most=MAX_CHUNKS))

    def chunk_keys(self) -> Iterable[bytes]:
        """Keys of its chunks, in order."""
        return (KEY_PREFIX + f"{self.digest}.{i}".encode() for i in range(self.chunks))

    def records(self) -> Iterable[tuple[bytes, bytes]]:
        """Keys and values of its chunks; none if the state has not been read."""
        blob = b"" if self.learner is None else _written(self.learner)
        return zip(self.chunk_keys(), split_chunks(blob), strict=False)

    def begin(self, learner: Learner, columns: tuple[str, ...] | None) -> None:
        """Let a learner with these input columns (None: without names) begin with the state.

        Raises
        ------
        Failure
            The state is missing, or of another learner or other features.
        """
        stored = self.learner
        if stored is None:
            raise Failure(f"the state from model file {self.name} is missing from the topic of plans, or damaged")
        why = why_other(stored, learner, columns)
        try:
            if why is None:
                memory = np.frombuffer(stored.memory, np.uint8)
                learner.check_state(memory)
                learner.state.memory[:] = memory
        except ValueError as error:
            why = str(error)
        if why is not None:
            raise Failure(f"{learner.name} cannot start from model file {self.name}: {why}")


def why_other(stored: StoredLearner, learner: Learner, columns: tuple[str, ...] | None) -> str | None:
    """Return why a learner over these columns cannot begin with a state; None if it can."""
    if (theirs := stored.identity.get("n_features")) != learner.n_features:
        return f"it has learned from {theirs} features, not {learner.n_features}"
    if columns is not None and stored.columns is None:
        return "it knows its features only by their order, but the events have names for them"
    if None not in (columns, stored.columns) and columns != stored.columns:
        return "it has learned from features of other names, or in another order"
    if read_json(write_json(learner.identity())) != stored.identity or len(stored.memory) != learner.state.nbytes:
        return "its learner has other parameters or another state layout"
    return None


def state_of(name: str, learner: StoredLearner) -> FileState:
    """Return what a plan says of a learner's state, from the file of that name.

    Raises
    ------
    Failure
        It has more than MAX_CHUNKS chunks.
    """
    blob = _written(learner)
    chunks = len(split_chunks(blob))
    if chunks > MAX_CHUNKS:
        most = MAX_CHUNKS * CHUNK_BYTES
        raise Failure(f"the state in {name} has {len(blob):,} bytes: a plan takes up to {most:,}")
    return FileState(name, _digest(blob), chunks, learner)


class StateChunks:
    """Collects the chunks of states from the topic of plans."""

    def __init__(self) -> None:
        self._chunks: dict[bytes, bytes] = {}
        self._learners: dict[str, StoredLearner] = {}

    def take(self, key: bytes | None, value: bytes | None) -> bool:
        """Keep the record if it is a chunk; return whether it is."""
        if key is None or not key.startswith(KEY_PREFIX):
            return False
        digest = key.removeprefix(KEY_PREFIX).partition(b".")[0].decode(errors="replace")
        if digest not in self._learners:
            self._chunks[key] = value or b""
        return True

    def of(self, state: FileState) -> FileState:
        """Return a state with its learner, if all chunks are there and whole; else unchanged."""
        if state.digest not in self._learners:
            blob = b"".join(self._chunks.get(key, b"") for key in state.chunk_keys())
            if _digest(blob) != state.digest or (learner := _parsed(blob)) is None:
                return state
            self._learners[state.digest] = learner
            for key in state.chunk_keys():
                self._chunks.pop(key, None)
        return FileState(state.name, state.digest, state.chunks, self._learners[state.digest])


def _written(learner: StoredLearner) -> bytes:
    sure = {"calibration": learner.calibration.hex()} if learner.calibration else {}
    header = write_json({"learner": learner.identity, "columns": learner.columns, **sure})
    return len(header).to_bytes(4, "little") + header + learner.memory


def _parsed(blob: bytes) -> StoredLearner | None:
    """Parse a stored state; None if it is none."""
    begin = 4 + int.from_bytes(blob[:4], "little")
    try:
        header = StoredFields.parse(blob[4:begin], "the state")
        columns = header.texts("columns") if header.has("columns") else None
        calibration = bytes.fromhex(header.text("calibration") if header.has("calibration") else "")
        return StoredLearner(header.object("learner").plain, columns, blob[begin:], calibration)
    except (Malformed, ValueError):
        return None


def _digest(blob: bytes) -> str:
    return hashlib.blake2b(blob, digest_size=DIGEST_BYTES).hexdigest()
