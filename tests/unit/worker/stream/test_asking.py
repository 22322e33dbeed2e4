"""Requests for predictions: parsed, refused with a sentence, routed, and described."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from driftway.worker.cli.serve_options import checked_token
from driftway.worker.errors import UsageFailure
from driftway.worker.settings import WorkerSettings
from driftway.worker.stream.endpoint.access import is_loopback, read_token, require_token
from driftway.worker.stream.endpoint.committed_model import PredictionAnswers
from driftway.worker.stream.endpoint.description import STATUSES, document, operations
from driftway.worker.stream.endpoint.key_hash import murmur2, partition_of
from driftway.worker.stream.endpoint.predictions import (
    MAX_BYTES,
    MAX_EVENTS,
    PredictionRequest,
    parse_request,
    response_of,
)
from driftway.worker.stream.endpoint.routes import HttpError, Request, Route, as_json, find, require_short
from driftway.worker.wire.codec import PACKED
from driftway.worker.wire.events import Target
from tests.unit.worker.rows import model_settings

JSON_KIND = {"Content-Type": "application/json; charset=utf-8"}
TOKEN = "0123456789abcdef-token"


def worker_settings(**rest: Any) -> WorkerSettings:
    return WorkerSettings("localhost:9092", "EVENTS", "g", model_settings("arow", **rest))


def asked(query: dict[str, str], body: bytes, partitions: int = 4, **headers: str) -> PredictionRequest:
    values = {name: [value] for name, value in query.items()}
    return parse_request(Request(values, {**JSON_KIND, **headers}, body), worker_settings(), partitions)


def refusal(*given: Any, **named: Any) -> tuple[int, str]:
    with pytest.raises(HttpError) as refused:
        asked(*given, **named)
    assert json.loads(refused.value.answer.body) == {"error": refused.value.sentence}
    assert refused.value.status in STATUSES
    return refused.value.status, refused.value.sentence


@pytest.mark.parametrize(
    ("key", "hashed"),
    [
        (b"21", -973932308),
        (b"foobar", -790332482),
        (b"a-little-bit-long-string", -985981536),
        (b"a-little-bit-longer-string", -1486304829),
        (b"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", -58897971),
        (b"abc", 479470107),
    ],
)
def test_keys_hash_as_in_the_java_clients(key: bytes, hashed: int) -> None:
    """The values are those of Kafka's own test."""
    assert murmur2(key) == hashed % 2**32
    assert partition_of(key, 7) == (hashed & 0x7FFFFFFF) % 7


def test_a_single_event_is_kept_unchanged_and_a_list_is_split() -> None:
    one = b' {"x":[1.10, 2],"id":12345678901234567890123}'
    assert asked({"partition": "2"}, one) == PredictionRequest([one], False, None, 2)
    both = b'[{"x":[0.1],"id":12345678901234567890123}, 5]'
    assert asked({"key": "caf\u00e9"}, both) == PredictionRequest(
        [b'{"x":[0.1],"id":12345678901234567890123}', b"5"], True, "caf\u00e9".encode(),
        partition_of("caf\u00e9".encode(), 4),
    )  # fmt: skip
    assert asked({}, b"{}", 1).partition == 0
    assert asked({"partition": "3", "key": "k"}, b"{}")[2:] == (b"k", 3)


@pytest.mark.parametrize(
    ("query", "body", "status", "sentence"),
    [
        ({}, b"{}", 400, "the topic has 4 partitions: say \\?key=KEY of the event, or \\?partition=N"),
        ({"partition": "-1"}, b"{}", 400, "partition is a number"),
        ({"partition": "\u00b2"}, b"{}", 400, "partition is a number"),
        ({"partition": "4"}, b"{}", 404, "there is no partition 4: the topic has 4"),
        ({"part": "1"}, b"{}", 400, "there is no parameter part: only key and partition"),
        ({"key": 70_000 * "k"}, b"{}", 400, "the key has 70,000 bytes, more than 65,536"),
        ({"partition": "1"}, b"", 400, "the body is empty"),
        ({"partition": "1"}, b"[]", 400, "the list has no events"),
        ({"partition": "1"}, b"[1,", 400, "the body is a list that cannot be read: not JSON"),
        ({"partition": "1"}, b"[" + b"0," * MAX_EVENTS + b"0]", 413, "the list has 1,001 events, more than 1,000"),
    ],
)
def test_an_invalid_request_is_refused(query: dict[str, str], body: bytes, status: int, sentence: str) -> None:
    found = refusal(query, body)
    assert found[0] == status
    with pytest.raises(HttpError, match=sentence):
        asked(query, body)


@pytest.mark.parametrize(
    "events",
    [
        ['{"id":{"b":1, "a":[2]},"x":[1]}', '{"x":[1.50,1e400], "id": "a,]}\\"["}', "[[],{}]", '"\\\\"', "-0", "null"],
        ['{"id":1.50,"id":2,"x":{"[":1,"a":[{}]}}'],
        ["1"] * MAX_EVENTS,
    ],
)
def test_events_of_a_list_are_taken_as_they_came(events: list[str]) -> None:
    """So that the prediction for each is that of the same event on the topic."""
    for separator in (",", " ,\n "):
        body = f" [ {separator.join(events)}\t] ".encode()
        assert asked({}, body, 1).events == [text.encode() for text in events]


def test_a_parameter_that_is_there_twice_is_refused() -> None:
    """A proxy and the worker may take different ones."""
    for query in ("partition=0&partition=1", "key=a&key=a"):
        _, values = find((Route("POST", "/v1/predict", lambda _: as_json({})),), "POST", f"/v1/predict?{query}")
        with pytest.raises(HttpError, match=r"^(partition|key) is there 2 times: send it once$") as refused:
            parse_request(Request(values, JSON_KIND, b"{}"), worker_settings(), 4)
        assert refused.value.status == 400


def test_a_key_may_be_any_bytes() -> None:
    """As those of Avro or of a LongSerializer, percent-encoded."""
    routes = (Route("POST", "/v1/predict", lambda _: as_json({})),)
    _, values = find(routes, "POST", "/v1/predict?key=%00%ff%C3%A9%80")
    assert parse_request(Request(values, JSON_KIND, b"{}"), worker_settings(), 64) == PredictionRequest(
        [b"{}"], False, b"\x00\xff\xc3\xa9\x80", partition_of(b"\x00\xff\xc3\xa9\x80", 64)
    )
    _, values = find(routes, "POST", "/v1/predict?%ff%0a=1")
    with pytest.raises(HttpError, match="there is no parameter") as refused:
        parse_request(Request(values, JSON_KIND, b"{}"), worker_settings(), 64)
    assert json.loads(refused.value.answer.body) == {"error": "there is no parameter ??: only key and partition"}


def test_other_content_types_and_unknown_partitions_are_refused() -> None:
    assert refusal({"partition": "1"}, b"{}", **{"Content-Type": "text/plain"})[0] == 415
    assert refusal({"partition": "1"}, b"{}", 0)[0] == 503
    packed = WorkerSettings("localhost:9092", "E", "g", model_settings("arow", form=PACKED))
    raw = Request({}, {"Content-Type": "application/octet-stream"}, b"[\x01")
    assert parse_request(raw, packed, 1) == PredictionRequest([b"[\x01"], False, None, 0)
    with pytest.raises(HttpError, match="application/octet-stream"):
        parse_request(Request({}, JSON_KIND, b"{}"), packed, 1)


def test_an_event_that_would_be_rejected_is_answered_with_the_reason() -> None:
    one = PredictionAnswers(5, 2, ["not JSON"])
    alone = response_of(one, PredictionRequest([b"?"], False, None, 0))
    assert (alone.status, json.loads(alone.body)) == (422, {"error": "the event would be rejected: not JSON"})
    several = response_of(
        PredictionAnswers(5, 2, ["not JSON", b'{"id":1.0}']), PredictionRequest([b"?", b""], True, None, 3)
    )
    assert several.body == b'{"partition":3,"offset":5,"plan":2,"predictions":[{"error":"not JSON"},{"id":1.0}]}'


def test_a_request_needs_the_right_token(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text(f"{TOKEN}\n")
    token = read_token(str(file))
    for given in (f"Bearer {TOKEN}", f"bearer  {TOKEN} "):
        require_token(Request({}, {"Authorization": given}), token)
    require_token(Request({}, {}), None)
    for headers in ({}, {"Authorization": "Bearer"}, {"Authorization": f"Basic {TOKEN}"}):
        with pytest.raises(HttpError, match="send the token") as refused:
            require_token(Request({}, headers), token)
        assert (refused.value.status, refused.value.headers) == (401, (("WWW-Authenticate", "Bearer"),))
    for wrong in (TOKEN[:-1], f"{TOKEN}x", "\u00e9" * 20):
        with pytest.raises(HttpError, match="not the token"):
            require_token(Request({}, {"Authorization": f"Bearer {wrong}"}), token)
    for content in (b"", b"short", b"two words are no token", b"\xff" * 20, b"x" * 5000):
        file.write_bytes(content)
        with pytest.raises(UsageFailure, match="a token has 16 to 4096 letters"):
            read_token(str(file))
    with pytest.raises(UsageFailure, match="cannot read the token"):
        read_token(str(tmp_path / "nothing"))


def test_predictions_are_off_and_need_a_token_beyond_loopback(tmp_path: Path) -> None:
    plain = {"http_port": 0, "http_host": "127.0.0.1", "serve_predictions": True, "serve_token_file": None}
    assert checked_token(plain) is None
    assert checked_token({**plain, "serve_predictions": False, "http_host": "0.0.0.0"}) is None
    file = tmp_path / "token"
    file.write_text(TOKEN)
    assert checked_token({**plain, "http_host": "0.0.0.0", "serve_token_file": str(file)}) == TOKEN.encode()
    for wrong, sentence in (
        ({"http_host": "0.0.0.0"}, "needs --serve-token-file"),
        ({"http_port": None}, "needs --http-port"),
        ({"serve_predictions": False, "serve_token_file": str(file)}, "is for --serve-predictions"),
    ):
        with pytest.raises(UsageFailure, match=sentence):
            checked_token({**plain, **wrong})
    assert [is_loopback(host) for host in ("127.0.0.1", "::1", "localhost", "0.0.0.0", "::", "worker.local")] == [
        True, True, True, False, False, False,
    ]  # fmt: skip


def test_long_bodies_and_unknown_routes_and_methods_are_refused() -> None:
    require_short(7, 7)
    with pytest.raises(HttpError, match="the body has 8 bytes, more than 7") as refused:
        require_short(8, 7)
    assert refused.value.status == 413
    routes = (Route("POST", "/v1/predict", lambda _: as_json({})), Route("GET", "/", lambda _: as_json({})))
    assert find(routes, "POST", "/v1/predict?key=a%20b&partition=")[1] == {"key": ["a b"], "partition": [""]}
    for target in ("/", "http://worker:8000/?a=1", "/?a=1&a=2"):
        assert find(routes, "GET", target)[0] is routes[1]
    for method, path, status in (
        ("GET", "/v1/predict", 405),
        ("GET", "/v1", 404),
        ("POST", "/?" + 30 * "a&", 400),
        ("GET", "//", 404),
        ("GET", "*", 404),
        ("GET", "http://[/", 400),
    ):
        with pytest.raises(HttpError) as refused:
            find(routes, method, path)
        assert refused.value.status == status, path
    for method, path, allowed in (("GET", "/v1/predict", "POST"), ("POST", "/", "GET, HEAD")):
        with pytest.raises(HttpError) as refused:
            find(routes, method, path)
        assert refused.value.headers == (("Allow", allowed),)


@pytest.mark.parametrize(
    "settings",
    [
        worker_settings(coverage=0.9, target=Target("classification", 2, ("no", "1"))),
        worker_settings(coverage=0.9, task="regression"),
        worker_settings(form=PACKED),
    ],
)
@pytest.mark.parametrize("secured", [False, True])
def test_the_openapi_description_is_complete(settings: WorkerSettings, secured: bool) -> None:
    jsonschema = pytest.importorskip("jsonschema")
    about = operations(settings, MAX_BYTES, MAX_EVENTS)
    routes = (
        Route("POST", "/v1/predict", lambda _: as_json({}), described=about["predict"]),
        Route("GET", "/metrics", lambda _: as_json({})),
    )
    openapi = json.loads(as_json(document(routes, settings, secured)).body)
    assert openapi["openapi"].startswith("3.1.")
    assert list(openapi["paths"]) == ["/v1/predict"]
    operation = openapi["paths"]["/v1/predict"]["post"]
    assert [one["name"] for one in operation["parameters"]] == ["key", "partition"]
    assert operation["responses"].keys() == {"200", *map(str, STATUSES)}
    assert ("security" in openapi) == secured
    for holder in (operation["requestBody"], *operation["responses"].values()):
        for content in holder["content"].values():
            jsonschema.Draft202012Validator.check_schema(content["schema"])
    (kind,) = operation["requestBody"]["content"]
    assert kind == ("application/octet-stream" if settings.model.form == PACKED else "application/json")
