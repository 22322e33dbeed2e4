"""Records of earlier versions, whose fields had other names, are still understood."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import numpy as np

from driftway.learners.averaging.exchange import Aggregate, ModelUpdate
from driftway.learners.averaging.shared_model import SharedModel
from driftway.worker.admin.audit.model_sharing import ExchangeComparison
from driftway.worker.admin.audit.outputs import PointComparison, RejectionComparison
from driftway.worker.state.changelog.commit_record import CommitRecord
from driftway.worker.state.model_sharing.exchange_record import ExchangeRecord, read_record_header
from driftway.worker.wire.codec import encode_point
from driftway.worker.wire.events import Target
from driftway.worker.wire.rejections import answered_offset, in_earlier_words, kind_of

MODEL = SharedModel(np.array([0.5, -1.25]))
RECORD = ExchangeRecord(3, 7, 419, 700, "abc", (Aggregate(20, MODEL),), (ModelUpdate(100, MODEL),), {0: 5, 3: 9}, 4)
EARLIER = {"round": "number", "model_digest": "model", "sent": "told", "received": "heard", "consumed": "took"}


def earlier(value: bytes) -> bytes:
    """Return a record with the field names of earlier versions."""
    return json.dumps({EARLIER.get(key, key): it for key, it in json.loads(value).items()}).encode()


def compared(kind: type, key: bytes, value: bytes, headers: tuple[tuple[str, bytes], ...] = ()) -> tuple[object, ...]:
    message = SimpleNamespace(key=lambda: key, value=lambda: value, headers=lambda: headers)
    return kind.identity(SimpleNamespace(), message)  # type: ignore[attr-defined, no-any-return]


def test_a_round_of_an_earlier_version_is_read() -> None:
    old = earlier(RECORD.value)
    assert b'"told"' in old
    assert b'"sent"' not in old
    read = ExchangeRecord.read(old, [MODEL])
    assert read is not None
    assert read.value == RECORD.value
    assert read_record_header(old) == read_record_header(RECORD.value)
    assert read_record_header(old)[:3] == (7, 419, {0: 5, 3: 9})


def test_a_commit_record_of_an_earlier_version_has_its_number_of_rounds() -> None:
    record = CommitRecord(500, 400, rounds=4)
    old = record.write().replace(b'"rounds"', b'"meetings"')
    assert old != record.write()
    assert CommitRecord.read(old) == CommitRecord.read(record.write()) == record


def test_an_audit_compares_outputs_of_earlier_versions() -> None:
    now = encode_point({"accuracy": 0.5}, 3, 41, "arow", 99, {"group": "g", "model_digest": "m"})
    old = now.replace(b'"model_digest"', b'"model"')
    assert old != now
    assert compared(PointComparison, b"k", old) == compared(PointComparison, b"k", now) == (b"k", now)
    assert compared(ExchangeComparison, b"k", earlier(RECORD.value)) == (b"k", RECORD.value)
    headers = (("reason", b"r"), ("offset", b"7"), ("before", b"41"))
    (_, _, found) = compared(RejectionComparison, b"k", b"v", headers)
    assert found == (("reason", b"r"), ("offset", b"7"), ("input-offset", b"41"))


def test_an_audit_accepts_a_kappa_that_earlier_versions_defined() -> None:
    def same(found: dict[str, Any], expected: dict[str, Any]) -> bool:
        written, wanted = (
            encode_point(point, 3, 41, "arow", 99, {"group": "g", "model_digest": "m"}) for point in (found, expected)
        )
        comparison = PointComparison(SimpleNamespace(low=0), "IN/3", (0, 50))  # type: ignore[arg-type]
        message = SimpleNamespace(key=lambda: b"k", value=lambda: written)
        return comparison._same(message, (b"k", wanted))

    undefined = {"accuracy": 1.0, "kappa": None, "kappa_temporal": None, "majority_accuracy": 1.0}
    assert same(undefined, undefined)
    assert same(undefined | {"kappa": 1.0, "kappa_temporal": 0.0}, undefined)
    assert same(undefined | {"kappa": 0.0}, undefined)
    assert not same(undefined | {"kappa": 0.5}, undefined)
    assert not same(undefined | {"kappa": 1.0, "majority_accuracy": 0.5}, undefined)
    assert not same(undefined | {"kappa": 1.0}, undefined | {"kappa": 0.0})
    assert not same(undefined, undefined | {"kappa": 1.0})


def test_a_rejected_label_of_an_earlier_version_is_read() -> None:
    assert answered_offset({"offset": b"7", "before": b"41"}) == answered_offset(
        {"offset": b"7", "input-offset": b"41"}
    )
    assert answered_offset({"offset": b"7"}) == (7, None)


def test_reasons_of_labels_that_are_lists_are_those_of_earlier_versions_which_said_less() -> None:
    now = Target().no_class("given")
    before = b"label given is not one of 0, 1"
    assert now == before.decode() + ": it is a list or an object"
    assert in_earlier_words([("reason", now.encode())], before) == (("reason", before),)
    assert in_earlier_words([("reason", now.encode())], b"label 2 is not one of 0, 1") == (("reason", now.encode()),)
    assert kind_of(now) == kind_of(before.decode()) == "label"
