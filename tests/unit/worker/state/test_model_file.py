"""Model files: contents are read back bit for bit, and any fault of a file is one sentence with its name."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from driftway import learners
from driftway.worker.errors import Failure, UsageFailure
from driftway.worker.kafka.registry.event_format import EventFormat
from driftway.worker.state import model_file, snapshot
from driftway.worker.state.model import Model
from driftway.worker.state.snapshot import MAGIC
from driftway.worker.warm_start import WarmStart
from driftway.worker.wire.codec import PACKED, write_json
from driftway.worker.wire.events import Schema, Target
from driftway.worker.wire.schema.schema import EventSchema
from tests.unit.worker.rows import drifting, events, model_settings, records, wire
from tests.unit.worker.trained import CHAMPION, perceptron, scores, written


def blob(offset: int = 120, partition: int = 3, **rest: Any) -> bytes:
    """Return a snapshot of a model with two learners that has seen rows."""
    model = Model(model_settings("arow", "no_change", **rest), partition)
    model.advance(records(events(), partition=partition))
    return model_file.pack(model, model.save(), offset, {"source": "EVENTS/3"})


def signed(body: bytes) -> bytes:
    return body + snapshot._digest(body)


def with_header(old: bytes, **changes: Any) -> bytes:
    """Return the same state under another header, with a matching checksum."""
    header, state = snapshot._header(old)
    text = write_json({**header, **changes})
    parts = old[state : -snapshot.DIGEST_BYTES]
    return signed(MAGIC + len(text).to_bytes(4, "little") + text + parts)


@pytest.mark.parametrize(
    "rest",
    [{}, {"standardize": False}, {"target": Target("classification", 2, ("0", "1"))},
     {"maps": tuple(learners.Spec.parse(t) for t in ("polynomial:degree=2", "hashing:buckets=8,seed=3")), "window": 7}],
    ids=["plain", "as they are", "labels", "maps"],
)  # fmt: skip
def test_a_snapshot_is_a_model_file_and_continues_as_the_model_would(rest: dict[str, Any]) -> None:
    original = Model(model_settings("arow", "no_change", **rest), 3)
    first, more = records(events(200)), records(events(100, seed=6), first=200)
    original.advance(first)
    found = model_file.unpack(snapshot.write(original, original.save(), 200), "x.driftway")
    assert (found.offset, found.partition, found.origin) == (200, 3, None)
    again = found.model()
    assert again.identity() == original.identity()
    assert wire([again.advance(more)]) == wire([original.advance(more)])
    assert [p.tobytes() for p in again.save().parts] == [p.tobytes() for p in original.save().parts]


def test_a_model_file_lists_its_contents(tmp_path: Path) -> None:
    path = tmp_path / "a.driftway"
    model_file.save(path, blob())
    found = model_file.load(path)
    assert (found.offset, found.partition, found.origin, found.nbytes) == (
        120, 3, {"source": "EVENTS/3"}, len(blob()),
    )  # fmt: skip
    assert found.digest == blob()[-16:].hex()
    assert found.name == str(path)
    assert found.settings(EventFormat(PACKED)).form == PACKED
    assert found.header["model"]["learners"] == ["arow", "no_change"]
    assert list(tmp_path.iterdir()) == [path], "no temporary file stays"


def test_a_model_continues_with_events_in_the_current_format() -> None:
    events = EventSchema.parse(["a"], label="good")
    fields = model_file.unpack(blob(events=events), "fields.driftway")
    form = EventFormat("avro", "http://127.0.0.1:1", (("timeout", "1"),))
    settings = fields.settings(form)
    assert (settings.events, settings.event_format) == (events, form)
    assert fields.settings().event_format == EventFormat()
    with pytest.raises(UsageFailure, match="has learned from fields, which packed events do not have"):
        fields.model(EventFormat(PACKED))
    with pytest.raises(UsageFailure, match="x has learned from events without a schema, not avro: give --format json"):
        model_file.unpack(blob(), "x").model(form)


def test_a_model_with_a_snapshot_in_a_topic_reads_an_origin_too() -> None:
    model = Model(model_settings("arow", "no_change"), 3)
    saved, offset = snapshot.read(blob(), model)
    assert (offset, saved.rows) == (120, model.rows)


def test_a_trained_learner_is_stored_unchanged(tmp_path: Path) -> None:
    X, y = drifting(regression=False)
    learner = perceptron(X, y)
    found = written(tmp_path / "t.driftway", learner, ["a", "b", "c", "d"])
    settings = found.settings()
    assert [spec.text for spec in settings.specs] == [CHAMPION]
    assert (settings.standardize, settings.maps, settings.target) == (True, (), Target())
    assert found.saved.schema == Schema(4, ("a", "b", "c", "d"))
    assert (found.offset, found.saved.rows, found.origin) == (0, 0, {"made_by": "a test"})
    champion = found.model().champion
    assert champion.state.memory.tobytes() == learner.state.memory.tobytes()
    assert scores(champion, X, y).tobytes() == scores(learner, X, y).tobytes()


@pytest.mark.parametrize(
    ("name", "given", "text", "standardize"),
    [
        ("arow", {"q": 1e-4, "intercept": False}, "arow:q=0.0001,intercept=false", False),
        ("perceptron", {}, "perceptron", False),
        ("scaled:ova:pa1", {"C": 0.5}, "scaled:ova:pa1:C=0.5", True),
    ],
)
def test_a_trained_spec_names_parameters_other_than_the_default(
    tmp_path: Path, name: str, given: dict[str, Any], text: str, standardize: bool
) -> None:
    found = written(tmp_path / "t.driftway", learners.create(name, 3, **given))
    assert [spec.text for spec in found.settings().specs] == [text]
    assert found.settings().standardize is standardize
    assert found.model().champion.identity() == learners.create(name, 3, **given).identity()


def test_a_learner_behind_a_standardiser_does_not_count_as_trained() -> None:
    learner = learners.create("arow", 3, standardize=True)
    with pytest.raises(ValueError, match="arow makes a different learner than the trained one"):
        model_file.trained(learner, None, Target(), {})


def test_a_warm_start_has_the_champion() -> None:
    found = model_file.unpack(blob(), "x.driftway")
    for frozen in (False, True):
        warm = found.warm_start(frozen)
        calibration = found.model().monitors.confidence.champion_state
        assert warm == WarmStart("any name", found.digest, frozen, Schema(4), warm.state, calibration=calibration)
        assert warm.state == found.saved.parts[0].tobytes()
        assert calibration in [part.tobytes() for part in found.saved.parts]
        assert warm.display_name("arow") == ("frozen:arow" if frozen else "warm:arow")


@pytest.mark.parametrize("frozen", [False, True])
def test_an_identity_describes_how_a_model_began(frozen: bool) -> None:
    began = model_file.unpack(blob(), "x.driftway")
    settings = model_settings("arow", "no_change", warm=began.warm_start(frozen))
    model = Model(settings, 3)
    model.advance(records(events()))
    again = model_file.unpack(snapshot.write(model, model.save(), 300), "y").settings()
    assert again.warm == WarmStart("", began.digest, frozen)
    assert again.names == settings.names == ("frozen:arow" if frozen else "warm:arow", "no_change")
    assert "warm" not in Model(model_settings("arow"), 3).identity()


# What is wrong with a file.


def refusal(content: bytes) -> str:
    with pytest.raises(Failure) as caught:
        model_file.unpack(content, "x.driftway").model()
    words = str(caught.value)
    assert "\n" not in words
    assert words.startswith("x.driftway")
    assert caught.value.exit_code == 1
    return words


@pytest.mark.parametrize("length", [0, 3])
def test_a_tiny_file_is_refused(length: int) -> None:
    assert refusal(b"DW\x00"[:length]) == "x.driftway is not a model file of Driftway"


@pytest.mark.parametrize("left", [-1, -16, -17, -300, 4, 9, 40])
def test_a_truncated_file_is_refused(left: int) -> None:
    assert refusal(blob()[:left]) == ("x.driftway cannot be used: the snapshot is damaged: its checksum does not match")


def test_any_flipped_bit_is_detected() -> None:
    whole = blob()
    byte_offsets = [*range(0, 40), *range(40, len(whole), 97), *range(len(whole) - 20, len(whole))]
    for at in byte_offsets:
        bad = bytearray(whole)
        bad[at] ^= 1 << (at % 8)
        words = refusal(bytes(bad))
        assert "its checksum does not match" in words or "not a model file" in words, (at, words)


@pytest.mark.parametrize("content", [b"PK\x03\x04" + bytes(100), b"a,b,y\n1,2,0\n", bytes(5000)])
def test_a_file_of_another_kind_is_refused(content: bytes) -> None:
    assert refusal(content) == "x.driftway is not a model file of Driftway"


def test_a_file_from_before_the_own_elementary_functions_is_refused() -> None:
    assert refusal(with_header(blob(), format=1)).startswith(
        "x.driftway cannot be used: the snapshot has format 1, from before Driftway had its own exp and log"
    )


def test_a_newer_format_is_refused() -> None:
    whole = blob()
    assert refusal(with_header(whole, format=3)) == (
        "x.driftway cannot be used: the snapshot has format 3, this version reads up to 2"
    )
    newer = signed(b"DWT2" + whole[4 : -snapshot.DIGEST_BYTES])
    assert refusal(newer) == "x.driftway cannot be used: the snapshot has format b'DWT2', this version reads b'DWT1'"


@pytest.mark.parametrize(
    "changes",
    [
        {"model": None}, {"model": {}}, {"sizes": "x"}, {"offset": -1}, {"partition": -1}, {"rows": None},
        {"schema": {"names": None}}, {"model": {"learners": "arow", "states": []}},
    ],
)  # fmt: skip
def test_an_invalid_header_is_refused(changes: dict[str, Any]) -> None:
    assert refusal(with_header(blob(), **changes)) == (
        "x.driftway cannot be used: the snapshot is intact, but this version does not understand its header"
    )


def identity(**changes: Any) -> dict[str, Any]:
    header, _ = snapshot._header(blob())
    return {**header["model"], **changes}


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"learners": ["arow_next", "no_change"]}, "no learner 'arow_next'"),
        ({"learners": ["arow:z=1", "no_change"]}, "no parameter 'z'"),
        ({"learners": ["pa1", "no_change"]}, "other sizes"),
        ({"learners": []}, "name at least one --learner"),
        ({"learners": ["arow behind wavelet", "no_change behind wavelet"]}, "no feature map 'wavelet'"),
        ({"task": "ranking"}, "task must be"),
        ({"task": "regression"}, "without classes, not regression"),
        ({"window": None}, "cannot be used by this version"),
        ({"learners": ["arow behind hashing", "no_change"]}, "different feature maps"),
        ({"window": 0}, "window and accuracy-every must be >= 1"),
        ({"learners": [7, 8]}, "cannot be used by this version"),
        ({"states": [{}, {}]}, "other parameters or another state layout"),
    ],
)
def test_a_learner_unknown_to_this_version_is_refused(changes: dict[str, Any], words: str) -> None:
    assert words in refusal(with_header(blob(), model=identity(**changes)))


@pytest.mark.parametrize("learner", ["voted_perceptron", "on_drift:arow:detector=kswin"])
def test_a_state_whose_counts_are_beyond_their_slots_is_refused(learner: str) -> None:
    model = Model(model_settings(learner, standardize=True), 3)
    model.advance(records(events(50)))
    inner: Any = model.champion
    while hasattr(inner, "inner"):
        inner = inner.inner
    if learner == "voted_perceptron":
        inner.state["count"][0] = 999
    else:
        inner.state["detector"].view(np.int64)[0] = -7
    crafted = model_file.unpack(model_file.pack(model, model.save(), 50), "x.driftway")
    name, found = ("count", 999) if learner == "voted_perceptron" else ("rows", -7)
    with pytest.raises(Failure, match=f"x.driftway cannot be used .*: {name} in the state is {found:g}, not within 0"):
        crafted.model()


def test_a_snapshot_from_before_the_first_event_is_refused_as_a_start() -> None:
    model = Model(model_settings("arow"), 3)
    found = model_file.unpack(snapshot.write(model, model.save(), 0), "x.driftway")
    assert found.model().schema is None
    with pytest.raises(
        Failure, match=r"^x\.driftway holds no learner yet: it was written before the first usable event"
    ):
        found.warm_start()


def test_files_that_cannot_be_read_or_written_are_reported_in_one_sentence(tmp_path: Path) -> None:
    for path, words in ((tmp_path / "none", "No such file"), (tmp_path, "Is a directory")):
        with pytest.raises(UsageFailure, match=f"cannot read {path}: {words}"):
            model_file.load(path)
    with pytest.raises(UsageFailure, match=r"cannot write .*none/x: No such file"):
        model_file.save(tmp_path / "none" / "x", b"1")
    folder = tmp_path / "folder"
    folder.mkdir()
    with pytest.raises(UsageFailure, match="cannot write"):
        model_file.save(folder, b"1")
    assert os.listdir(tmp_path) == ["folder"], "no temporary file stays"


def test_a_file_is_replaced_atomically(tmp_path: Path) -> None:
    path = tmp_path / "a.driftway"
    path.write_bytes(b"old")
    model_file.save(path, b"new")
    assert path.read_bytes() == b"new"
    assert np.all([one == path for one in tmp_path.iterdir()])


def test_a_link_leads_to_the_new_file_and_a_pipe_gets_it_and_stays(tmp_path: Path) -> None:
    file, link, pipe = (tmp_path / name for name in ("a.driftway", "current", "pipe"))
    file.write_bytes(b"old")
    link.symlink_to(file.name)
    model_file.save(link, blob())
    assert link.is_symlink()
    assert file.read_bytes() == blob()
    os.mkfifo(pipe)
    with ThreadPoolExecutor(1) as readers:
        read = readers.submit(pipe.read_bytes)
        model_file.save(pipe, blob())
        assert read.result() == blob()
    assert pipe.is_fifo()
    assert {one.name for one in tmp_path.iterdir()} == {"a.driftway", "current", "pipe"}
