"""Predictions that are CloudEvents, and rejections with the headers of Kafka Streams' dead letter queue."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from driftway.cli import main
from driftway.worker.errors import UsageFailure
from driftway.worker.state.model import Model
from driftway.worker.state.outputs import Outputs, joined
from driftway.worker.wire.codec import encode_events
from driftway.worker.wire.events import RejectedEvent
from driftway.worker.wire.headers import Header, cloud_event_headers
from driftway.worker.wire.rejections import (
    KAFKA_STREAMS,
    lost_part,
    own_headers,
    record_of,
    streams_headers,
)
from tests.unit.worker.rows import model_settings, pieces, records

SOURCE = "/shop/fraud"
TIMES = [0, 1_543_392_000_123, -62_135_596_800_000, 253_402_300_799_999]
WRITTEN = [b"1970-01-01T00:00:00.000Z", b"2018-11-28T08:00:00.123Z", b"0001-01-01T00:00:00.000Z"]
WRITTEN += [b"9999-12-31T23:59:59.999Z"]


def events(n: int) -> list[bytes]:
    draw = np.random.default_rng(1)
    X = draw.normal(size=(n, 3))
    return encode_events(X, (X[:, 0] > 0).astype(float), 0)


def attributes_of(headers: Any) -> dict[str, bytes]:
    """The attributes of one CloudEvent; no header is there twice."""
    found = dict(headers)
    assert len(found) == len(headers)
    return found


def test_each_prediction_has_the_attributes_that_the_binding_requires() -> None:
    offsets = np.arange(4) + 10
    found = cloud_event_headers(SOURCE, b"application/json", (3, offsets, np.array(TIMES)))
    for place, one in enumerate(found):
        assert attributes_of(one) == {
            "ce_specversion": b"1.0",
            "ce_type": b"driftway.prediction",
            "ce_source": b"/shop/fraud",
            "ce_id": b"3/%d" % offsets[place],
            "ce_time": WRITTEN[place],
            "content-type": b"application/json",
        }


@pytest.mark.parametrize("time", [-(2**63), 2**63 - 1, -62_135_596_800_001, 253_402_300_800_000])
def test_a_time_that_rfc_3339_cannot_write_is_left_out(time: int) -> None:
    (found,) = cloud_event_headers(SOURCE, b"application/json", (0, np.array([1]), np.array([time])))
    assert "ce_time" not in attributes_of(found)
    assert len(found) == 5


def test_attributes_of_an_event_are_not_passed_on_to_its_prediction() -> None:
    of_event = ("ce_id", b"a"), ("ce_source", b"/x"), ("ce_subject", b"s"), ("content-type", b"text/xml")
    others = ("traceparent", b"00-1-2-01"), ("ce_traceparent", b"00-3-4-01"), ("trace", None)
    place = 0, np.array([1, 2]), np.array([0, 0])
    first, second = cloud_event_headers(SOURCE, b"application/json", place, [(*of_event, *others), ()])
    assert tuple(first[6:]) == others
    assert attributes_of(first)["ce_id"] == b"0/1"
    assert len(second) == 6


@pytest.mark.parametrize(
    ("form", "media"),
    [
        ("json", b"application/json"),
        ("packed", b"application/octet-stream"),
        ("avro", b"application/vnd.apache.avro"),
        ("protobuf", b"application/vnd.google.protobuf"),
        ("json-schema", b"application/json"),
    ],
)
def test_each_format_has_its_media_type(form: str, media: bytes) -> None:
    outputs = Model(model_settings(output_form=form, cloudevents=SOURCE), 3).advance(records(events(2)))
    assert [dict(one)["content-type"] for one in outputs.headers or ()] == [media] * 2


@pytest.mark.parametrize("cuts", [[], [1, 7, 30]])
def test_ids_of_challengers_predictions_are_distinct(cuts: list[int]) -> None:
    settings = model_settings("pa1", "arow", "no_change", emit="all", cloudevents=SOURCE, pass_headers=("trace",))
    whole = records(events(40), headers=[(("trace", b"%d" % i), ("more", b"")) for i in range(40)])
    model = Model(settings, 3)
    outputs = joined(*(model.advance(part) for part in (pieces(whole, cuts) if cuts else [whole])))
    assert outputs.headers is not None
    assert [dict(one)["ce_id"] for one in outputs.headers] == [b"3/%d" % i for i in range(40)]
    assert [dict(one)["trace"] for one in outputs.headers] == [b"%d" % i for i in range(40)]
    found: list[Any] = [one for part in outputs.challengers for one in part.headers or ()]
    assert [dict(one)["ce_id"] for one in found] == [
        f"3/{i}/{name}".encode() for i in range(40) for name in ("arow", "no_change")
    ]
    assert [dict(one)["trace"] for one in found] == [b"%d" % i for i in range(40) for _ in range(2)]


def test_without_the_option_there_are_no_headers_and_the_values_are_the_same() -> None:
    def written(**more: Any) -> Outputs:
        return Model(model_settings(**more), 3).advance(records(events(20)))

    plain, cloud = written(), written(cloudevents=SOURCE)
    assert plain.headers is None
    assert list(plain.predictions) == list(cloud.predictions)
    assert list(plain.keys) == list(cloud.keys)


@pytest.mark.parametrize("source", ["a b", "/ü", "<x>", "\n"])
def test_a_source_that_is_no_uri_reference_is_refused(source: str) -> None:
    with pytest.raises(UsageFailure, match="cloudevents-source must be a URI reference such as /shop/predictions"):
        model_settings(cloudevents=source)


def rejected(*headers: Header, label_offset: int | None = None) -> RejectedEvent:
    return RejectedEvent("x is empty", 7, b'{"x":[]}', b"k", 1, label_offset, headers)


ERRORS = [f"__streams.errors.{name}" for name in ("exception", "message", "stacktrace", "topic", "partition", "offset")]
"""As in `ExceptionHandlerUtils` of Kafka Streams."""


def test_a_rejection_has_all_headers_of_the_kip_after_its_own() -> None:
    own = ("trace", b"1"), ("__streams.errors.topic", b"earlier")
    plain = record_of(rejected(*own), "EVENTS", 2)
    found = record_of(rejected(*own), "EVENTS", 2, form=KAFKA_STREAMS)
    assert found[:2] == plain[:2]
    assert found.headers[: len(plain.headers)] == plain.headers
    assert list(found.headers[len(plain.headers) :]) == list(
        zip(
            ERRORS,
            [
                b"driftway.RejectedEvent: x is empty",
                b"x is empty",
                b"driftway.RejectedEvent: x is empty",
                b"EVENTS",
                b"2",
                b"7",
            ],
            strict=True,
        )
    )
    assert own_headers(found.headers) == own
    assert lost_part(found.headers) == ""
    assert streams_headers(plain.headers) == streams_headers(found.headers)


def test_a_rejected_label_names_its_own_topic_and_offset() -> None:
    found = dict(record_of(rejected(label_offset=40), "EVENTS", 2, "LABELS", KAFKA_STREAMS).headers)
    assert found["__streams.errors.topic"] == b"LABELS"
    assert found["__streams.errors.offset"] == b"40"


def test_a_truncated_rejection_keeps_these_headers() -> None:
    large = RejectedEvent("not JSON", 1, b"?" * 5000, b"k", 1, None, (("trace", b"x" * 2000),))
    cut = record_of(large, "EVENTS", 0, form=KAFKA_STREAMS).within(1000)
    assert [name for name, _ in cut.headers if name.startswith("__streams")] == ERRORS
    assert not own_headers(cut.headers)


def test_other_values_of_rejected_headers_are_refused() -> None:
    done = CliRunner().invoke(main, ["worker", "--input", "x", "--group", "g", "--rejected-headers", "connect"])
    assert done.exit_code == 2
    assert "plain" in done.output
