"""What a worker requests from the cluster before it joins the group."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka import admin as untyped

from driftway.worker.errors import Failure
from driftway.worker.kafka.client_config import admin_client
from driftway.worker.kafka.topics import ASK_SECONDS, topic_configs

_admin: Any = untyped  # its stubs do not export everything
BROKER_SESSION = "broker.session.timeout.ms"
BROKER_SESSION_MS = 9_000
"""Kafka's default of that setting."""
GUESS_SECONDS = 2.0
"""How long to wait for it: a broker that has just died does not answer, and the default is a good guess."""

CLEANUP, MIN_IN_SYNC = JUDGED = "cleanup.policy", "min.insync.replicas"
"""Settings that `judged_settings` needs."""
MAX_MESSAGE = "max.message.bytes"
DELETE = "delete"
RETENTION_MS = "retention.ms"
COMPACTED_OUTPUT = (
    "no record without a key can be written to it, such as the prediction of an event that has none, and of each key "
    "only the newest record stays, so that an audit cannot compare them"
)


class WrongSetting(NamedTuple):
    """A setting of a topic that does not fit its use."""

    what: str
    blocks: bool
    """Whether nothing can be written with it."""
    hint: str = ""
    """What to do about it; follows `what` in a sentence."""
    change: tuple[str, str] | None = None
    """Setting and value that mend it."""

    @property
    def sentence(self) -> str:
        """Both in one sentence."""
        return self.what + self.hint


def judged_settings(
    topic: str, config: Mapping[str, str], replicas: int, wanted: Mapping[str, str]
) -> list[WrongSetting]:
    """Return the settings of a topic that do not fit its use.

    Parameters
    ----------
    topic : str
        Its name.
    config : mapping
        Its settings.
    replicas : int
        Fewest replicas of a partition.
    wanted : mapping
        The settings with which workers create it.
    """
    wrong, policy = [], config[CLEANUP]
    fitting = wanted.get(CLEANUP, policy)
    if policy != fitting:
        what = f"{topic} has cleanup.policy {policy}, not {fitting}"
        wrong.append(WrongSetting(what, False, _set(topic, fitting), (CLEANUP, fitting)))
    elif wanted and "compact" in policy and CLEANUP not in wanted:
        what = f"{topic} has cleanup.policy {policy}: {COMPACTED_OUTPUT}"
        wrong.append(WrongSetting(what, False, _set(topic, DELETE), (CLEANUP, DELETE)))
    least = int(config[MIN_IN_SYNC])
    if replicas < least:
        what = f"{topic} has min.insync.replicas {least}, but only {replicas} replicas: nothing can be written to it"
        hint = "; it needs more replicas, or a smaller min.insync.replicas"
        wrong.append(WrongSetting(what, True, hint, (MIN_IN_SYNC, str(replicas))))
    return wrong


def wrong_settings(
    bootstrap: str, passthrough: Mapping[str, Any], plan: Mapping[str, tuple[int, Mapping[str, str]]]
) -> list[WrongSetting]:
    """Return the settings of the existing topics of `plan` that do not fit: clean-up, and in-sync replicas.

    Raises
    ------
    Failure
        The topics' settings cannot be read.
    """
    if not plan:
        return []
    admin = admin_client(bootstrap, passthrough)
    wrong = list[WrongSetting]()
    for name, future in topic_configs(admin, plan).items():
        try:
            config, partitions = future.result(), admin.list_topics(name, ASK_SECONDS).topics[name].partitions
        except KafkaException as error:
            raise Failure(f"cannot read the settings of topic {name}: {error.args[0].str()}") from None
        replicas = min((len(one.replicas) for one in partitions.values()), default=int(config[MIN_IN_SYNC].value))
        wrong += judged_settings(name, {key: config[key].value for key in JUDGED}, replicas, plan[name][1])
    return wrong


def settings_of_topics(
    bootstrap: str, passthrough: Mapping[str, Any], topics: Collection[str]
) -> dict[str, dict[str, str]]:
    """Return topic -> its settings; topics whose settings cannot be read are left out."""
    admin = admin_client(bootstrap, passthrough)  # has to live until the answers are there
    found = dict[str, dict[str, str]]()
    for topic, future in topic_configs(admin, topics).items():
        with contextlib.suppress(KafkaException):
            found[topic] = {name: one.value for name, one in future.result().items()}
    return found


def _set(topic: str, policy: str) -> str:
    return f": {set_command(topic, CLEANUP, policy)} sets it"


def set_command(topic: str, setting: str, value: str) -> str:
    """Return the command that changes a setting of a topic, in backticks."""
    add = f"--add-config {setting}={value}"
    return f"`kafka-configs.sh --alter --entity-type topics --entity-name {topic} {add}`"


def broker_session_ms(bootstrap: str, passthrough: Mapping[str, Any], brokers: Sequence[int]) -> int:
    """Return how long the cluster takes to notice that a broker is dead, in ms; 0 if there is only one.

    Kafka's default, if the brokers' settings are not told: reading them needs DESCRIBE_CONFIGS on the cluster.
    """
    if len(brokers) < 2:
        return 0
    try:
        found = settings_of(admin_client(bootstrap, passthrough), "BROKER", str(brokers[0]), GUESS_SECONDS)
        return int(found[BROKER_SESSION].value or BROKER_SESSION_MS)
    except (KafkaException, KeyError):
        return BROKER_SESSION_MS


def require_consumer_protocol(bootstrap: str, passthrough: Mapping[str, Any], group: str) -> None:
    """Fail if the brokers are too old for `group.protocol=consumer`.

    With such brokers the client (librdkafka 2.16) tries to join forever and reports no error. Groups have had settings
    and the protocol since Kafka 4.0: earlier brokers take the question for malformed. Any other refusal, such as a
    missing permission, tells nothing about the protocol.

    Parameters
    ----------
    bootstrap : str
        Brokers.
    passthrough : mapping
        Further client properties.
    group : str
        The worker's group.

    Raises
    ------
    Failure
        They are too old.
    """
    try:
        settings_of(admin_client(bootstrap, passthrough), "GROUP", group, ASK_SECONDS)
    except KafkaException as error:
        if error.args[0].code() == KafkaError.INVALID_REQUEST:
            raise Failure(
                f"the brokers at {bootstrap} are too old for group.protocol=consumer, which needs Kafka 4.0: leave it "
                "out to join by the classic protocol"
            ) from None


def settings_of(admin: Any, kind: str, name: str, seconds: float) -> Any:
    """Return the settings of a resource; `kind` is a name of confluent_kafka's `ResourceType`.

    Raises
    ------
    KafkaException
        The broker refuses, or does not answer in time.
    """
    resource = _admin.ConfigResource(_admin.ResourceType[kind], name)
    return admin.describe_configs([resource], request_timeout=seconds)[resource].result()
