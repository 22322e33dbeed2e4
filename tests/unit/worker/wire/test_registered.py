"""Predictions whose schema is in a registry: fastavro, Google's Protobuf and jsonschema read what the kernels write."""

from __future__ import annotations

import io
import json
import math
import re
from dataclasses import replace
from functools import cache
from types import SimpleNamespace
from typing import Any

import fastavro
import numpy as np
import orjson
import pytest
from google.protobuf.descriptor_pb2 import FieldDescriptorProto, FileDescriptorProto
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message_factory import GetMessageClass
from google.protobuf.unknown_fields import UnknownFieldSet
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft7Validator

from driftway.worker.admin.audit.diff import confidence_of, fields, input_offset
from driftway.worker.admin.audit.output_options import IN_JSON, IN_PACKED, forms_of
from driftway.worker.admin.explain import confidence_for, same_confidence, scores_for
from driftway.worker.kafka.topics import Topics
from driftway.worker.state.changelog.output_keys import OutputKeys
from driftway.worker.state.model import Model
from driftway.worker.stream.warm_up import compile_kernels
from driftway.worker.wire import packed
from driftway.worker.wire.codec import encode_events, encode_predictions
from driftway.worker.wire.columns import Confidence, ListColumn
from driftway.worker.wire.events import Batch, Target
from driftway.worker.wire.json_tokens.text_values import as_number
from driftway.worker.wire.registered import avro, pieces, protobuf
from driftway.worker.wire.registered.avro_schema import KINDS, avro_schema, kind_of
from driftway.worker.wire.registered.framing import (
    HEADER_BYTES,
    REGISTERED_OUTPUTS,
    header,
    is_registered,
    schema_id_of,
)
from driftway.worker.wire.registered.json_schema import json_schema
from driftway.worker.wire.registered.protobuf_schema import protobuf_schema
from driftway.worker.wire.registered.reading import AvroReader, PredictionId, read_fields, read_prediction_id
from driftway.worker.wire.scanner import NO_TIME
from tests.support.examples import examples
from tests.unit.worker.rows import Array, drifting, model_settings, records
from tests.unit.worker.wire.test_predictions import INT64, TARGETS, batch_of

IDS = [
    b"null", b"7", b"-0.0", b"18446744073709551616", b"true", b'""', b'"n17"', b'"null"', '"Grüße 🙂"'.encode(),
    b'"a \\"quoted\\" \\\\ one\\n"', b'"\\u00e9\\ud83d\\ude42"', b'{"a":[1,null],"b":"\\n"}',
    b'"' + b"long" * 500 + b'"',
]  # fmt: skip
SCHEMAS = {kind: fastavro.parse_schema(json.loads(avro_schema(kind))) for kind in KINDS}
PLAIN = [0.0, -0.0, 5e-324, -1.7976931348623157e308, 0.1]


def read(value: bytes, kind: str, reader: Any = None) -> dict[str, Any]:
    """Return what fastavro reads behind the header, and that nothing is left."""
    stream = io.BytesIO(value[HEADER_BYTES:])
    found = fastavro.schemaless_reader(stream, SCHEMAS[kind], reader)
    assert stream.read() == b""
    return dict(found)


@cache
def message_class(kind: str) -> Any:
    """Return the class that Protobuf makes of the schema, which is read line by line."""
    text = protobuf_schema(kind)
    file = FileDescriptorProto(name=f"{kind}.proto", package="driftway", syntax="proto3")
    message = file.message_type.add(name="Prediction")
    for optional, repeated, form, name, number in re.findall(
        r"^  (optional )?(repeated )?(\w+) (\w+) = (\d+);$", text, re.MULTILINE
    ):
        field = message.field.add(name=name, number=int(number))
        field.type = getattr(FieldDescriptorProto, f"TYPE_{form.upper()}")
        field.label = FieldDescriptorProto.LABEL_REPEATED if repeated else FieldDescriptorProto.LABEL_OPTIONAL
        if optional:
            field.proto3_optional, field.oneof_index = True, len(message.oneof_decl)
            message.oneof_decl.add(name=f"_{name}")
    assert text.count(";") == len(message.field) + 2
    pool = DescriptorPool()
    pool.Add(file)
    return GetMessageClass(pool.FindMessageTypeByName("driftway.Prediction"))


def read_message(value: bytes, kind: str) -> dict[str, Any]:
    """Return what Protobuf reads behind the header and the number of the message."""
    assert value[HEADER_BYTES] == 0
    found = message_class(kind).FromString(value[HEADER_BYTES + 1 :])
    assert not UnknownFieldSet(found)
    return plain(found)


def plain(found: Any) -> dict[str, Any]:
    """Return a message's fields by name, None for one that is not set."""
    read = {}
    for field in found.DESCRIPTOR.fields:
        content = getattr(found, field.name)
        unset = field.has_presence and not found.HasField(field.name)
        read[field.name] = None if unset else list(content) if field.is_repeated else content
    return read


def confidences(target: Target, score: Array, rng: np.random.Generator) -> list[Confidence]:
    """Return all kinds of sureness that predictions of a target can have."""
    n, n_classes = len(score), target.n_classes
    if not n_classes:
        width = np.where(rng.random(n) < 0.3, np.inf, np.exp(rng.normal(size=n)))
        return [Confidence(), Confidence(ends=(score[:, 0] - width, score[:, 0] + width))]
    probability, members = rng.integers(0, 10**6, n), rng.random((n, n_classes)) < rng.random((n, 1))
    return [
        Confidence(),
        Confidence(probability),
        Confidence(probability, members=members),
        Confidence(members=members),
    ]


def drawn(target: Target, n: int, seed: int = 1) -> tuple[Batch, Array, Array]:
    """Return a batch with ids and times of all kinds, scores and predictions."""
    rng = np.random.default_rng(seed)
    k = target.n_classes if target.n_classes > 2 else 1
    score = rng.normal(size=(n, k)) * 10.0 ** rng.integers(-300, 300, (n, k))
    y = rng.normal(size=n) if not target.n_classes else rng.integers(0, target.n_classes, n).astype(float)
    y[::3] = math.nan
    t = np.where(rng.random(n) < 0.3, NO_TIME, rng.integers(-(2**62), 2**62, n) >> rng.integers(0, 62, n))
    offsets = np.cumsum(rng.integers(1, 2**40, n))
    batch = batch_of([IDS[i % len(IDS)] for i in range(n)], offsets.tolist(), y.tolist(), t.tolist(), 300)
    predicted = score[:, 0] if not target.n_classes else rng.integers(0, target.n_classes, n)
    return batch, score, predicted


def expected_ids(batch: Batch) -> list[str | None]:
    text, (starts, ends) = batch.ids
    texts = [text[a:b].tobytes() for a, b in zip(starts, ends, strict=True)]
    said = [orjson.loads(one) if one[:1] in b'"n' else one.decode() for one in texts]
    return [one if one is None else str(one) for one in said]


@pytest.mark.parametrize("name", TARGETS)
def test_predictions_are_read_by_fastavro_and_protobuf(name: str) -> None:
    target, n = TARGETS[name], 60
    kind, rng = kind_of(target), np.random.default_rng(2)
    batch, score, predicted = drawn(target, n)
    texts = pieces.class_texts(target) if target.n_classes else []
    for answers in confidences(target, score, rng):
        said = batch, score, predicted, target, "arow:C=0.1, é", 5, answers, 77
        values, others = (
            encode(*said).to_list() for encode in (avro.FORMAT.encode_predictions, protobuf.FORMAT.encode_predictions)
        )
        ids = expected_ids(batch)
        for i, (value, other) in enumerate(zip(values, others, strict=True)):
            assert value is not None
            assert other is not None
            assert value[:HEADER_BYTES] == other[:HEADER_BYTES] == b"\0\0\0\0\x4d" == header(77)
            y = float(batch.y[i])
            label = None if math.isnan(y) else texts[int(y)] if texts else y
            wanted = {
                "kind": kind,
                "partition": 300,
                "offset": int(batch.offsets[i]),
                "plan": 5,
                "learner": "arow:C=0.1, é",
                "id": ids[i],
                "t": None if batch.t[i] == NO_TIME else int(batch.t[i]),
                "prediction": texts[int(predicted[i])] if texts else float(score[i, 0]),
                "score": score[i].tolist() if score.shape[1] > 1 else float(score[i, 0]),
                "y": label,
            }
            if texts:
                wanted["probability"] = None if answers.probability is None else int(answers.probability[i]) / 1e6
                inside = None if answers.members is None else np.flatnonzero(answers.members[i]).tolist()
                wanted["set"] = None if inside is None else [texts[c] for c in inside]
            else:
                ends = (
                    (math.inf, math.inf)
                    if answers.ends is None
                    else (float(answers.ends[0][i]), float(answers.ends[1][i]))
                )
                wanted["low"], wanted["high"] = (end if math.isfinite(end) else None for end in ends)
            assert read(value, kind) == wanted
            assert read_message(other, kind) == {**wanted, **({"set": wanted["set"] or []} if texts else {})}
            for ours in (read_fields(value), read_fields(other)):
                number = {key: wanted[key] for key in ("id", "partition", "offset", "plan", "learner", "t", "score")}
                assert number.items() <= ours.items()
                assert [ours["prediction"], ours["y"]] == [
                    as_number(v) if isinstance(v, str) else v for v in (wanted["prediction"], label)
                ]
            assert (
                read_prediction_id(value)
                == read_prediction_id(other)
                == PredictionId(300, int(batch.offsets[i]), "arow:C=0.1, é")
            )


@examples(150)
@given(st.data())
def test_predictions_with_any_numbers_are_read_back(data: st.DataObject) -> None:
    n = data.draw(st.integers(1, 5))

    def column(values: st.SearchStrategy) -> list:
        return data.draw(st.lists(values, min_size=n, max_size=n))

    ids = [orjson.dumps(text) for text in column(st.one_of(st.text(max_size=40), INT64))]
    batch = batch_of(ids, column(INT64), column(st.sampled_from([0.0, 1.0, math.nan])), column(INT64))
    score = np.array(column(st.one_of(st.floats(), st.sampled_from(PLAIN)))).reshape(n, 1)
    said = batch, score, (score[:, 0] >= 0).astype(float), Target(), "pa1", 1
    pairs = zip(avro.FORMAT.encode_predictions(*said), protobuf.FORMAT.encode_predictions(*said), strict=True)
    for i, (value, other) in enumerate(pairs):
        binary, message = read(value or b"", "binary"), read_message(other or b"", "binary")
        ours = read_fields(value or b""), read_fields(other or b"")
        for found in (binary, message, *ours):
            t = int(batch.t[i])
            assert (found["offset"], found["t"]) == (int(batch.offsets[i]), None if t == NO_TIME else t)
            assert np.array(found["score"]).tobytes() == score[i].tobytes()
            assert found["id"] == str(orjson.loads(ids[i]))


def test_an_empty_batch_writes_nothing() -> None:
    empty = batch_of([], [], [], [])
    for form in (avro.FORMAT, protobuf.FORMAT):
        assert list(form.encode_predictions(empty, np.empty((0, 1)), np.empty(0), Target(), "pa1", 1)) == []


@pytest.mark.parametrize("kind", KINDS)
def test_a_schema_with_one_field_more_is_compatible_in_both_directions(kind: str) -> None:
    """What a version writes that does not know probabilities, intervals or sets is read by one that does, and back."""
    target = TARGETS[kind]
    batch, score, predicted = drawn(target, 20)
    answers = confidences(target, score, np.random.default_rng(1))[-1]
    written = json.loads(avro_schema(kind))
    without = {**written, "fields": written["fields"][:-2]}
    more = {**written, "fields": [*written["fields"], {"name": "z", "type": ["null", "long"], "default": None}]}
    value = avro.FORMAT.encode_predictions(batch, score, predicted, target, "pa1", 1, answers).to_list()[0] or b""
    full = read(value, kind)
    assert read(value, kind, fastavro.parse_schema(more)) == {**full, "z": None}
    fewer = read(value, kind, fastavro.parse_schema(without))
    assert fewer == {key: full[key] for key in fewer}
    assert len(fewer) == len(full) - 2
    stream = io.BytesIO()
    fastavro.schemaless_writer(stream, fastavro.parse_schema(without), fewer)
    stream.seek(0)
    old = fastavro.schemaless_reader(stream, fastavro.parse_schema(without), SCHEMAS[kind])
    assert old == {**fewer, **dict.fromkeys([one["name"] for one in written["fields"][-2:]])}


@pytest.mark.parametrize("name", TARGETS)
def test_json_has_the_header_and_fits_its_schema(name: str) -> None:
    target = TARGETS[name]
    batch, score, predicted = drawn(target, 40)
    schema = json_schema(target)
    Draft7Validator.check_schema(schema)
    check = Draft7Validator(schema)
    for plan in (1, 2):
        for answers in confidences(target, score, np.random.default_rng(3)):
            plain = encode_predictions(batch, score, predicted * 1.0, target, "pa1", plan, answers).to_list()
            framed = encode_predictions(
                batch, score, predicted * 1.0, target, "pa1", plan, answers, header(9)
            ).to_list()
            assert framed == [header(9) + (one or b"") for one in plain]
            for value, one in zip(framed, plain, strict=True):
                assert value is not None
                found = orjson.loads(one or b"")
                check.validate(found)
                assert read_fields(value) == found == fields(value)
                assert read_prediction_id(value) == PredictionId(300, found["offset"], "pa1")
    found["kappa"] = 1
    assert not check.is_valid(found), "no other fields"


@pytest.mark.parametrize("name", TARGETS)
def test_commands_read_every_format_alike(name: str) -> None:
    target = TARGETS[name]
    batch, score, predicted = drawn(target, 30)
    for answers in confidences(target, score, np.random.default_rng(4)):
        ours = predicted * 1.0, target, "pa1", 2, answers
        plain = encode_predictions(batch, score, *ours).to_list()
        framed = encode_predictions(batch, score, *ours, header(3)).to_list()
        binary = avro.FORMAT.encode_predictions(batch, score, *ours, 4).to_list()
        messages = protobuf.FORMAT.encode_predictions(batch, score, *ours, 5).to_list()
        for values in zip(plain, framed, binary, messages, strict=True):
            one, two, *others = (value or b"" for value in values)
            offset, said = int(input_offset(one)), confidence_of(fields(one))
            assert confidence_of(fields(two)) == said == confidence_for(two, target)
            for value in (two, *others):
                assert input_offset(value) == offset
                assert scores_for(value, offset, "pa1") == scores_for(one, offset, "pa1")
                assert [scores_for(value, offset + 1, "pa1"), scores_for(value, offset, "pa2")] == [None, None]
                assert same_confidence(confidence_for(value, target), said)
                for key in ("prediction", "y", "t"):
                    assert fields(value)[key] == fields(one)[key]
            wrong = dict.fromkeys(said, 0.123)
            assert same_confidence(said, wrong) is (not said)


def reads(value: bytes) -> bool:
    try:
        read_fields(value)
    except ValueError:
        return False
    return True


def test_a_value_that_is_truncated_or_not_a_prediction_is_refused() -> None:
    target = TARGETS["multiclass"]
    batch, score, predicted = drawn(target, 1)
    answers = confidences(target, score, np.random.default_rng(4))[2]
    value = avro.FORMAT.encode_predictions(batch, score, predicted, target, "pa1", 2, answers, 4)[0] or b""
    for end in range(HEADER_BYTES + 1, len(value)):
        with pytest.raises(ValueError, match="not a prediction in Avro"):
            read_fields(value[:end])
    assert AvroReader(value + b"what a later version adds").fields() == read_fields(value)
    for bad in (b"\x02x", b"\x01", b"\xff" * 12, b"\x0cbinary"):
        with pytest.raises(ValueError, match="not a prediction in Avro"):
            read_prediction_id(header(1) + bad)
    other = protobuf.FORMAT.encode_predictions(batch, score, predicted, target, "pa1", 2, answers, 4)[0] or b""
    whole = [end for end in range(HEADER_BYTES + 1, len(other)) if reads(other[:end])]
    assert len(whole) <= 3 + target.n_classes, "at the ends of fields that may lack"
    assert read_fields(other + b"\xfa\x01\x01z") == read_fields(other), "a field that is not known"
    for bad in (b"\0", b"\0\x0a\x01x", b"\0\x0b", b"\0\x09" + bytes(8)):
        with pytest.raises(ValueError, match="not a prediction in Protobuf"):
            read_prediction_id(header(1) + bad)
    with pytest.raises(ValueError, match="unexpected end"):
        read_prediction_id(header(1) + b"{")
    with pytest.raises(ValueError, match="it has no 'partition'"):
        read_prediction_id(header(1) + b"{}")
    assert not is_registered(header(1))


@pytest.mark.parametrize("form", REGISTERED_OUTPUTS)
def test_a_restore_finds_which_outputs_are_in_the_log(form: str) -> None:
    topics = Topics("E", "g", challenged=True)
    settings = model_settings("pa1", "arow", emit="all", output_form=form, output_schema=3)
    out = Model(settings, 3, "g").advance(records(encode_events(*drifting(20), first_id=0), first=7))
    keys = OutputKeys(None, topics, 3, None)  # type: ignore[arg-type]  # neither a reader nor a deadline is asked

    def found(topic: str, values: Any) -> list[Any]:
        return [
            keys._key(topic, SimpleNamespace(value=lambda value=value: value, key=lambda: b"k")) for value in values
        ]

    assert found(topics.predictions, out.predictions) == [(7 + i, None) for i in range(20)]
    assert found(topics.challengers, out.challengers[0].predictions) == [(7 + i, b"arow") for i in range(20)]


def test_formats_are_distinguished_in_one_column() -> None:
    batch, score, predicted = drawn(Target(), 2)
    ours = Target(), "pa1"
    plain = list(encode_predictions(batch, score, predicted * 1.0, *ours))
    framed = list(encode_predictions(batch, score, predicted * 1.0, *ours, header=header(2**31 - 1)))
    binary = list(avro.FORMAT.encode_predictions(batch, score, predicted, *ours, 1, schema_id=300))
    compact = list(packed.encode_predictions(batch, score, predicted, Target()))
    messages = list(protobuf.FORMAT.encode_predictions(batch, score, predicted, *ours, 1, schema_id=7))
    found = forms_of(ListColumn([*plain, *framed, *binary, *messages, *compact, b"", b"\0"])).tolist()
    json_id, avro_id, protobuf_id = 3 * (2**31 - 1) + 2, 900, 22
    several = [IN_JSON] * 2, [json_id] * 2, [avro_id] * 2, [protobuf_id] * 2, [IN_PACKED] * 4
    assert found == [one for part in several for one in part]
    assert (schema_id_of(framed[0] or b""), schema_id_of(binary[0] or b"")) == (2**31 - 1, 300)


@pytest.mark.parametrize("form", REGISTERED_OUTPUTS)
def test_the_format_changes_neither_scores_nor_state_nor_points(form: str) -> None:
    whole = records(encode_events(*drifting(), first_id=0))
    chosen = {"emit": "all", "coverage": 0.8}
    learners = "dfop:mu=0.01", "pa1"
    plain = Model(model_settings(*learners, **chosen), 3)
    other = Model(model_settings(*learners, output_form=form, output_schema=12, **chosen), 3)
    json_out, out = plain.advance(whole), other.advance(whole)
    for one, two in ((json_out.predictions, out.predictions),
                     (json_out.challengers[0].predictions, out.challengers[0].predictions)):  # fmt: skip
        for value, framed in zip(one, two, strict=True):
            said, found = orjson.loads(value or b""), fields(framed or b"")
            assert schema_id_of(framed or b"") == 12
            assert str(found.pop("id")) == str(said.pop("id"))
            assert found.pop("plan", 1) == 1
            if form == "protobuf" and not said["set"]:
                del said["set"]
            assert found == said
    assert out.points == json_out.points
    assert other.identity() == plain.identity()
    assert [part.tobytes() for part in other.save().parts] == [part.tobytes() for part in plain.save().parts]


@pytest.mark.parametrize(("form", "writer"), [("avro", avro._write_records), ("protobuf", protobuf._write_messages)])
def test_the_warm_up_compiles_all_that_is_needed(form: str, writer: Any) -> None:
    chosen = model_settings("dfop:mu=0.01", output_form=form, output_schema=1)
    compile_kernels(chosen, "python")
    compiled = [list(kernel.signatures) for kernel in (writer, pieces.strip_quotes)]
    assert [len(one) for one in compiled] == [1, 1]
    values = encode_events(*drifting(), first_id=0)
    values[7:7] = [b"?", b'{"x":[1,2,3,4],"id":"\\u00e9"}', b'{"x":[1,2,3,4],"id":"n"}', b'{"x":[1,2,3,4]}']
    assert len(Model(replace(chosen, coverage=0.9), 3).advance(records(values)).predictions) == 303
    assert [list(kernel.signatures) for kernel in (writer, pieces.strip_quotes)] == compiled
