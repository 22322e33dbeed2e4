"""States from before units of time go on as they began, and units may be added to them."""

from __future__ import annotations

import pytest

from driftway.worker.state import snapshot
from driftway.worker.state.model import Model
from driftway.worker.state.snapshot import ForeignSnapshot
from driftway.worker.wire.schema.schema import EventSchema
from tests.unit.worker.rows import model_settings, records

FEATURES, TIME = ["n", "born:time=seconds"], "at"
OLD = {"features": FEATURES, "time": TIME}
"""As an earlier version wrote it."""
VALUES = [
    b'{"n":%d,"born":%d,"at":%d,"y":%d}' % (i, 1_700_000_000 * 1000 ** (i % 2), 1_700_000_000_000 + i, i % 2)
    for i in range(200)
]
CUT = 120


def model_of(events: EventSchema) -> Model:
    return Model(model_settings("arow", events=events), 0)


def old_snapshot() -> bytes:
    model = model_of(EventSchema.of_dict(OLD))
    model.advance(records(VALUES[:CUT]))
    return snapshot.write(model, model.save(), CUT)


def rest() -> list[bytes]:
    """Return the rest of the predictions by the model that wrote the snapshot."""
    model = model_of(EventSchema.of_dict(OLD))
    model.advance(records(VALUES[:CUT]))
    out = model.advance(records(VALUES[CUT:], first=CUT))
    assert out.rejected == []
    return list(out.predictions)


def test_a_state_from_before_units_continues_with_the_same_bits() -> None:
    model = model_of(EventSchema.parse(FEATURES, time=TIME))
    snapshot.read(old_snapshot(), model)
    assert list(model.advance(records(VALUES[CUT:], first=CUT)).predictions) == rest()
    again = model_of(EventSchema.parse(FEATURES, time=TIME))
    snapshot.read(snapshot.write(model, model.save(), len(VALUES)), again)
    assert again.settings.events == model.settings.events
    assert [one.tobytes() for one in again.save().parts] == [one.tobytes() for one in model.save().parts]


def test_a_new_model_reads_no_number_without_a_unit() -> None:
    out = model_of(EventSchema.parse(FEATURES, time=TIME)).advance(records(VALUES))
    message = "is a number without a unit: write unit=s, ms, us, ns or days into the schema"
    assert {one.reason for one in out.rejected} == {f"at {message}"}
    assert len(out.rejected) == len(VALUES)


def test_units_are_added_to_a_running_group() -> None:
    events = EventSchema.parse(["n", "born:time=seconds,unit=ms"], time="at:unit=ms")
    model = model_of(events)
    snapshot.read(old_snapshot(), model)
    later = [value for i, value in enumerate(VALUES) if i >= CUT and i % 2]
    out = model.advance(records(later, first=CUT))
    assert out.rejected == []
    again = model_of(events)
    snapshot.read(snapshot.write(model, model.save(), len(VALUES)), again)
    assert again.rows == model.rows


@pytest.mark.parametrize(
    ("features", "time"),
    [(["n", "born:time=day"], TIME), (["n"], TIME), (FEATURES, "t"), (["born:time=seconds", "n"], TIME)],
)
def test_another_schema_is_refused_as_before(features: list[str], time: str) -> None:
    with pytest.raises(ForeignSnapshot, match=r"^the snapshot was made with event (features|time) [^{}\[\]]*$"):
        snapshot.read(old_snapshot(), model_of(EventSchema.parse(features, time=time)))
