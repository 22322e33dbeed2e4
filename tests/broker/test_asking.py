"""Requests to a live group: the answer is what the worker then emits for the same event, bit for bit."""

from __future__ import annotations

import http.client
import json
import os
from contextlib import closing
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from confluent_kafka import Producer

from driftway.worker.stream.endpoint.predictions import MAX_BYTES
from tests.broker.test_endpoint import event, get
from tests.support.kafka import await_until, create_topic, produce, read_all
from tests.support.process import Driftway
from tests.unit.worker.rows import events

pytestmark = pytest.mark.broker
TOKEN = "a-token-of-this-test"


class Client:
    """Asks one worker over one connection that stays open."""

    def __init__(self, port: int) -> None:
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)

    def ask(self, query: str, body: bytes, token: str = TOKEN, method: str = "POST") -> tuple[int, bytes]:
        headers = {"Content-Type": "application/json", "Authorization": f"Bearer {token}"}
        self.connection.request(method, f"/v1/predict{query}", body, headers)
        answer = self.connection.getresponse()
        return answer.status, answer.read()

    def close(self) -> None:
        self.connection.close()


def test_answers_to_requests_equal_what_the_worker_emits(kafka: str, topic: str, group: str, tmp_path: Path) -> None:
    create_topic(kafka, topic, 2)
    token = tmp_path / "token"
    token.write_text(TOKEN)
    values = events(400)
    options = (
        "worker", "--input", topic, "--group", group, "--bootstrap", kafka, "--learner", "arow", "--learner", "pa1",
        "--coverage", "0.9", "--labels", "no,yes", "--http-port", "0", "--log-format", "json", "--serve-predictions",
        "--serve-token-file", str(token),
    )  # fmt: skip
    named = [text.replace(b'"y":1', b'"y":"yes"').replace(b'"y":0', b'"y":"no"') for text in values]
    produce(kafka, topic, named[:300], 0)
    with Driftway(*options) as worker, closing(Client(event(worker, "listening")["port"])) as client:
        port = client.connection.port
        status, _, text = get(port, "/v1/openapi.json")
        assert status == 200
        operation = json.loads(text)["paths"]["/v1/predict"]["post"]
        expected: list[bytes] = []
        for n in (300, 301, 350):

            def at(n: int = n) -> bool:
                status, body = client.ask("?partition=0", named[n])
                return status == 200 and json.loads(body)["offset"] == n

            await_until(at, 60, f"the state is at offset {n}")
            status, body = client.ask("?partition=0", named[n])
            schema = operation["responses"]["200"]["content"]["application/json"]["schema"]
            jsonschema.Draft202012Validator(schema).validate(json.loads(body))
            prefix = b'{"partition":0,"offset":%d,"plan":1,"predictions":[' % n
            assert body.startswith(prefix)
            expected.append(body.removeprefix(prefix).removesuffix(b"]}"))
            several = json.loads(client.ask("?partition=0", b"[" + named[n] + b',{"x":[1]}]')[1])["predictions"]
            assert several == [json.loads(expected[-1]), {"error": "x has 1 features, expected 4"}]
            produce(kafka, topic, named[n : {300: 301, 301: 350}.get(n, 360)], 0)

        def emitted() -> dict[int, bytes]:
            found = [record.value or b"" for record in read_all(kafka, f"{topic}.{group}.predictions")]
            return {json.loads(value)["offset"]: value for value in found}

        assert await_until(lambda: emitted() if len(emitted()) == 360 else {}, 30, "all predictions")
        found = emitted()
        assert [found[n] for n in (300, 301, 350)] == expected

        keyed = Producer({"bootstrap.servers": kafka, "partitioner": "murmur2_random"})
        placed: dict[str, Any] = {}

        def sent(_: Any, record: Any) -> None:
            placed[record.key().decode()] = record.partition()

        for i in range(12):
            keyed.produce(topic, named[i], f"key {i}", on_delivery=sent)
        assert keyed.flush(20) == 0
        assert set(placed.values()) == {0, 1}
        await_until(lambda: client.ask("?partition=1", named[0])[0] == 200, 30, "partition 1 has a model")
        for key, partition in placed.items():
            answer = json.loads(client.ask(f"?key={key.replace(' ', '%20')}", named[0])[1])
            assert (answer["partition"], answer["predictions"][0]["partition"]) == (partition, partition)
        assert len(find_model(port)["partitions"]) == 2

        for query, body, token_sent, expected_status in (
            ("?partition=0", named[0], "a-token-of-another", 401),
            ("?partition=2", named[0], TOKEN, 404),
            ("", named[0], TOKEN, 400),
            ("?partition=0", b"?", TOKEN, 422),
            ("?partition=0", os.urandom(MAX_BYTES + 1), TOKEN, 413),
        ):
            with closing(Client(port)) as another:
                status, answered = another.ask(query, body, token_sent)
            assert (status, list(json.loads(answered))) == (expected_status, ["error"])
            refused = operation["responses"][str(status)]["content"]["application/json"]["schema"]
            jsonschema.Draft202012Validator(refused).validate(json.loads(answered))
        with closing(Client(port)) as another:
            assert another.ask("", b"", method="GET")[0] == 405
        assert get(port, "/v1/model")[0] == 401
        worker.terminate()
        assert worker.wait() == 0, worker.summary()


def find_model(port: int) -> dict[str, Any]:
    with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=20)) as connection:
        connection.request("GET", "/v1/model", headers={"Authorization": f"Bearer {TOKEN}"})
        found: dict[str, Any] = json.loads(connection.getresponse().read())
    assert (found["task"], found["classes"], found["partitions_of_topic"]) == ("classification", ['"no"', '"yes"'], 2)
    first = found["partitions"][0]
    assert (first["champion"], len(first["models"]), first["plan"], first["coverage"]) == ("arow", 2, 1, 0.9)
    assert first["features"] == ["x[0]", "x[1]", "x[2]", "x[3]"]
    return found
