"""Mutations of stored bytes: what a hostile or broken writer may leave in a topic or a file.

A mutation is a function of a seed. JSON is changed in its structure, so that the result is still JSON; anything may
have its bytes flipped, cut, repeated or inserted.
"""

from __future__ import annotations

import contextlib
import copy
import random
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import orjson
from confluent_kafka import TopicPartition

from driftway.learners import Spec
from driftway.worker.admin.state_admin.listing import SnapshotList
from driftway.worker.errors import Failure
from driftway.worker.kafka.interface import OffsetRange
from driftway.worker.settings import ModelSettings
from driftway.worker.settings.option_values import EVERY_MODEL, LabelWait, SharingOption
from driftway.worker.state import model_file, snapshot
from driftway.worker.state.changelog.commit_record import CommitRecord
from driftway.worker.state.changelog.emission import Emission
from driftway.worker.state.changelog.ownership import read_claim
from driftway.worker.state.changelog.record_keys import emission_key, plan_key
from driftway.worker.state.changelog.snapshot_pointer import Pointer
from driftway.worker.state.changelog.snapshot_scan import SnapshotScan, read_mark
from driftway.worker.state.delayed_labels.merge_order import MergeOrder, MergePosition
from driftway.worker.state.model import Model
from driftway.worker.state.model_sharing.exchange_record import read_record_header, with_current_names
from driftway.worker.state.plans.model_plan import ModelPlan, PlanAdoption, PlannedModel
from driftway.worker.state.plans.plan_topic import parse_plan
from driftway.worker.wire.events import REGRESSION, Target
from driftway.worker.wire.schema.feature import MissingPolicy
from driftway.worker.wire.schema.schema import EventSchema
from tests.unit.worker.rows import events, model_settings, records

ODD_VALUES: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 2, 7, 2**31, 2**53 + 1, 2**63 - 1, -(2**63), 2**64 - 1, 1e18, 1e308, -0.5, 5e-324,
    "", "x", "ü", "\x00", "9" * 5000, "-1", "1e400", "a:hash=100000000", "on_drift:" * 300 + "arow", "ova:ova:arow",
    "arow:r=1e308", "arow behind polynomial:degree=9", "fourier:D=100000000000", "10000000", "99999999999d",
    "driftway1:0:1:0", "driftway1:99999999999999999999999:1:0", [], [[]], [None], [0] * 1000, {}, {"": 0},
    {"a": {"b": []}},
)  # fmt: skip
"""Values that replace others: wrong types, and numbers and texts at the limits."""
DEEP = b"[" * 10_000 + b"]" * 10_000
LONG_NUMBER = b"9" * 5_000


def mutated_json(plain: Any, chance: random.Random) -> bytes:
    """Change one to three places of a JSON value."""
    plain = copy.deepcopy(plain)
    for _ in range(chance.choice((1, 1, 1, 2, 3))):
        plain = _mutated(plain, chance)
    text = orjson.dumps(plain)
    kind = chance.random()
    if kind < 0.02:
        return text.replace(b"null", DEEP, 1) if b"null" in text else DEEP
    if kind < 0.05:  # a number too long for any reader
        digits = [i for i, byte in enumerate(text) if byte in b"0123456789"]
        at = chance.choice(digits) if digits else 0
        return text[:at] + LONG_NUMBER + text[at:]
    return text if kind < 0.9 else mutated_bytes(text, chance)


def mutated_bytes(value: bytes, chance: random.Random) -> bytes:
    """Flip, cut, repeat or insert bytes."""
    at = chance.randrange(len(value) + 1)
    kind = chance.randrange(5)
    if kind == 0:
        return value[:at]
    if kind == 1:
        return value[:at] + chance.randbytes(chance.randrange(1, 9)) + value[at:]
    if kind == 2:
        return value[:at] + value[at + chance.randrange(1, 64) :]
    if kind == 3:
        return value[:at] + value[max(0, at - 32) :]
    changed = bytearray(value)
    for _ in range(chance.randrange(1, 5)):
        if changed:
            changed[chance.randrange(len(changed))] ^= 1 << chance.randrange(8)
    return bytes(changed)


def _places(plain: Any) -> Iterator[tuple[Any, Any]]:
    """Yield every container and key of a JSON value."""
    pairs = plain.items() if isinstance(plain, dict) else enumerate(plain) if isinstance(plain, list) else ()
    for key, inner in list(pairs):
        yield plain, key
        yield from _places(inner)


def _mutated(plain: Any, chance: random.Random) -> Any:
    places = list(_places(plain))
    if not places or chance.random() < 0.02:
        return copy.deepcopy(chance.choice(ODD_VALUES))
    container, key = chance.choice(places)
    old, kind = container[key], chance.randrange(8)
    if kind == 0:
        del container[key]
    elif kind == 1 and isinstance(container, dict):
        container[chance.choice(("x", "", "offset", "n_classes"))] = container.pop(key)
    elif kind == 2 and type(old) is int:
        container[key] = chance.choice((old + 1, old - 1, -old, old * 10**6, old * 10**12, float(old), str(old)))
        if abs(container[key] if not isinstance(container[key], str) else 0) >= 2**63:
            container[key] = 1e18
    elif kind == 3 and isinstance(old, list):
        container[key] = old * chance.choice((0, 2, 3))
    elif kind == 4 and isinstance(old, str) and old:
        at = chance.randrange(len(old))
        container[key] = old[:at] + chance.choice(("", "9", "999999999", ":", ",", "=", "/", "\x00", "é")) + old[at:]
    elif kind == 5:
        container[key] = [old]
    else:
        container[key] = copy.deepcopy(chance.choice(ODD_VALUES))
    return plain


Subject = Callable[[random.Random], None]
"""Reads one mutated value as the product does. Any exception other than the documented failures is a defect."""
SECONDS, MEGABYTES = 2.0, 300
"""Most that reading one value may take."""


def subjects() -> dict[str, Subject]:
    """Return name -> subject, over values that real models wrote."""
    found: dict[str, Subject] = {}
    for name, settings in model_kinds().items():
        model = Model(settings, 3)
        model.advance(records(rows_for(settings)))
        blob = snapshot.write(model, model.save(), 40, {"source": "EVENTS/3"})
        found[f"snapshot of {name}"] = _snapshot(settings, blob)
        if name == "on_drift":
            later = model.followed_by(ModelPlan(2, tuple(map(PlannedModel, settings.specs))))
            found["snapshot of a later plan"] = _snapshot(settings, snapshot.write(later, later.save(), 40))
        found[f"model file of {name}"] = _model_file(settings, blob)
    order = MergeOrder(MergePosition(0, 0), (MergePosition(5, 3), MergePosition(9, 3)))
    spans = {"E.g.predictions": OffsetRange(4, 203, 200)}
    full = CommitRecord(9, 5, Pointer(12, 3, 6), spans, "L", order, 3)
    for record in (full, CommitRecord(700), CommitRecord(0, None, None, spans)):
        found[f"commit record {len(found)}"] = _record(record.write(), CommitRecord.read)
    found["order"] = _record(order.write(), MergeOrder.read)
    adoption = PlanAdoption(70, ModelPlan(2, (PlannedModel(Spec.parse("pa1:C=1"), "pa1"),), {3: 70}, 1, "set pa1 C=1"))
    found["plan"] = _record(adoption.plan.write(), lambda value: parse_plan(value, "M/0@0", lambda _: None))
    found["adoption of a plan"] = _record(
        adoption.write(), lambda value: SnapshotScan(3, 0, 9).take(0, plan_key(3, 2), value)
    )
    found["emission"] = _record(
        Emission(70, EVERY_MODEL).write(), lambda value: SnapshotScan(3, 0, 9).take(0, emission_key(3, 70), value)
    )
    found["claim"] = _record(b'{"group":"g","input":"E","partitions":2}', lambda value: read_claim(value, "S/0@0"))
    found["mark"] = _record(b"1234", read_mark)
    found["pointer"] = lambda chance: _pointer(mutated_bytes(b"driftway1:120:3:4000:plain", chance))
    exchange = sharing_model().exchange
    assert exchange is not None
    for value in _exchange_records():
        found[f"exchange record {len(found)}"] = _record(value, exchange.read)
        found[f"header of exchange record {len(found)}"] = _record(value, read_record_header)
        found[f"earlier exchange record {len(found)}"] = _record(value, with_current_names)
    return found


def model_kinds() -> dict[str, ModelSettings]:
    """Return models that fill every field of a header."""
    events = EventSchema.parse(["a", "b:one-of=u/v"], label="good", missing="mean", indicators=True)
    return {
        "a list": model_settings("arow", "no_change"),
        "maps": model_settings("pa1", maps=tuple(map(Spec.parse, ("polynomial:degree=2", "hashing:buckets=8,seed=3")))),
        "fields": model_settings("arow", events=events, detectors=(Spec.parse("ddm"),)),
        "delayed labels": model_settings("perceptron", wait=LabelWait.parse("1h/20"), target=Target(labels=("n", "y"))),
        "missing values": model_settings("pa1", missing=MissingPolicy.parse("last"), indicators=True),
        "averaged": model_settings("dfop:mu=0.01", share=SharingOption("average", 20)),
        "regression": model_settings("ogd_square", target=Target(REGRESSION, 0)),
        "on_drift": model_settings("on_drift:pa1"),
    }


def rows_for(settings: ModelSettings) -> list[bytes]:
    """Return events that a model with these settings reads."""
    if settings.events is not None:
        return [b'{"a":%d,"b":"u","good":%d}' % (i, i % 2) for i in range(40)]
    if settings.target.labels:
        return [b'{"id":%d,"x":[1,%d],"y":"n"}' % (i, i) for i in range(40)]
    return events(40)


def sharing_model() -> Model:
    """Return a model that exchanges updates with other partitions."""
    model = Model(model_kinds()["averaged"], 0)
    model.advance(records(events(40), partition=0))
    return model


def _exchange_records() -> list[bytes]:
    model = Model(model_kinds()["averaged"], 0)
    assert model.exchange is not None
    model.exchange.replay([], 0)
    model.exchange.start(1, {})
    return [record.value for record in model.advance(records(events(200), partition=0)).shares][:2]


def _record(value: bytes, read: Callable[[bytes], object]) -> Subject:
    def subject(chance: random.Random) -> None:
        with contextlib.suppress(Failure):
            read(mutated_json(orjson.loads(value), chance))

    return subject


def _pointer(value: bytes) -> None:
    found = Pointer.parse(value.decode("latin-1"))
    if found is not None:
        TopicPartition("T", 0, found.first + 1)


def _mutated_blob(blob: bytes, chance: random.Random) -> bytes:
    """Mutate a header and write the digest again, or mutate the bytes of the parts, or of the whole."""
    header, state = snapshot._header(blob)
    parts = blob[state : -snapshot.DIGEST_BYTES]
    if chance.random() < 0.1:
        return mutated_bytes(blob, chance)
    if chance.random() < 0.1:
        parts = mutated_bytes(parts, chance)
    text = mutated_json(header, chance)
    size = chance.choice((0, 2**31, 2**32 - 1)) if chance.random() < 0.02 else len(text)
    body = snapshot.MAGIC + size.to_bytes(4, "little") + text + parts
    return body + snapshot._digest(body)


def _snapshot(settings: ModelSettings, blob: bytes) -> Subject:
    """Restore it as a worker does, after reading the first chunk."""

    def subject(chance: random.Random) -> None:
        mutated = _mutated_blob(blob, chance)
        snapshot.read_snapshot_header(mutated[:900])
        with contextlib.suppress(snapshot.BadSnapshot):
            snapshot.read_planned(mutated, lambda plan: Model(settings, 3, plan=plan))

    return subject


def _model_file(settings: ModelSettings, blob: bytes) -> Subject:
    """Open it, list it and start from it; learn from rows unless that would compile other kernels."""
    more, intact = rows_for(settings), blob[snapshot._header(blob)[1] : -snapshot.DIGEST_BYTES]

    def subject(chance: random.Random) -> None:
        mutated = _mutated_blob(blob, chance)
        listing = SnapshotList(3)
        listing.take(StoredChunk(mutated))
        with contextlib.suppress(Failure):
            file = model_file.unpack(mutated, "F")
            assert file.origin is None or isinstance(file.origin, dict)
            file.warm_start()
            model, found = file.model(), file.settings()
            same = found.specs == settings.specs and found.target == settings.target and found.maps == settings.maps
            if same and b"".join(part.tobytes() for part in file.saved.parts) == intact:
                model.advance(records(more, first=40))

    return subject


class StoredChunk(NamedTuple):
    """The part of a snapshot topic's message that a listing reads."""

    text: bytes

    def key(self) -> bytes:
        return b"3.0"

    def value(self) -> bytes:
        return self.text

    def offset(self) -> int:
        return 7

    def timestamp(self) -> tuple[int, int]:
        return 1, 1_700_000_000_000
