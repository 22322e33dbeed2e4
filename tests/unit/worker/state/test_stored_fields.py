"""Stored JSON is read with types and bounds; what does not fit is one sentence."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from driftway.learners.engine.state import State, limited_to
from driftway.worker.errors import CannotRestore, Failure
from driftway.worker.state import model_file, snapshot
from driftway.worker.state.changelog.commit_record import CommitRecord
from driftway.worker.state.changelog.ownership import read_claim
from driftway.worker.state.changelog.snapshot_pointer import Pointer
from driftway.worker.state.changelog.snapshot_scan import read_mark
from driftway.worker.state.delayed_labels.merge_order import MergeOrder
from driftway.worker.state.model import Model
from driftway.worker.state.stored_fields import Malformed, StoredFields
from driftway.worker.wire.events import Schema
from tests.unit.worker.rows import events, model_settings, records
from tests.unit.worker.state.test_model_file import with_header

HUGE = "99999999999999999999999"


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (b"{not json", r"it is not JSON: b'\{not json'"),
        (b"[" * 10_000, r"it is not JSON: b'\[+\.\."),
        (b"[1]", r"it is \[1\], not a JSON object"),
        (b"{}", "it lacks offset"),
        (b'{"offset":"x"}', "offset is 'x', not a whole number from 0 to 9223372036854775806"),
        (b'{"offset":true}', "offset is True, not a whole number"),
        (b'{"offset":-5}', "offset is -5, not a whole number"),
        (b'{"offset":1e18}', r"offset is 1e\+18, not a whole number"),
        (b'{"offset":%s}' % HUGE.encode(), r"offset is 1e\+23, not a whole number"),
        (b'{"offset":9223372036854775807}', "offset is 9223372036854775807, not a whole number"),
        (b'{"offset":"%s"}' % (b"9" * 5000), r"offset is '9{39}\.\., not a whole number"),
        (b'{"offset":{"a":1}}', "offset is an object, not a whole number"),
    ],
)  # fmt: skip
def test_a_field_that_does_not_fit_is_refused(value: bytes, words: str) -> None:
    with pytest.raises(Malformed, match=f"^{words}"):
        StoredFields.parse(value, "it").integer("offset")


def test_fields_of_other_types_are_refused() -> None:
    fields = StoredFields({"t": "x", "f": True, "l": ["a"], "i": [1, 2], "o": {"n": 3}, "n": None}, "it")
    assert (fields.text("t"), fields.flag("f"), fields.texts("l"), fields.integers("i")) == ("x", True, ("a",), (1, 2))
    assert (fields.object("o").integer("n"), fields.has("n"), fields.has("z")) == (3, False, False)
    for read in (fields.text, fields.texts, fields.integers, fields.object, fields.items):
        with pytest.raises(Malformed, match=r"^f is True, not a"):
            read("f")
    with pytest.raises(Malformed, match=r"^t is 'x', not true or false"):
        fields.flag("t")


@pytest.mark.parametrize(
    "value", [b"{not json", b"[1]", b'{"group":"g","input":"E","partitions":"x"}', b'{"group":1,"input":"E"}', None,
              b'{"group":"g","input":"E","partitions":1e18}']
)  # fmt: skip
def test_an_unreadable_ownership_record_is_refused(value: bytes | None) -> None:
    with pytest.raises(
        CannotRestore, match=r"^the claim to the outputs at S/0@4 cannot be read: .*--output-prefix PREFIX$"
    ):
        read_claim(value, "S/0@4")


@pytest.mark.parametrize(
    "changes",
    [f'"outputs":{{"P":[0,{HUGE},5]}}', '"outputs":{"P":[9,3,5]}', '"outputs":{"P":[0,3]}', '"outputs":[]',
     '"offset":1e300', '"offset":9223372036854775807', '"previous":-1', '"pointer":7', '"rounds":"x"',
     '"order":[[1,2]]', '"order":[[5,2],[[4,2]]]', '"order":[["x",2],[]]'],
)  # fmt: skip
def test_an_unreadable_commit_record_is_refused(changes: str) -> None:
    usual = {"offset": "1", "previous": "null", "pointer": "null", "outputs": "{}"}
    name, _, value = changes.partition(":")
    fields = ",".join(f'"{key}":{text}' for key, text in {**usual, name.strip('"'): value}.items())
    assert CommitRecord.read(f"{{{fields}}}".encode()) is None


def test_numbers_beyond_64_bits_are_refused() -> None:
    assert Pointer.parse(f"driftway1:{HUGE}:1:0") is Pointer.parse("driftway1:" + "9" * 5000 + ":1:0") is None
    assert Pointer.parse(f"driftway1:0:{2**63 - 1}:0") is None
    assert [read_mark(value) for value in (b"12", b"9" * 5000, HUGE.encode(), b"kept", b"-1", b"")] == [12, *[None] * 5]
    assert MergeOrder.read(b"[[0,0],[[5,%s]]]" % HUGE.encode()) is None


@pytest.mark.parametrize("n_features", ["x", 1e18, 10**7, 10**18, 0, None, True, [3]])
def test_a_number_of_features_is_checked_before_anything_is_allocated(n_features: Any) -> None:
    model = Model(model_settings("arow"), 3)
    model.advance(records(events()))
    blob = with_header(snapshot.write(model, model.save(), 9), schema={"n_features": n_features, "names": None})
    with pytest.raises(snapshot.ForeignSnapshot):
        snapshot.read(blob, Model(model_settings("arow"), 3))
    with pytest.raises(Failure, match=r"^F cannot be used"):
        model_file.unpack(blob, "F").model()


def test_a_header_cannot_request_more_than_the_size_of_the_file() -> None:
    model = Model(model_settings("arow"), 3)
    model.advance(records(events()))
    blob = with_header(snapshot.write(model, model.save(), 9), schema={"n_features": 10**6, "names": None})
    words = r"^F cannot be used by this version: the state of arow over 1,000,000 features is another in this version: "
    with pytest.raises(Failure, match=words + r"it takes [0-9,]+ bytes, more than the [0-9,]+ that were saved; the "):
        model_file.unpack(blob, "F").model()


def test_a_limit_ends_with_its_block() -> None:
    with limited_to(8):
        assert State({"a": ("i8", (1,))}).nbytes == 8
        with pytest.raises(ValueError, match=r"^it takes 16 bytes, more than the 8 that were saved$"):
            State({"a": ("i8", (2,))})
    assert State({"a": ("i8", (2,))}).nbytes == 16


@pytest.mark.parametrize("name", ["exc-3", "exc-4", "exc-5", "exc-6", "exc-7", "exc-8", "exc-9", "slow-6065"])
def test_files_that_once_caused_a_traceback_or_hung_are_refused(name: str) -> None:
    file = Path(__file__).with_name("hostile") / f"{name}.driftway"
    with pytest.raises(Failure, match=r"cannot be used"):
        model_file.load(file).model()


def test_the_number_of_names_equals_the_number_of_features() -> None:
    model = Model(model_settings("pa1"), 3)
    assert model.schema is None
    for names in (["a"], ["a", 7], "ab"):
        blob = with_header(snapshot.write(model, model.save(), 9), schema={"n_features": 2, "names": names})
        with pytest.raises(snapshot.ForeignSnapshot):
            snapshot.parse(blob)
    good = with_header(snapshot.write(model, model.save(), 9), schema={"n_features": 2, "names": ["a", "b"]})
    assert snapshot.parse(good).saved.schema == Schema(2, ("a", "b"))
