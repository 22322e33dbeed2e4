"""How a registry's silence, refusals and settings are handled, with a few calls over HTTP and TLS: no real registry."""

from __future__ import annotations

import contextlib
import json
import socket
import ssl
import sys
import threading
import time

import pytest

from driftway.worker.errors import Failure, Unreachable, UsageFailure
from driftway.worker.kafka.registry.parser import FORMS, make_parser
from driftway.worker.wire.events import Reject
from tests.support import registered
from tests.support.registered import QUICK, ROUND_TRIPS
from tests.support.registry import Stub
from tests.support.secured_kafka import make_certificates
from tests.support.selection import slow_but_each_once

DEEP = "[" * 100_000


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("status", [429, 500, 503])
def test_a_busy_registry_rejects_nothing(stub, form, status):
    value, expected = ROUND_TRIPS[form](stub.url)
    parse = make_parser(form, stub.url, QUICK)
    stub.status = status
    with pytest.raises(
        Unreachable, match=f"the schema registry at http://127.0.0.1:[0-9]+ does not answer: HTTP {status}"
    ):
        parse(value)
    assert len(stub.asked) >= 3, "it is asked again"
    stub.status = 0
    assert parse(value) == expected, "and afterwards the event is as good as ever"


@pytest.mark.parametrize("form", FORMS)
def test_no_registry_rejects_nothing(stub, form):
    value, _ = ROUND_TRIPS[form](stub.url)
    parse = make_parser(form, "http://127.0.0.1:9", QUICK)
    with pytest.raises(Unreachable, match=r"does not answer: .*refused") as caught:
        parse(value)
    assert caught.value.exit_code == 5


@pytest.mark.parametrize(
    ("status", "body"),
    [(404, {"error_code": 404, "message": "HTTP 404 Not Found"}), (404, "<html>"), (401, {}), (403, "no"), (400, {})],
)
def test_a_refusal_of_the_registry_rejects_no_event(stub, status, body):
    value, _ = registered.avro(stub.url)
    stub.status, stub.body = status, body
    with pytest.raises(Failure, match=f"refused: HTTP {status}") as caught:
        make_parser("avro", stub.url, QUICK)(value)
    assert caught.value.exit_code == 1


def test_a_response_that_is_not_json_is_reported(stub):
    value, _ = registered.avro(stub.url)
    stub.status, stub.body = 200, "<html>a proxy</html>"
    with pytest.raises(Unreachable):
        make_parser("avro", stub.url, QUICK)(value)


@pytest.mark.parametrize("how", ["property", "url"])
def test_a_password_is_sent_and_never_shown(stub, how):
    value, expected = registered.json_schema(stub.url)
    stub.authorizations.clear()
    if how == "property":
        url, properties = stub.url, {"basic.auth.user.info": "anna:very:secret"}
    else:
        url, properties = stub.url.replace("//", "//anna:very%3Asecret@"), {}
    assert make_parser("json-schema", url, QUICK | properties)(value) == expected
    assert stub.authorizations == {"Basic YW5uYTp2ZXJ5OnNlY3JldA=="}
    parse = make_parser("json-schema", url, QUICK | properties)
    for stub.status in (401, 503):
        with pytest.raises(Failure) as caught:
            parse(value)
        assert "secret" not in str(caught.value)


def test_certificates_are_checked_on_both_sides(tmp_path):
    make_certificates(tmp_path, "broker", "reader", password="hush-hush")
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(tmp_path / "broker.pem")
    tls.load_verify_locations(tmp_path / "ca.pem")
    tls.verify_mode = ssl.CERT_REQUIRED
    with Stub(tls) as stub:
        number = stub.add(schema='{"$schema": "http://json-schema.org/draft-07/schema#"}', schemaType="JSON")
        value = b"\0" + number.to_bytes(4, "big") + b'{"a": 1}'
        authority = {"ssl.ca.location": str(tmp_path / "ca.pem")}
        files = {"ssl.certificate.location": tmp_path / "reader.crt", "ssl.key.location": tmp_path / "reader.key"}
        mine = {**{key: str(path) for key, path in files.items()}, "ssl.key.password": "hush-hush"}
        assert make_parser("json-schema", stub.url, QUICK | authority | mine)(value) == {"a": 1}
        for properties in ({}, authority):
            with pytest.raises(Unreachable, match="does not answer"):
                make_parser("json-schema", stub.url, QUICK | properties)(value)
        with pytest.raises(UsageFailure, match="registry property refused") as caught:
            make_parser("json-schema", stub.url, QUICK | authority | mine | {"ssl.key.password": "wrong-wrong"})
        assert "wrong-wrong" not in str(caught.value)


@pytest.mark.parametrize(("url", "properties", "words"), [
    ("localhost:8081", {}, "write http://HOST:PORT"),
    ("mock://x", {}, "write http://HOST:PORT"),
    ("http://u:hush@h:port", {}, "write http://HOST:PORT"),
    ("", {}, "write http://HOST:PORT"),
    ("http://a:1,ftp://b", {}, "write http://HOST:PORT"),
    ("http://h", {"url": "http://i"}, "use --registry"),
    ("http://h", {"timeout": "soon"}, "write a number"),
    ("http://h", {"validate": "maybe"}, "write true or false"),
    ("http://h", {"no.such": "1"}, "Unrecognized properties: no.such"),
    ("http://h", {"basic.auth.user.info": "hush"}, "basic.auth.user.info"),
    ("http://u:hush@h", {"basic.auth.user.info": "u:hush"}, "contradicts"),
    ("https://h", {"ssl.ca.location": "/no/such/file"}, "registry property refused"),
    ("https://h", {"ssl.key.location": "/hush", "ssl.key.password": "hush"}, "ssl.certificate.location"),
])  # fmt: skip
def test_an_invalid_registry_url_is_refused(url, properties, words):
    with pytest.raises(UsageFailure, match=words) as caught:
        make_parser("avro", url, properties)
    assert "hush" not in str(caught.value)


def test_the_second_registry_is_used_if_the_first_does_not_answer(stub):
    value, expected = registered.json_schema(stub.url)
    assert make_parser("json-schema", f"http://127.0.0.1:9,{stub.url}", QUICK)(value) == expected


def test_a_registry_that_answered_is_asked_first_from_then_on(stub):
    """Before, each new schema waited until the client had given up the first URL."""
    values = [registered.json_schema(stub.url), registered.avro(stub.url)]
    with Stub() as busy:
        busy.status = 503
        for form, (value, expected) in zip(("json-schema", "avro"), values, strict=True):
            parse = make_parser(form, f"{busy.url},{stub.url}", QUICK)
            assert parse(value) == expected
            assert busy.asked, "the first one is asked"
            busy.asked.clear()
            with pytest.raises(Reject, match="no schema 77 in the registry"):
                parse(b"\0" + (77).to_bytes(4, "big") + value[5:])
            assert not busy.asked
        stub.status = 503
        with pytest.raises(Unreachable, match="HTTP 503"):
            parse(b"\0" + (78).to_bytes(4, "big") + value[5:])
        assert busy.asked, "if it does not answer any more, the others are asked again"


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("lacks", ["confluent_kafka.schema_registry", "fastavro", "google.type", "jsonschema"])
def test_a_missing_extra_is_reported_in_one_sentence(monkeypatch, form, lacks):
    # Modules that have imported it are dropped during the test and restored afterwards.
    for name in [name for name in sys.modules if name.startswith("confluent_kafka.schema_registry")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, lacks, None)
    needed = {"avro": "fastavro", "protobuf": "google.type", "json-schema": "jsonschema"}
    if lacks in ("confluent_kafka.schema_registry", needed[form]):
        with pytest.raises(Failure, match=r"pip install 'driftway\[registry\]'"):
            make_parser(form, "http://h", {})


def test_other_formats_refuse_a_registry():
    with pytest.raises(UsageFailure, match="avro, protobuf, json-schema"):
        make_parser("json", "http://h", {})


BODIES = [
    "null", "[]", "7", '"x"', "{}", '{"schema":5}', '{"schema":null}', '{"schema":["x"]}', '{"schema":{}}', DEEP,
    '{"schema":"{}","schemaType":7}', '{"schema":"{}","references":7}', '{"schema":"{}","references":[7]}',
    '{"schema":"{}","references":[{"name":7,"subject":[],"version":"x"}]}', f'{{"schema":"{DEEP}"}}',
    f'{{"schema":"{DEEP}","schemaType":"JSON"}}', f'{{"schema":"{"x" * 5_000_000}"}}',
]  # fmt: skip


@pytest.mark.parametrize(("body", "form"), slow_but_each_once(BODIES, FORMS), ids=lambda one: one[:30])
def test_any_response_of_a_registry_is_handled_with_one_sentence(stub, body, form):
    value, _ = ROUND_TRIPS[form](stub.url)
    stub.status, stub.body = 200, body
    with pytest.raises((Reject, Failure)) as caught:
        make_parser(form, stub.url, QUICK)(value)
    assert 0 < len(str(caught.value)) < 400


def referring(number: int, to: int) -> dict[str, object]:
    """Return an Avro schema that refers to another one."""
    record = {"type": "record", "name": f"R{number}", "fields": [{"name": "a", "type": f"R{to}"}]}
    reference = {"name": f"R{to}", "subject": f"s{to}", "version": 1}
    return {"schema": json.dumps(record), "references": [reference]}


@pytest.mark.parametrize("length", [1, 2, 7])
def test_schemas_with_circular_references_are_refused(stub, length):
    for number in range(length):
        stub.versions[f"s{number}"] = [stub.add(**referring(number, (number + 1) % length))]
    with pytest.raises(Reject, match=r"^avro: schemas refer to R[0-9] in a circle$"):
        make_parser("avro", stub.url, QUICK)(bytes(4) + b"\x01" + b"x")


def test_schemas_with_endless_references_are_refused(stub):
    for number in range(100):
        stub.versions[f"s{number}"] = [stub.add(**referring(number, number + 1))]
    with pytest.raises(Reject, match="a schema refers to others more than 50 deep, or 500"):
        make_parser("avro", stub.url, QUICK)(bytes(4) + b"\x01" + b"x")


def test_a_response_that_never_ends_times_out():
    """Each byte comes within the timeout, the last one never."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def drip() -> None:
            client, _ = server.accept()
            with client, contextlib.suppress(OSError):
                client.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
                while True:
                    client.sendall(b" ")
                    time.sleep(0.1)

        threading.Thread(target=drip, daemon=True).start()
        parse = make_parser("avro", f"http://127.0.0.1:{server.getsockname()[1]}", {**QUICK, "timeout": "0.5"})
        began = time.monotonic()
        with pytest.raises(Unreachable, match="does not answer: no whole answer within 3 s"):
            parse(bytes(4) + b"\x01" + b"x")
        assert time.monotonic() - began < 15
