"""A model written down: one blob with a checksum, cut into records of the snapshot topic.

Layout: magic (4 bytes), header length (4, little-endian), header (JSON), state parts, digest (16). The header
holds the format's number, the offset the state stands at, the schema, the part sizes and the model's identity; in a
model file (`driftway.worker.state.model_file`) also where the model comes from.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from typing import Any

import numpy as np

from driftway.worker.state.model import Model, SavedState
from driftway.worker.wire.codec import read_json, write_json
from driftway.worker.wire.events import Schema

MAGIC = b"DWT1"
FORMAT = 2
"""1: its states were computed with the C library's exp, log and their like, whose bits differ between machines."""
DIGEST_BYTES = 16
CHUNK_BYTES = 900_000
"""Below the broker's default limit of 1 MiB a record, with room for key and framing."""
CLAIM_PARTITION = 0
"""The partition that has the claims."""
CLAIM_PREFIX = b"claim "
"""What keys of claims begin with; no partition is called so."""
AT_LEAST_ONCE_SUFFIX = ":plain"
"""Behind a pointer: no position was written with it, since at-least-once has no transaction that would hold both."""
NOT_UNDERSTOOD = "the snapshot is whole, but this version does not understand its header"


class BadSnapshot(ValueError):
    """A snapshot cannot be used; raised itself when it, or its pointer, does not go with the committed offset."""


class DamagedSnapshot(BadSnapshot):
    """It is missing, cut short or altered: an accident, so an older one may stand in for it."""


class ForeignSnapshot(BadSnapshot):
    """It is whole, but of another model or a newer format: somebody changed something and must say what to do."""


@dataclass(frozen=True)
class Pointer:
    """Where a partition's newest snapshot is: kept in the metadata text of the committed offset.

    Parameters
    ----------
    first : int
        Offset of the first chunk in the snapshot topic.
    chunks : int
        Number of chunks, at consecutive records.
    state_offset : int
        S, the input offset the state stands at.
    """

    first: int
    chunks: int
    state_offset: int

    def text(self) -> str:
        """The pointer as metadata text."""
        return f"driftway1:{self.first}:{self.chunks}:{self.state_offset}"

    @classmethod
    def parse(cls, text: str | None) -> Pointer | None:
        """Read metadata text; None if it is not a pointer (someone else committed the offset)."""
        found = re.fullmatch(rf"driftway1:([0-9]+):([0-9]+):([0-9]+)(?:{AT_LEAST_ONCE_SUFFIX})?", text or "")
        return cls(*map(int, found.groups())) if found else None


def write(model: Model, saved: SavedState, offset: int, origin: dict[str, Any] | None = None) -> bytes:
    """Write down `saved`, which stands at input offset `offset`; `origin` says in a file where it comes from."""
    schema = saved.schema
    header = write_json(
        {
            "format": FORMAT,
            "offset": offset,
            "partition": model.partition,
            "rows": saved.rows,
            "schema": None if schema is None else {"n_features": schema.n_features, "names": schema.names},
            "sizes": [part.nbytes for part in saved.parts],
            "model": model.identity(),
            **({} if origin is None else {"origin": origin}),
        }
    )
    body = b"".join([MAGIC, len(header).to_bytes(4, "little"), header, *(part.tobytes() for part in saved.parts)])
    return body + _digest(body)


@dataclass(frozen=True)
class Contents:
    """What is written in a snapshot.

    Parameters
    ----------
    header : dict
        As it stands there.
    saved : SavedState
        The state.
    """

    header: dict[str, Any]
    saved: SavedState

    @property
    def offset(self) -> int:
        """The input offset that the state stands at."""
        return int(self.header["offset"])

    @property
    def partition(self) -> int:
        """Whose state it is."""
        return int(self.header["partition"])

    @property
    def identity(self) -> dict[str, Any]:
        """Of the model, see `Model.identity`."""
        return dict(self.header["model"])


def read(blob: bytes, model: Model) -> tuple[SavedState, int]:
    """Load a snapshot into `model`; return what was loaded and the input offset it stands at.

    Raises
    ------
    DamagedSnapshot
        The checksum does not fit; `model` is as it was.
    ForeignSnapshot
        Of a newer format, or of another model; `model` must then not be used.
    """
    contents = parse(blob)
    if model.partition != contents.partition:
        raise ForeignSnapshot(f"the snapshot is of partition {contents.partition}, not {model.partition}")
    _require_same(contents.identity, model)
    load(contents, model)
    return contents.saved, contents.offset


def parse(blob: bytes) -> Contents:
    """Read a snapshot, of whatever model.

    Raises
    ------
    DamagedSnapshot
        The checksum does not fit.
    ForeignSnapshot
        Of a newer format, or not understood.
    """
    _require_whole(blob)
    try:
        return _parse(blob)
    except BadSnapshot:
        raise
    except (ValueError, TypeError, KeyError, AttributeError):
        raise ForeignSnapshot(NOT_UNDERSTOOD) from None


def _parse(blob: bytes) -> Contents:
    """As `parse`, for a blob whose checksum fits."""
    header, state = _header(blob)
    if header["format"] == 1:
        raise ForeignSnapshot(
            "the snapshot is of format 1, from before Driftway had its own exp and log: its scores would go on with "
            "other last bits; let the version that wrote it go on, or begin a new group"
        )
    if header["format"] > FORMAT:
        raise ForeignSnapshot(f"the snapshot is of format {header['format']}, this version reads up to {FORMAT}")
    if state + sum(header["sizes"]) + DIGEST_BYTES != len(blob):
        raise ForeignSnapshot("the snapshot is whole, but its parts have other sizes than its header says")
    parts, start = [], state
    for nbytes in header["sizes"]:
        parts.append(np.frombuffer(blob, np.uint8, nbytes, start))
        start += nbytes
    schema = header["schema"]
    names = schema and schema["names"] and tuple(schema["names"])
    saved = SavedState(Schema(schema["n_features"], names) if schema else None, int(header["rows"]), tuple(parts))
    contents = Contents(header, saved)
    lists = contents.identity["learners"], contents.identity["states"]
    if contents.offset < 0 or contents.partition < 0 or not all(isinstance(one, list) for one in lists):
        raise ForeignSnapshot(NOT_UNDERSTOOD)
    return contents


def load(contents: Contents, model: Model) -> None:
    """Load a state into a model of the same identity.

    Raises
    ------
    ForeignSnapshot
        Its learners are others than the model's, or lie in memory otherwise; `model` must then not be used.
    """
    try:
        model.load(contents.saved)
    except ValueError as error:
        raise ForeignSnapshot(str(error)) from None
    if contents.identity["states"] != read_json(write_json(model.identity()))["states"]:
        raise ForeignSnapshot("the snapshot's learners have other parameters or another state layout")


@dataclass(frozen=True)
class SnapshotHeader:
    """What a first chunk says of its snapshot, on its own word: nothing is checked before `read`."""

    state_offset: int
    nbytes: int


def read_snapshot_header(chunk: bytes) -> SnapshotHeader | None:
    """The outline of the snapshot that begins with `chunk`; None if that cannot be read."""
    if chunk[:4] != MAGIC:
        return None
    try:
        header, state = _header(chunk)
        return SnapshotHeader(int(header["offset"]), state + sum(header["sizes"]) + DIGEST_BYTES)
    except (ValueError, TypeError, KeyError):
        return None


def _digest(*parts: bytes) -> bytes:
    return hashlib.blake2b(b"".join(parts), digest_size=DIGEST_BYTES).digest()


def _header(blob: bytes) -> tuple[Any, int]:
    """The header, and where the state parts begin."""
    state = 8 + int.from_bytes(blob[4:8], "little")
    return read_json(blob[8:state]), state


def _require_whole(blob: bytes) -> None:
    """Check magic and checksum. A number of format that is the only flipped byte is damage, not a newer format."""
    body, digest = blob[:-DIGEST_BYTES], blob[-DIGEST_BYTES:]
    if len(blob) > DIGEST_BYTES and blob[:3] == MAGIC[:3] and blob[3:4] != MAGIC[3:4]:
        if _digest(MAGIC, body[4:]) != digest:
            raise ForeignSnapshot(f"the snapshot is of format {blob[:4]!r}, this version reads {MAGIC!r}")
    elif len(blob) > DIGEST_BYTES + 8 and blob[:4] == MAGIC and _digest(body) == digest:
        return
    raise DamagedSnapshot("the snapshot is damaged: its checksum does not fit")


def _require_same(theirs: dict[str, Any], model: Model) -> None:
    """Name the first difference of two identities, but for the states', which `load` compares.

    Raises
    ------
    ForeignSnapshot
        There is one.
    """
    ours = read_json(write_json(model.identity()))
    if _beginning(theirs) != _beginning(ours):
        raise ForeignSnapshot(
            f"the snapshot was made {_beginning(theirs)}, this worker starts {_beginning(ours)}; a group keeps what it "
            "began with"
        )
    for key in {**ours, **theirs}:
        if key != "states" and theirs.get(key) != ours.get(key):
            made, has = (one.get(key, "none") for one in (theirs, ours))
            raise ForeignSnapshot(f"the snapshot was made with {key} {made}, this worker has {has}")


def _beginning(identity: dict[str, Any]) -> str:
    if identity.get("warm") is None:
        return "without --warm-start"
    frozen = " and --frozen" if identity.get("frozen") else ""
    return f"with --warm-start of model file {identity['warm']}{frozen}"


def first_difference(written: SavedState, computed: SavedState) -> str | None:
    """How a written state differs from the computed one; None if it does not."""
    if written.schema != computed.schema:
        return f"expected the schema {computed.schema}, found {written.schema}"
    if written.rows != computed.rows:
        return f"expected {computed.rows} rows learned, found {written.rows}"
    if len(written.parts) != len(computed.parts):
        return f"expected {len(computed.parts)} parts of state, found {len(written.parts)}"
    for i, (theirs, ours) in enumerate(zip(written.parts, computed.parts, strict=True)):
        if theirs.tobytes() != ours.tobytes():
            places = (theirs != ours).nonzero()[0] if theirs.shape == ours.shape else []
            return f"expected the recomputed state, found {len(places)} of {ours.nbytes} bytes of part {i} different"
    return None


def split_chunks(blob: bytes) -> list[bytes]:
    """The blob's chunks, at least one."""
    return [blob[i : i + CHUNK_BYTES] for i in range(0, len(blob), CHUNK_BYTES)]


def chunk_key(partition: int, chunk: int) -> bytes:
    """Key of a chunk: the next snapshot's same chunk replaces it when the topic is compacted."""
    return f"{partition}.{chunk}".encode()


def commit_record_key(partition: int) -> bytes:
    """Key of the record that says up to where the partition is committed; see `changelog.snapshot_scan`."""
    return f"{partition}.position".encode()


def order_key(partition: int, begin: int) -> bytes:
    """Key of the record that says in which order labels were taken from an input offset to a snapshot."""
    return f"{partition}.order.{begin}".encode()


def is_order_key(key: bytes | None, partition: int) -> bool:
    """Whether a record says in which order labels were taken."""
    return (key or b"").startswith(f"{partition}.order.".encode())


def claim_key(group: str, input_topic: str) -> bytes:
    """Key of the record that says whose the outputs are; see `driftway.worker.state.changelog.ownership`."""
    return CLAIM_PREFIX + f"{group}/{input_topic}".encode()


def mark_key(partition: int) -> bytes:
    """Key of the mark that says where a partition's present history began; see `changelog.snapshot_scan`."""
    return f"{partition}.history".encode()


def is_mark_key(key: bytes | None, partition: int) -> bool:
    """Whether a record is such a mark; earlier versions called it `began`."""
    return key in (mark_key(partition), f"{partition}.began".encode())
