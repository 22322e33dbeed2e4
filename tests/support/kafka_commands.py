"""Run a command of Kafka's tools through an admin client, as the broker of the tests comes without the tools."""

from __future__ import annotations

import shlex
from typing import Any

from tests.support.kafka import END_SECONDS, admin, await_until


def apply(command: str) -> None:
    """Apply a command of kafka-topics.sh, kafka-configs.sh or kafka-acls.sh; all its options must be known."""
    script, *words = shlex.split(command)
    options = _options(words)
    client = admin(options.pop("--bootstrap-server")[0])
    {"kafka-topics.sh": _topics, "kafka-configs.sh": _configs, "kafka-acls.sh": _acls}[script](client, options)
    assert options == {}, f"{script} with {options}"


def _options(words: list[str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    name = ""
    for word in words:
        if word.startswith("--"):
            name = word
            found.setdefault(name, [])
        else:
            found[name].append(word)
    return found


def _topics(client: Any, options: dict[str, list[str]]) -> None:
    from confluent_kafka.cimpl import NewPartitions

    assert options.pop("--alter") == []
    (topic,), (partitions,) = options.pop("--topic"), options.pop("--partitions")
    client.create_partitions([NewPartitions(topic, int(partitions))])[topic].result(timeout=END_SECONDS)


def _configs(client: Any, options: dict[str, list[str]]) -> None:
    from confluent_kafka.admin import AlterConfigOpType, ConfigEntry, ConfigResource, ResourceType

    assert options.pop("--alter") == []
    assert options.pop("--entity-type") == ["topics"]
    (topic,), (pair,) = options.pop("--entity-name"), options.pop("--add-config")
    key, _, value = pair.partition("=")
    change = ConfigEntry(key, value, incremental_operation=AlterConfigOpType.SET)
    resource = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=[change])
    client.incremental_alter_configs([resource])[resource].result(timeout=END_SECONDS)

    def changed() -> bool:
        return client.describe_configs([resource])[resource].result()[key].value == value

    await_until(changed, END_SECONDS, f"{key} of {topic} is {value}")


def _acls(client: Any, options: dict[str, list[str]]) -> None:
    from confluent_kafka.admin import AclBinding, AclOperation, AclPermissionType, ResourcePatternType, ResourceType

    assert options.pop("--add") == []
    (principal,), operations = options.pop("--allow-principal"), options.pop("--operation")
    pattern = options.pop("--resource-pattern-type", ["literal"])[0].upper()
    kinds = {"--topic": "TOPIC", "--group": "GROUP", "--transactional-id": "TRANSACTIONAL_ID"}
    ((kind, (name,)),) = [(kind, options.pop(option)) for option, kind in kinds.items() if option in options]
    bindings = [
        AclBinding(
            ResourceType[kind], name, ResourcePatternType[pattern], principal, "*", AclOperation[operation],
            AclPermissionType.ALLOW,
        )
        for operation in operations
    ]  # fmt: skip
    for future in client.create_acls(bindings).values():
        future.result(timeout=END_SECONDS)
