"""A model's snapshot: one blob with a checksum, split into records of the snapshot topic.

Layout: magic (4 bytes), header length (4, little-endian), header (JSON), state parts, digest (16). The header
holds the format number, the input offset of the state, the schema, the part sizes, the model's identity, its plan from
the second on, and what the state has read of its input; in a model file (`driftway.worker.state.model_file`) its
provenance instead.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from driftway.learners.engine.state import limited_to
from driftway.learners.metrics.calibrator import FORM as FORM_OF_CALIBRATORS
from driftway.worker.errors import Failure, plural
from driftway.worker.settings.identity import features_in_words, in_words, is_plannable
from driftway.worker.state.input_read import NOTHING_KNOWN, InputRead
from driftway.worker.state.model import Model, SavedState
from driftway.worker.state.monitoring.confidence import NO_FORM
from driftway.worker.state.plans.model_plan import FIRST, ModelPlan
from driftway.worker.state.stored_fields import MAX_PARTITIONS, Malformed, StoredFields
from driftway.worker.wire.codec import PACKED, read_json, write_json
from driftway.worker.wire.events import Reject, Schema

MAGIC = b"DWT1"
FORMAT = 2
"""States of format 1 were computed with the C library's exp, log and the like, whose bits differ between machines."""
DIGEST_BYTES = 16
MAX_FEATURES = 1 << 22
"""Most features of learners that keep nothing about each one; the others have more bytes of state than features."""
HEADER = "the header"
NOT_UNDERSTOOD = "the snapshot is intact, but this version does not understand its header"


class BadSnapshot(ValueError):
    """A snapshot cannot be used; raised directly if it, or its pointer, does not match the committed offset."""


class DamagedSnapshot(BadSnapshot):
    """It is missing, truncated or altered by accident, so an older one may be used instead."""


class ForeignSnapshot(BadSnapshot):
    """It is intact, but of another model or a newer format: the user changed something and must say what to do."""


def write(
    model: Model,
    saved: SavedState,
    offset: int,
    origin: dict[str, Any] | None = None,
    read: InputRead | None = None,
) -> bytes:
    """Serialise `saved`, the state at input offset `offset`.

    Parameters
    ----------
    model, saved, offset
        The model, its state, and the input offset where that stands.
    origin : dict or None
        The provenance, in a model file.
    read : InputRead or None
        What the state has read of its input, in a partition's snapshot.
    """
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
            **({} if model.plan.number == FIRST or origin is not None else {"plan": model.plan.as_dict()}),
            **({} if origin is None else {"origin": origin}),
            **({} if saved.calibration == NO_FORM else {"calibration": saved.calibration}),
            **({} if read is None else {"read": read.as_dict()}),
        }
    )
    body = b"".join([MAGIC, len(header).to_bytes(4, "little"), header, *(part.tobytes() for part in saved.parts)])
    return body + _digest(body)


@dataclass(frozen=True)
class SnapshotContents:
    """The contents of a snapshot.

    Parameters
    ----------
    header : dict
        As stored.
    saved : SavedState
        The state.
    """

    header: dict[str, Any]
    saved: SavedState

    @property
    def offset(self) -> int:
        """Input offset of the state."""
        return int(self.header["offset"])

    @property
    def partition(self) -> int:
        """Partition of the state."""
        return int(self.header["partition"])

    @property
    def identity(self) -> dict[str, Any]:
        """The model's identity, see `Model.identity`."""
        return dict(self.header["model"])


def read(blob: bytes, model: Model) -> tuple[SavedState, int]:
    """Load a snapshot into `model`; return the state and its input offset.

    Raises
    ------
    DamagedSnapshot
        The checksum does not match; `model` is unchanged.
    ForeignSnapshot
        It is of a newer format, or of another model; `model` must then not be used.
    """
    contents = parse(blob)
    if model.partition != contents.partition:
        raise ForeignSnapshot(f"the snapshot is of partition {contents.partition}, not {model.partition}")
    _require_same(contents.identity, model)
    _require_features(contents.saved, model)
    load(contents, model)
    return contents.saved, contents.offset


class PlannedSnapshot(NamedTuple):
    """A snapshot that was read into a model of its plan."""

    model: Model
    saved: SavedState
    offset: int
    """Input offset of the state."""
    header: SnapshotHeader | None


def read_planned(blob: bytes, make_model: Callable[[ModelPlan | None], Model]) -> PlannedSnapshot:
    """Read a snapshot into a model of its plan, which `make_model` makes; None: of the first.

    Raises
    ------
    DamagedSnapshot
        The checksum does not match.
    ForeignSnapshot
        It is of a newer format, or of another model, or this version cannot make a model of its plan.
    """
    header = read_snapshot_header(blob)
    try:
        model = make_model(None if header is None else header.plan)
    except (Failure, ValueError) as error:
        _require_whole(blob)
        raise ForeignSnapshot(f"the snapshot's plan cannot be used: {error}") from None
    return PlannedSnapshot(model, *read(blob, model), header)


def parse(blob: bytes) -> SnapshotContents:
    """Parse a snapshot of any model.

    Raises
    ------
    DamagedSnapshot
        The checksum does not match.
    ForeignSnapshot
        It is of a newer format, or not understood.
    """
    _require_whole(blob)
    try:
        return _parse(blob)
    except Malformed:
        raise ForeignSnapshot(NOT_UNDERSTOOD) from None


def _parse(blob: bytes) -> SnapshotContents:
    """As `parse`, for a blob whose checksum matches."""
    header, state = _header(blob)
    fields = StoredFields(header, HEADER)
    version = fields.integer("format")
    if version == 1:
        raise ForeignSnapshot(
            "the snapshot has format 1, from before Driftway had its own exp and log: its scores would differ in the "
            "last bits; continue with the version that wrote it, or start a new group"
        )
    if version > FORMAT:
        raise ForeignSnapshot(f"the snapshot has format {version}, this version reads up to {FORMAT}")
    sizes = fields.integers("sizes")
    if state + sum(sizes) + DIGEST_BYTES != len(blob):
        raise ForeignSnapshot("the snapshot is intact, but its parts have other sizes than its header says")
    parts, start = [], state
    for nbytes in sizes:
        parts.append(np.frombuffer(blob, np.uint8, nbytes, start))
        start += nbytes
    schema = _schema(fields.object("schema"), sum(sizes)) if fields.has("schema") else None
    fields.integer("offset")
    fields.integer("partition", at_most=MAX_PARTITIONS)
    model = fields.object("model")
    model.items("learners")
    for state_of_learner in model.items("states"):
        StoredFields(state_of_learner, "states")
    saved = SavedState(schema, fields.integer("rows"), tuple(parts), calibration=_calibration(fields))
    return SnapshotContents(header, saved)


def _calibration(fields: StoredFields) -> int:
    """The form of the calibrators; earlier versions had none."""
    form = fields.integer("calibration") if fields.has("calibration") else NO_FORM
    if form > FORM_OF_CALIBRATORS:
        raise ForeignSnapshot(
            f"the snapshot has calibrators of form {form}, this version reads up to {FORM_OF_CALIBRATORS}"
        )
    return form


def _schema(fields: StoredFields, nbytes: int) -> Schema:
    """The schema of a state of `nbytes` bytes."""
    names = fields.texts("names") if fields.has("names") else None
    n_features = fields.integer("n_features", at_least=1, at_most=max(nbytes, MAX_FEATURES))
    if names is not None and len(names) != n_features:
        raise Malformed(f"names has {len(names)} names, not {n_features}")
    return Schema(n_features, names)


def load(contents: SnapshotContents, model: Model) -> None:
    """Load a state into a model of the same identity.

    Raises
    ------
    ForeignSnapshot
        Its learners or their state layout differ from the model's; `model` must then not be used.
    """
    theirs = contents.identity["states"]
    try:
        with limited_to(contents.saved.nbytes):
            model.load(contents.saved)
    except (ValueError, Failure) as error:
        raise ForeignSnapshot(_other_rules(theirs, model) or str(error)) from None
    if theirs != read_json(write_json(model.identity()))["states"]:
        other = "the snapshot's learners have other parameters or another state layout"
        raise ForeignSnapshot(_other_rules(theirs, model) or other)


def _other_rules(theirs: Sequence[Mapping[str, Any]], model: Model) -> str | None:
    """Say that the update rules of a learner are others than the snapshot's; None if they are the same."""
    for one, other in zip(theirs, model.identity()["states"], strict=False):
        if one.get("revision", 0) != other.get("revision", 0):
            return (
                f"the snapshot's {other['learner']} learned by other rules than this version's, whose scores would "
                "differ; continue with the version that wrote it, or start a new group"
            )
    return None


@dataclass(frozen=True)
class SnapshotHeader:
    """What a first chunk says about its snapshot; nothing is verified before `read`."""

    state_offset: int
    nbytes: int
    read: InputRead = NOTHING_KNOWN
    plan: ModelPlan | None = None  # of its models; None: the first
    identity: Any = field(default=None, compare=False)
    """Its model, and its schema; None before the first row."""

    @property
    def plan_number(self) -> int:
        """Number of its models' plan."""
        return FIRST if self.plan is None else self.plan.number


def read_snapshot_header(chunk: bytes) -> SnapshotHeader | None:
    """Parse the header of the snapshot that begins with `chunk`; None if it cannot be read."""
    if chunk[:4] != MAGIC:
        return None
    try:
        header, state = _header(chunk)
        fields = StoredFields(header, HEADER)
        nbytes = state + sum(fields.integers("sizes")) + DIGEST_BYTES
        read = InputRead.from_dict(header.get("read"))
        identity = header.get("model"), header.get("schema")
        return SnapshotHeader(fields.integer("offset"), nbytes, read, ModelPlan.of_header(fields), identity)
    except Malformed:
        return None


def _digest(*parts: bytes) -> bytes:
    return hashlib.blake2b(b"".join(parts), digest_size=DIGEST_BYTES).digest()


def _header(blob: bytes) -> tuple[dict[str, Any], int]:
    """The header, and where the state parts begin; raise `Malformed` if it is no JSON object."""
    state = 8 + int.from_bytes(blob[4:8], "little")
    return StoredFields.parse(blob[8:state], HEADER).plain, state


def _require_whole(blob: bytes) -> None:
    """Check magic and checksum. If only the format byte was altered, it is damage, not a newer format."""
    body, digest = blob[:-DIGEST_BYTES], blob[-DIGEST_BYTES:]
    if len(blob) > DIGEST_BYTES and blob[:3] == MAGIC[:3] and blob[3:4] != MAGIC[3:4]:
        if _digest(MAGIC, body[4:]) != digest:
            raise ForeignSnapshot(f"the snapshot has format {blob[:4]!r}, this version reads {MAGIC!r}")
    elif len(blob) > DIGEST_BYTES + 8 and blob[:4] == MAGIC and _digest(body) == digest:
        return
    raise DamagedSnapshot("the snapshot is damaged: its checksum does not match")


def _require_same(theirs: dict[str, Any], model: Model) -> None:
    """Compare two identities, except for `states`; raise `ForeignSnapshot` with the first difference."""
    continued = model.continue_schema(theirs.get("event"))
    ours = read_json(write_json(model.identity()))
    theirs = {**theirs, "event": ours["event"]} if continued else theirs
    if _beginning(theirs) != _beginning(ours):
        raise ForeignSnapshot(
            f"the snapshot was made {_beginning(theirs)}, this worker starts {_beginning(ours)}; a group keeps what it "
            "started with"
        )
    for key in {**ours, **theirs}:
        made, has = theirs.get(key), ours.get(key)
        if key != "states" and made != has:
            name, made_with, now = in_words(key, made, has)
            way_out = "give it the options that the group began with"
            if is_plannable(key, made, has):
                way_out = "--plan from-options makes the options the next plan"
            raise ForeignSnapshot(f"the snapshot was made with {name} {made_with}, this worker has {now}; {way_out}")


def _require_features(saved: SavedState, model: Model) -> None:
    """Compare the features of plain events, not part of an identity; raise `ForeignSnapshot` if rows had others."""
    ours, theirs = model.settings.shape, saved.schema
    if theirs is None or ours is None or model.settings.events is not None or not saved.rows:
        return
    if model.settings.form == PACKED:  # such events name no features
        ours, theirs = Schema(ours.n_features), Schema(theirs.n_features)
    try:
        ours.check([0] * theirs.n_features if theirs.names is None else dict.fromkeys(theirs.names))
    except Reject as reject:
        words = f"{reject}; give --features as the group began, or leave it out"
        raise ForeignSnapshot(f"the snapshot was made with other features than this worker has: {words}") from None


def _beginning(identity: dict[str, Any]) -> str:
    if identity.get("warm") is None:
        return "without --warm-start"
    frozen = " and --frozen" if identity.get("frozen") else ""
    return f"with --warm-start of model file {identity['warm']}{frozen}"


def first_difference(written: SavedState, computed: SavedState) -> str | None:
    """How a written state differs from the computed one; None if it does not."""
    if written.schema != computed.schema:
        return f"expected {features_in_words(computed.schema)}, found {features_in_words(written.schema)}"
    if written.rows != computed.rows:
        return f"expected {plural(computed.rows, 'row')} learned, found {written.rows}"
    if len(written.parts) != len(computed.parts):
        return f"expected {len(computed.parts)} parts of state, found {len(written.parts)}"
    for i, (theirs, ours) in enumerate(zip(written.parts, computed.parts, strict=True)):
        if theirs.tobytes() != ours.tobytes():
            changed = (theirs != ours).nonzero()[0] if theirs.shape == ours.shape else []
            return f"expected the recomputed state, found {len(changed)} of {ours.nbytes} bytes of part {i} different"
    return None
