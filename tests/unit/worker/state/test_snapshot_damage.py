"""A damaged snapshot is distinguished from a valid one and from one of another model, wherever the damage is."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from driftway.worker.state import snapshot
from driftway.worker.state.model import Model
from driftway.worker.state.snapshot import BadSnapshot, DamagedSnapshot
from driftway.worker.state.stored_fields import CHUNK_BYTES, split_chunks
from tests.support.examples import repetitions
from tests.unit.worker.rows import events, model_settings, records, wire
from tests.unit.worker.state.test_snapshot import BLOB, HEADER_END, SETTINGS, blob_of, learned

LONG = blob_of(learned(model_settings("dfop:mu=0.01", window=500_000)))
"""Two megabytes of window: three chunks."""
DAMAGED = "the snapshot is damaged: its checksum does not match"


def require_damaged(blob: bytes, model: Model) -> None:
    """Fail unless `blob` is refused as damaged, not accepted, taken for a foreign one or ended by another exception."""
    with pytest.raises(DamagedSnapshot) as caught:
        snapshot.read(blob, model)
    assert str(caught.value) == DAMAGED


@pytest.fixture(scope="module")
def model() -> Model:
    """Return one model for all tests: damage leaves it unchanged, as a test below shows."""
    return Model(SETTINGS, 3)


def flipped(blob: bytes, at: int, mask: int) -> bytes:
    return blob[:at] + bytes([blob[at] ^ mask]) + blob[at + 1 :]


def test_every_flipped_byte_and_bit_of_the_header_is_detected(model: Model) -> None:
    masks = [0xFF, *(1 << bit for bit in range(8))]
    for at in range(HEADER_END):
        for mask in masks:
            require_damaged(flipped(BLOB, at, mask), model)


@pytest.mark.random_cases
def test_flipped_bytes_of_the_body_are_detected(model: Model) -> None:
    rng = random.Random(20)
    for _ in range(repetitions(1000)):
        at = rng.randrange(HEADER_END, len(BLOB))
        require_damaged(flipped(BLOB, at, rng.randrange(1, 256)), model)


def test_every_flipped_byte_of_the_checksum_is_detected(model: Model) -> None:
    for at in range(len(BLOB) - 16, len(BLOB)):
        require_damaged(flipped(BLOB, at, 0xFF), model)


def test_every_truncation_is_detected(model: Model) -> None:
    edges = [e + i for e in (0, 4, 8, HEADER_END, len(BLOB) - 16) for i in range(-3, 4)]
    lengths = {n for n in [*edges, *range(64), *range(64, len(BLOB), 37), len(BLOB) - 1] if 0 <= n < len(BLOB)}
    for length in lengths:
        require_damaged(BLOB[:length], model)
        require_damaged(BLOB[len(BLOB) - length :], model)


def test_extra_or_missing_bytes_are_detected(model: Model) -> None:
    require_damaged(BLOB + b"\x00", model)
    require_damaged(b"\x00" + BLOB, model)
    require_damaged(BLOB * 2, model)
    require_damaged(BLOB[:100] + BLOB[101:], model)
    require_damaged(bytes(len(BLOB)), model)


@given(st.data())
def test_any_damage_is_detected(data: st.DataObject) -> None:
    """Up to five spans overwritten with anything else."""
    spoilt = bytearray(BLOB)
    for _ in range(data.draw(st.integers(1, 5))):
        at = data.draw(st.integers(0, len(BLOB) - 1))
        piece = data.draw(st.binary(min_size=1, max_size=64))
        spoilt[at : at + len(piece)] = piece
    if bytes(spoilt) != BLOB:
        with pytest.raises(BadSnapshot):
            snapshot.read(bytes(spoilt), Model(SETTINGS, 3))


@given(st.binary(max_size=200))
def test_arbitrary_bytes_are_detected(data: bytes) -> None:
    for blob in (data, b"DWT1" + data, b"DWT2" + data):
        with pytest.raises(BadSnapshot):
            snapshot.read(blob, Model(SETTINGS, 3))


def test_swapped_missing_or_repeated_chunks_are_detected() -> None:
    model = Model(model_settings("dfop:mu=0.01", window=500_000), 3)
    chunks = split_chunks(LONG)
    assert len(chunks) == 3
    a, b, c = chunks
    for wrong in ([b, a, c], [a, c, b], [c, b, a], [a, b], [a, c], [b, c], [a], [a, a, c], [a, b, b], [a, b, c, c]):
        require_damaged(b"".join(wrong), model)
    for at in (0, CHUNK_BYTES - 1, CHUNK_BYTES, 2 * CHUNK_BYTES, len(LONG) - 17):
        require_damaged(flipped(LONG, at, 0x10), model)
    assert snapshot.read(b"".join(chunks), model)[1] == 170


def test_chunks_of_two_snapshots_are_not_combined() -> None:
    """Same model, same size, another state: only the checksum can tell."""
    settings = model_settings("dfop:mu=0.01", window=500_000)
    later = learned(settings)
    later.advance(records(events(10, seed=6), first=170))
    other = blob_of(later)
    assert len(other) == len(LONG)
    mixed = [*split_chunks(LONG)[:1], *split_chunks(other)[1:]]
    require_damaged(b"".join(mixed), Model(settings, 3))


def test_a_damaged_snapshot_leaves_the_model_unchanged() -> None:
    model = Model(SETTINGS, 3)
    require_damaged(flipped(BLOB, len(BLOB) - 1, 1), model)
    require_damaged(flipped(BLOB, 3, 3), model)  # the magic's 1 becomes 2: damage, not a newer format
    assert wire([model.advance(records(events()))]) == wire([Model(SETTINGS, 3).advance(records(events()))])
