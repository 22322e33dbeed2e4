"""What the broker says about topics: their ids, and whether their logs are compacted."""

from __future__ import annotations

import threading
import time
from collections.abc import Collection, Mapping
from functools import partial
from typing import Any, NamedTuple

from confluent_kafka import KafkaError, KafkaException, TopicCollection

from driftway.worker.kafka.client_config import ClientConfig, admin_client
from driftway.worker.kafka.cluster import CLEANUP, settings_of_topics
from driftway.worker.kafka.deadline import Deadline
from driftway.worker.kafka.error_handling import MISSING, TimedOut, TopicMissing, query

NO_IDS = (KafkaError._UNSUPPORTED_FEATURE, KafkaError.UNSUPPORTED_VERSION)
"""Errors of brokers that cannot describe topics."""
TRY_SECONDS = 1.0
"""How long the first client is asked before a new one is made, which is asked twice as long. A client asks the broker
that it takes for the controller, and waits for it for seconds after it has died; a new one is soon told another."""
MISSING_SECONDS = 2.0
"""How long a topic may be unknown: a broker that has just started may not know it yet."""
COMPACTED_INPUT = (
    "compaction removes older records of a key, after which a state cannot be relearned, audited or explained: use "
    "cleanup.policy=delete for an input"
)


class TopicIds(NamedTuple):
    """Ids of the input and of the label topic; None: the broker gives none, or there is no such topic."""

    input: str | None = None
    labels: str | None = None


UNKNOWN_IDS = TopicIds()


class Request(NamedTuple):
    """A request for the descriptions of topics that has been sent."""

    sent_at: float
    """As `time.monotonic`."""
    answers: Mapping[str, Any]
    """Topic -> future of its description."""


class TopicIdReader:
    """Asks for the ids of a worker's input topics, with one client for all its threads.

    A topic that is deleted and recreated gets another id, and none ever comes back. So records that were read before
    the id was asked for are records of the topic with that id.

    Parameters
    ----------
    config : ClientConfig
        Broker and client properties.
    input_topic, label_topic : str
        The topics; an empty label topic: none.
    """

    def __init__(self, config: ClientConfig, input_topic: str, label_topic: str = "") -> None:
        self._config, self._topics = config, [input_topic, label_topic] if label_topic else [input_topic]
        self._lock = threading.Lock()
        self._client: Any = None
        self._request: Request | None = None
        """Sent by `begin`, its answer not taken yet."""
        self._known = TopicIds()
        self.asked_at = -1.0
        """When the last successful question began, as `time.monotonic`."""

    def begin(self, since: float) -> None:
        """Send a request, unless one was sent at `since` or later, and do not wait: the next `ask` takes the answer.

        Raises
        ------
        KafkaException
            The client cannot be made.
        """
        if self._lock.acquire(blocking=False):  # else another thread is asking
            try:
                if self.asked_at < since and (self._request is None or self._request.sent_at < since):
                    self._request = self._send(TRY_SECONDS)
            finally:
                self._lock.release()

    def ask(self, deadline: Deadline, since: float | None = None) -> TopicIds:
        """Return the topics' ids.

        Parameters
        ----------
        deadline : Deadline
            For the answer.
        since : float or None
            The answer to a question asked at this time or later will do, as `time.monotonic`; None: ask now.

        Raises
        ------
        TopicMissing
            A topic does not exist.
        TimedOut, KafkaException
            The broker did not answer in time, or refuses.
        """
        since = time.monotonic() if since is None else since
        if not self._lock.acquire(timeout=deadline.left):
            raise TimedOut(f"the broker did not name the id of topic {self._topics[0]} in time")
        try:
            if self.asked_at < since:
                if self._request is not None and self._request.sent_at < since:
                    self._request = None
                self._known = self._ask(deadline)
            return self._known
        finally:
            self._lock.release()

    def _ask(self, deadline: Deadline) -> TopicIds:
        asked, seconds = Deadline(min(MISSING_SECONDS, deadline.left)), TRY_SECONDS
        while True:
            try:
                return TopicIds(*query(partial(self._describe, min(seconds, max(1.0, deadline.left))), asked))
            except KafkaException as error:
                code, sentence = error.args[0].code(), error.args[0].str()
                if code in MISSING:
                    raise TopicMissing(sentence) from None
                if code in NO_IDS:
                    return TopicIds()
                if code != KafkaError._TIMED_OUT or deadline.passed:
                    raise
            self._client, seconds = None, 2 * seconds

    def _describe(self, seconds: float) -> list[str | None]:
        request, self._request = self._request or self._send(seconds), None
        found = [_id_in(request.answers[name], name) for name in self._topics]
        self.asked_at = request.sent_at
        return found

    def _send(self, seconds: float) -> Request:
        if self._client is None:
            self._client = admin_client(self._config.bootstrap, self._config.passthrough)
        now = time.monotonic()
        return Request(now, self._client.describe_topics(TopicCollection(self._topics), request_timeout=seconds))


def _id_in(answer: Any, topic: str) -> str | None:
    """Return the id in the description of a topic.

    Raises
    ------
    KafkaException
        There is none; that of a missing topic names it.
    """
    try:
        return topic_id_text(getattr(answer.result(), "topic_id", None))
    except KafkaException as error:
        if error.args[0].code() not in MISSING:
            raise
        raise KafkaException(KafkaError(error.args[0].code(), f"topic {topic} no longer exists")) from None


def topic_id_text(topic_id: Any) -> str | None:
    """Return a topic's id as Kafka's own tools write it: the client writes + and / for their - and _.

    None for the id of all zeros, which brokers without ids give.
    """
    if topic_id is None or not (topic_id.get_most_significant_bits() or topic_id.get_least_significant_bits()):
        return None
    return str(topic_id).replace("+", "-").replace("/", "_")


def cleanup_policies(bootstrap: str, passthrough: Mapping[str, Any], topics: Collection[str]) -> dict[str, str]:
    """Return topic -> its cleanup.policy; topics whose settings cannot be read are left out."""
    found = settings_of_topics(bootstrap, passthrough, topics)
    return {topic: settings[CLEANUP] for topic, settings in found.items() if CLEANUP in settings}


def compacted_topics(bootstrap: str, passthrough: Mapping[str, Any], topics: Collection[str]) -> dict[str, str]:
    """Return topic -> its cleanup.policy, of those topics that are compacted."""
    policies = cleanup_policies(bootstrap, passthrough, topics)
    return {topic: policy for topic, policy in policies.items() if "compact" in policy}


def why_records_differ(config: ClientConfig, topics: Collection[str], missing: int) -> str:
    """Say, as far as it can be known, why logs hold `missing` records fewer than they did (more, if negative)."""
    policies = cleanup_policies(config.bootstrap, config.passthrough, [topic for topic in topics if topic])
    if missing < 0:
        return "the log was rewritten"
    compacted = [topic for topic, policy in policies.items() if "compact" in policy]
    if compacted:
        return f"topic {' and '.join(compacted)} is compacted, which removes older records of a key"
    known = "".join(f", as cleanup.policy={policy} of topic {topic} does not" for topic, policy in policies.items())
    return f"they were deleted from the middle of the log{known}, or the log was rewritten"
