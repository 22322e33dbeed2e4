"""Snapshots of a model: read back bit for bit, or refused with one sentence."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from driftway.worker.settings import ModelSettings
from driftway.worker.state import snapshot
from driftway.worker.state.changelog import record_keys
from driftway.worker.state.changelog.snapshot_pointer import Pointer
from driftway.worker.state.model import Model
from driftway.worker.state.snapshot import DIGEST_BYTES, MAGIC, ForeignSnapshot
from driftway.worker.state.stored_fields import CHUNK_BYTES, split_chunks
from driftway.worker.wire.codec import PACKED, read_json, write_json
from driftway.worker.wire.events import Target
from driftway.worker.wire.packed import events as packed
from driftway.worker.wire.schema.feature import MissingPolicy
from tests.unit.worker.rows import events, model_settings, records, wire

SETTINGS = model_settings("dfop:mu=0.01", "pa1")
CUT = 170


def learned(settings: ModelSettings = SETTINGS, partition: int = 3) -> Model:
    model = Model(settings, partition)
    model.advance(records(events(CUT, regression=settings.target.task == "regression")))
    return model


def blob_of(model: Model, offset: int = CUT) -> bytes:
    return snapshot.write(model, model.save(), offset)


BLOB = blob_of(learned())
HEADER_END = 8 + int.from_bytes(BLOB[4:8], "little")


def sealed(header: Any, state: bytes = BLOB[HEADER_END:-DIGEST_BYTES], magic: bytes = MAGIC) -> bytes:
    """Return a snapshot with another header or magic and a matching checksum."""
    text = write_json(header)
    body = magic + len(text).to_bytes(4, "little") + text + state
    return body + hashlib.blake2b(body, digest_size=DIGEST_BYTES).digest()


def refusal(blob: bytes, settings: ModelSettings = SETTINGS, partition: int = 3) -> str:
    """Return the sentence with which a snapshot is refused."""
    with pytest.raises(ForeignSnapshot) as caught:
        snapshot.read(blob, Model(settings, partition))
    words = str(caught.value)
    assert " " in words
    assert "\n" not in words
    assert not words.endswith(".")
    return words


@pytest.mark.parametrize(
    "settings",
    [
        SETTINGS,
        model_settings("dfop:mu=0.01", standardize=False, n_features=4),
        model_settings("rls", task="regression"),
        model_settings("no_change", "majority_class", target=Target("classification", 2)),
    ],
)
def test_a_model_continues_from_its_snapshot_bit_for_bit(settings: ModelSettings) -> None:
    rows = records(events(regression=settings.target.task == "regression"))
    first, restored = learned(settings), Model(settings, 3)
    saved, offset = snapshot.read(blob_of(first, 1234), restored)
    assert (offset, restored.rows, restored.schema) == (1234, first.rows, first.schema)
    assert [a.tobytes() for a in saved.parts] == [b.tobytes() for b in first.save().parts]
    assert wire([restored.advance(rows.after(CUT))]) == wire([first.advance(rows.after(CUT))])
    assert blob_of(restored) == blob_of(first)


def test_names_of_features_are_stored() -> None:
    X_y = [b'{"x":{"b":2,"a":1},"y":1}', b'{"x":{"a":3,"b":4},"y":0}']
    first, restored = Model(SETTINGS, 3), Model(SETTINGS, 3)
    first.advance(records(X_y))
    snapshot.read(blob_of(first, 2), restored)
    assert restored.schema == first.schema
    out = restored.advance(records([b'{"x":{"a":1,"c":1}}'], first=2))
    assert out.rejected[0].reason == "x lacks b and has unknown c"


def test_a_model_that_has_seen_no_good_event_has_a_snapshot_too() -> None:
    model, restored = Model(SETTINGS, 3), Model(SETTINGS, 3)
    model.advance(records([b"?", None]))
    _, offset = snapshot.read(blob_of(model, 2), restored)
    assert offset == 2
    assert restored.schema is None
    assert wire([restored.advance(records(events()))]) == wire([Model(SETTINGS, 3).advance(records(events()))])


@pytest.mark.parametrize(
    ("other", "words"),
    [
        (model_settings("dfop:mu=0.01"), "learners dfop:mu=0.01 and pa1, this worker has dfop:mu=0.01"),
        (model_settings("pa1", "dfop:mu=0.01"), "made with learners"),
        (model_settings("dfop:mu=0.02", "pa1"), "made with learners"),
        (model_settings("dfop:mu=0.01", "pa1", window=51), "made with window 50, this worker has 51"),
        (model_settings("dfop:mu=0.01", "pa1", accuracy_every=41), "made with accuracy_every 40, this worker has 41"),
        (model_settings("dfop:mu=0.01", "pa1", standardize=False), "made with standardize on, this worker has off"),
        (
            model_settings("dfop:mu=0.01", "pa1", target=Target("classification", 2, ("a", "b"))),
            "made with labels none, this worker has a and b",
        ),
        (model_settings("dfop:mu=0.01", "pa1", n_features=5), "x has 4 features, expected 5"),
    ],
)
def test_a_snapshot_of_another_model_is_refused_with_the_difference(other: ModelSettings, words: str) -> None:
    assert words in refusal(BLOB, other)


def test_another_number_of_features_is_detected_even_if_states_have_the_same_size() -> None:
    blob = blob_of(learned(model_settings("no_change")))
    assert "x has 4 features, expected 5" in refusal(blob, model_settings("no_change", n_features=5))


@pytest.mark.parametrize(
    ("features", "words"),
    [
        (("a", "b", "d"), "x lacks d and has unknown c"),
        (3, "x is an object, expected a list of 3 features"),
        (("a", "b", "c"), None),
        (None, None),
    ],
)
def test_a_state_of_features_with_other_names_is_refused(features: Any, words: str | None) -> None:
    """Else what was learned of one feature would be taken for another's, or every event would be rejected."""
    settings, named = model_settings("pa1"), isinstance(features, tuple)
    model = Model(settings, 3)
    model.advance(records([write_json({"x": {"a": i, "b": -i, "c": 1}, "y": i % 2}) for i in range(9)]))
    other = replace(settings, n_features=3 if features else None, feature_names=features if named else None)
    if words is not None:
        assert words in refusal(blob_of(model), other)
    else:
        restored = Model(other, 3)
        snapshot.read(blob_of(model), restored)
        assert restored.schema == model.schema


def test_feature_names_matter_only_to_states_of_rows_with_names() -> None:
    """Packed events have none; and a wrong --features, which has rejected every event, may be set right."""
    three = replace(model_settings("pa1"), n_features=3)
    named = replace(three, feature_names=("a", "b", "c"))
    unnamed = Model(replace(model_settings("pa1"), form=PACKED), 3)
    unnamed.advance(records(packed.encode_events(np.ones((9, 3)), np.arange(9.0) % 2)))
    assert unnamed.rows == 9
    rejecting = Model(three, 3)
    assert len(rejecting.advance(records([b'{"x":{"a":1,"b":2,"c":3},"y":1}'] * 9)).rejected) == 9
    for model, other in ((unnamed, replace(named, form=PACKED)), (rejecting, named)):
        restored = Model(other, 3)
        snapshot.read(blob_of(model, 9), restored)
        assert restored.rows == model.rows


def test_a_changed_default_of_a_parameter_is_detected() -> None:
    """The spec's text stays the same when a default changes in a new version; the parameters do not."""
    header = read_json(BLOB[8:HEADER_END])
    inner = header["model"]["states"][0]
    inner["learner" if "learner" in inner else next(iter(inner))] = "changed"
    assert "other parameters or another state layout" in refusal(sealed(header))


@pytest.mark.parametrize("learner", ["auto", "on_drift:auto", "dwm:base=auto/seed=1"])
def test_a_snapshot_of_earlier_update_rules_is_refused(learner: str) -> None:
    """`auto` had other rules in 0.1.0, with the same arrays (docs/decisions/0081) or others (docs/decisions/0083)."""
    settings = replace(model_settings(learner, target=Target("classification", 4)), n_features=3)
    blob = blob_of(Model(settings, 3), 0)  # its states are those before the first row, so that nothing is compiled
    end = 8 + int.from_bytes(blob[4:8], "little")
    header = read_json(blob[8:end])
    assert header["model"]["states"][0].pop("revision") == 2
    for missing in (0, 64):
        header["sizes"][0] -= missing
        message = refusal(sealed(header, blob[end + missing : -DIGEST_BYTES]), settings)
        assert "learned by other rules than this version's" in message


def test_a_snapshot_with_plain_means_is_refused() -> None:
    """0.1.0 kept three numbers a column for `--missing mean`, now there are eight (docs/decisions/0085)."""
    settings = replace(SETTINGS, missing=MissingPolicy("mean"))
    model = learned(settings)
    blob = blob_of(model)
    end = 8 + int.from_bytes(blob[4:8], "little")
    header, state = read_json(blob[8:end]), blob[end:-DIGEST_BYTES]
    assert model.imputer is not None
    now = model.imputer.state.memory.nbytes
    at = header["sizes"].index(now)
    header["sizes"][at], cut = now * 3 // 8, sum(header["sizes"][:at])
    earlier = state[: cut + now * 3 // 8] + state[cut + now :]
    assert refusal(sealed(header, earlier), settings) == (
        "the saved state has other sizes than these learners; the version that wrote it can go on from it"
    )


def test_a_snapshot_of_another_partition_is_refused() -> None:
    assert refusal(BLOB, partition=4) == "the snapshot is of partition 3, not 4"


def test_a_newer_format_is_refused_with_its_number() -> None:
    header = read_json(BLOB[8:HEADER_END])
    assert refusal(sealed({**header, "format": 3})) == "the snapshot has format 3, this version reads up to 2"
    newer = sealed({"anything": 1}, magic=b"DWT2")
    assert refusal(newer) == "the snapshot has format b'DWT2', this version reads b'DWT1'"


def test_snapshots_from_before_the_own_functions_are_refused() -> None:
    header = read_json(BLOB[8:HEADER_END])
    assert refusal(sealed({**header, "format": 1})) == (
        "the snapshot has format 1, from before Driftway had its own exp and log: its scores would differ in the "
        "last bits; continue with the version that wrote it, or start a new group"
    )


@pytest.mark.parametrize("lacking", ["format", "offset", "partition", "rows", "schema", "sizes", "model"])
def test_a_complete_snapshot_with_an_unrelated_header_is_refused(lacking: str) -> None:
    header = read_json(BLOB[8:HEADER_END])
    refusal(sealed({name: value for name, value in header.items() if name != lacking}))
    refusal(sealed({**header, lacking: "x"}))
    refusal(sealed([]))


def test_a_complete_snapshot_with_other_sizes_is_refused() -> None:
    header = read_json(BLOB[8:HEADER_END])
    assert "other sizes" in refusal(sealed(header, BLOB[HEADER_END : -DIGEST_BYTES - 8]))
    assert "other sizes" in refusal(sealed({**header, "sizes": header["sizes"][:-1]}))


def test_an_unchanged_header_is_accepted() -> None:
    """Ensure that the tests above fail for the reason they name."""
    assert sealed(read_json(BLOB[8:HEADER_END])) == BLOB


def test_chunks_join_to_the_blob_and_fit_into_records() -> None:
    for size in (1, CHUNK_BYTES - 1, CHUNK_BYTES, CHUNK_BYTES + 1, 3 * CHUNK_BYTES + 5):
        blob = bytes(size)
        chunks = split_chunks(blob)
        assert b"".join(chunks) == blob
        assert all(0 < len(chunk) <= CHUNK_BYTES for chunk in chunks)
    keys = [record_keys.chunk_key(p, c) for p in (1, 11, 2) for c in (0, 1, 11)]
    assert keys[:3] == [b"1.0", b"1.1", b"1.11"]
    assert len(set(keys)) == len(keys)


@pytest.mark.parametrize("pointer", [Pointer(0, 1, 0), Pointer(17, 3, 2**62)])
def test_a_pointer_is_read_from_its_text(pointer: Pointer) -> None:
    assert Pointer.parse(pointer.text()) == pointer


def test_the_text_of_a_pointer_is_as_published() -> None:
    assert Pointer(17, 3, 4000).text() == "driftway1:17:3:4000"


@pytest.mark.parametrize(
    "text",
    [None, "", "consumer-1", "driftway1", "driftway1:1:2", "driftway1:1:2:3:4", "driftway2:1:2:3", "driftway1:-1:2:3",
     "driftway1:1:2:x", " driftway1:1:2:3", "driftway1:1:2:3\n", "driftway1:1.0:2:3", "driftway1:\u0661:2:3",
     '{"driftway1":[1,2,3]}'],
)  # fmt: skip
def test_other_metadata_is_not_a_pointer(text: str | None) -> None:
    assert Pointer.parse(text) is None


def test_encoded_rows_of_this_file_are_learned_from() -> None:
    """The state that the tests above compare is not the starting state."""
    assert blob_of(learned()) != blob_of(Model(SETTINGS, 3))
