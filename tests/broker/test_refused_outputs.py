"""A call to produce to a topic that the principal may not write names this topic."""

from __future__ import annotations

import pytest

from driftway.worker.kafka.client_factory import make_sender
from driftway.worker.kafka.error_handling import DeliveryFailed, ErrorAction
from driftway.worker.wire.columns import ListColumn
from tests.support.granted_topics import PASSWORD, scram
from tests.support.kafka import await_until, create_topic, unique
from tests.support.secured_kafka import add_user, grant, scram_kafka


@pytest.mark.parametrize("headers", [None, [()]], ids=["batch", "with headers"])
@pytest.mark.parametrize("client", ["native", "python"])
def test_a_call_after_a_refused_record_names_the_topic(client: str, headers: list[tuple[()]] | None) -> None:
    with scram_kafka() as broker:
        topic, user = create_topic(broker.plain, unique("outputs"), 1), unique("user")
        add_user(broker.plain, user, PASSWORD)
        grant(broker.plain, user, [("TOPIC", topic, "DESCRIBE")])
        pairs = dict(pair.split("=", 1) for pair in scram(user)[1::2])
        sender = make_sender(client, {"bootstrap.servers": broker.guarded, **pairs}, 0, every_report=True)

        def refused() -> DeliveryFailed | None:
            try:
                sender.send(topic, ListColumn([b"row"]), ListColumn([None]), headers)
            except DeliveryFailed as failed:
                return failed
            sender.poll(0.1)
            return None

        failed = await_until(refused, 30, "a call to produce fails")
        assert str(failed).startswith(f"{topic} cannot be written: ")
        assert failed.action is ErrorAction.FATAL
