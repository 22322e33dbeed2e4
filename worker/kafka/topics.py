"""The topics of an input and its groups: their names, how they are created and checked. Leaf module."""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import re
from collections.abc import Collection, Mapping
from typing import Any

from driftway.worker.errors import Failure, Unreachable, UsageFailure, no_topic, plural
from driftway.worker.kafka.client_config import admin_client, require_broker, without_userinfo
from driftway.worker.kafka.deadline import Deadline

CREATE_SECONDS, ASK_SECONDS = 30.0, 10.0
LARGEST_RECORD = 10_485_760
"""Largest output record in bytes. An output can be longer than its event (a rejected event is written in full, with
headers; a prediction echoes its id), and an event whose output is refused would stop the partition for good."""

OTHERS_OWN = frozenset(("_schemas", "_confluent-command", "_confluent-license", "_confluent-metrics"))
"""Topics of programs beside Kafka; Kafka's own begin with two underscores."""
MAX_NAME, MAX_PREFIX = 249, 230
"""Characters that a topic's name may have, and of these the outputs' prefix."""
COLLISION = "names of topics must differ in more than . and _: choose another, for outputs with --output-prefix"
TOPIC = re.compile(r"[A-Za-z0-9._-]+")
PREFIX = re.compile(rf"(?!\.)[A-Za-z0-9._-]{{1,{MAX_PREFIX}}}(?<!\.)")
PLAIN_GROUP = re.compile(r"(?!.*-[0-9a-f]{8}$)[A-Za-z0-9_-]{1,100}")
"""A group that topic names can contain unchanged: it has no dot, and does not look like an encoded name."""


def in_topics(group: str) -> str:
    """Return a group's name as topic names contain it; no two groups share one, whatever the inputs are called.

    If dots were kept, group `c` on input `a.b` and group `b.c` on input `a` would have the same snapshot topic.
    """
    if PLAIN_GROUP.fullmatch(group):
        return group
    readable = re.sub(r"[^A-Za-z0-9_-]", "-", group)[:100]
    return f"{readable}-{hashlib.blake2b(group.encode(), digest_size=4).hexdigest()}"


@dataclasses.dataclass(frozen=True)
class Topics:
    """The topics of a consumer group that works on an input.

    Parameters
    ----------
    input, group : str
        Input topic and consumer group.
    named : str
        Prefix of the outputs' names if the user has chosen one; empty for ``INPUT.GROUP``.
    watched : bool
        Whether there is a topic of alarms, because drift detectors watch the champion, or did once.
    labels : str
        The topic of labels; empty if labels arrive with their events, or among them.
    shared : bool
        Whether partitions exchange updates of their learners: only then is there a topic of shares.
    challenged : bool
        Whether there is a topic of challengers' predictions, because workers write them, or did once.
    """

    input: str
    group: str
    named: str = ""
    watched: bool = False
    labels: str = ""
    shared: bool = False
    challenged: bool = False

    @property
    def prefix(self) -> str:
        """Prefix of the outputs' names."""
        return self.named or f"{self.input}.{in_topics(self.group)}"

    @property
    def predictions(self) -> str:
        """One record per predicted event."""
        return f"{self.prefix}.predictions"

    @property
    def challengers(self) -> str:
        """One record per predicted event and challenger."""
        return f"{self.prefix}.challengers"

    @property
    def accuracy(self) -> str:
        """Rolling accuracy per learner and partition."""
        return f"{self.prefix}.accuracy"

    @property
    def rejected(self) -> str:
        """Events that could not be used, with the reason in their headers."""
        return f"{self.prefix}.rejected"

    @property
    def alarms(self) -> str:
        """Drift alarms of the champion's detectors, each naming the event that raised it."""
        return f"{self.prefix}.alarms"

    @property
    def shares(self) -> str:
        """Updates that partitions exchange about their learners' models, compacted."""
        return f"{self.prefix}.shares"

    @property
    def snapshots(self) -> str:
        """Chunks of task snapshots, compacted, after a record that names the owner of all topics."""
        return f"{self.prefix}.snapshots"

    @property
    def models(self) -> str:
        """Plans of the group's models, compacted, in one partition; made by the first change of them."""
        return f"{self.prefix}.models"

    @property
    def sent_again(self) -> str:
        """Up to where rejections were sent again, compacted; only `driftway rejected --send-again` makes it."""
        return f"{self.prefix}.sent-again"

    def outputs(self) -> tuple[str, ...]:
        """Return all topics that a worker writes to."""
        challengers = (self.challengers,) if self.challenged else ()
        alarms = (self.alarms,) if self.watched else ()
        shares = (self.shares,) if self.shared else ()
        return (self.predictions, *challengers, self.accuracy, self.rejected, *alarms, *shares, self.snapshots)

    def existing(self, present: Collection[str]) -> Topics:
        """Return the same with those of alarms and challengers that are among the `present` topics.

        A plan may have had detectors, and an earlier start `--emit all`, whatever the options say now.
        """
        watched, challenged = self.alarms in present, self.challengers in present
        return dataclasses.replace(self, watched=self.watched or watched, challenged=self.challenged or challenged)

    def every_output(self) -> tuple[str, ...]:
        """Return all topics that workers of the group may write to, with whatever options."""
        return (*dataclasses.replace(self, watched=True, shared=True, challenged=True).outputs(), self.models)


def require_prefix(prefix: str, input_topic: str, group: str) -> None:
    """Check that a prefix, or else the names of input and group, make valid output names.

    Raises
    ------
    UsageFailure
        They do not, or an output would be the input.
    """
    if not prefix and len(longest := Topics(input_topic, group).predictions) > MAX_NAME:
        raise UsageFailure(
            f"the output {longest} would have {len(longest)} characters, and a topic's name has at most {MAX_NAME}: "
            "choose a shorter prefix of the outputs' names with --output-prefix"
        )
    if prefix and not PREFIX.fullmatch(prefix):
        raise UsageFailure(
            f"--output-prefix {prefix}: topic names have letters, digits, '.', '_' and '-', here at most {MAX_PREFIX}"
        )
    if prefix and input_topic in Topics("", "", prefix).every_output():
        raise UsageFailure(f"--output-prefix {prefix}: one of the outputs would be the input, {input_topic}")


def written_for(topics: Collection[str], input_topic: str, group: str | None = None, named: str = "") -> Topics:
    """Return the outputs of a group or a prefix; if neither is given, those of the only group on the input.

    Raises
    ------
    UsageFailure
        There are no such outputs, or several groups have some.
    """
    if input_topic not in topics:
        raise UsageFailure(no_topic(input_topic))
    if group is not None or named:
        found = Topics(input_topic, group or "", named)
        if found.accuracy not in topics:
            who = "no worker" if group is None else f"no worker of group {group}"
            raise UsageFailure(no_topic(found.accuracy, f"{who} has run on {input_topic} yet"))
        return found
    ours = re.compile(re.escape(input_topic) + r"\.([A-Za-z0-9_-]+)\.accuracy")
    groups = sorted(match[1] for match in map(ours.fullmatch, topics) if match)
    if not groups:
        raise UsageFailure(
            f"no worker has run on {input_topic} yet, or this principal may not describe its outputs, or they have "
            "other names: a group with a dot in its name must be given with --group, a prefix with --output-prefix"
        )
    if len(groups) > 1:
        raise UsageFailure(f"groups {', '.join(groups)} work on {input_topic}: choose one with --group")
    return Topics(input_topic, groups[0])


def require_input(name: str, what: str = "input") -> None:
    """Check that a topic can exist, and is not one in which Kafka, or a program beside it, keeps its own records.

    Raises
    ------
    UsageFailure
        It cannot, or it is.
    """
    if name and not TOPIC.fullmatch(name):
        raise UsageFailure(
            f"{name} cannot be the {what}: topic names have letters, digits, '.', '_' and '-', and a worker reads one "
            "topic"
        )
    if name.startswith("__") or name in OTHERS_OWN:
        raise UsageFailure(f"{name} cannot be the {what}: it is an internal topic of Kafka")


def topic_configs(admin: Any, topics: Collection[str]) -> dict[str, Any]:
    """Ask for the settings of topics; return topic -> future of them, by name."""
    from confluent_kafka import admin as untyped

    api: Any = untyped  # its stubs do not export everything
    resources = [api.ConfigResource(api.ResourceType.TOPIC, name) for name in topics]
    found = admin.describe_configs(resources, request_timeout=ASK_SECONDS) if resources else {}
    return {resource.name: future for resource, future in found.items()}


def topic_operations(admin: Any, topics: Collection[str]) -> dict[str, frozenset[str]]:
    """Ask what this principal may do with topics; return topic -> names of operations, of those that are told.

    A broker without authorisation says that everything is allowed.
    """
    from confluent_kafka import KafkaException, TopicCollection

    if not topics:
        return {}
    names, found = TopicCollection(list(topics)), dict[str, frozenset[str]]()
    asked = admin.describe_topics(names, include_authorized_operations=True, request_timeout=ASK_SECONDS)
    for name, future in asked.items():
        with contextlib.suppress(KafkaException):
            if (allowed := future.result().authorized_operations) is not None:
                found[name] = frozenset(one.name for one in allowed)
    return found


def grow_command(topic: str, partitions: int) -> str:
    """Return the command that gives a topic more partitions."""
    return f"`kafka-topics.sh --alter --topic {topic} --partitions {partitions}`"


def partition_counts(metadata: Any) -> dict[str, int]:
    """Return topic -> number of partitions from a cluster's metadata."""
    return {name: len(topic.partitions) for name, topic in metadata.topics.items() if topic.error is None}


def present_topics(bootstrap: str, passthrough: Mapping[str, Any]) -> dict[str, int]:
    """Return topic -> number of partitions, of all topics of the cluster; errors as of `require_broker`."""
    return partition_counts(require_broker(bootstrap, passthrough))


def create_topics(
    bootstrap: str,
    passthrough: Mapping[str, Any],
    topics: Mapping[str, tuple[int, Mapping[str, str]]],
    replication: int = -1,
    present: Mapping[str, int] | None = None,
) -> list[str]:
    """Create the missing ones of `topics` (name -> partitions, settings); return the created names.

    `present` are the topics that exist, with their partitions; without it, the broker is asked for them.

    Raises
    ------
    UsageFailure
        An existing topic has another number of partitions.
    Failure
        The broker refused, or does not answer.
    """
    from confluent_kafka import KafkaError, KafkaException

    if present is None:
        present = present_topics(bootstrap, passthrough)
    for name, (partitions, _) in topics.items():
        if name in present and present[name] != partitions:
            raise UsageFailure(f"topic {name} has {plural(present[name], 'partition')}, not {partitions}")
    missing = _new_topics({name: wanted for name, wanted in topics.items() if name not in present}, replication)
    if not missing:
        return []
    admin = admin_client(bootstrap, passthrough)
    for name, future in admin.create_topics(missing, operation_timeout=CREATE_SECONDS).items():
        try:
            future.result(timeout=CREATE_SECONDS)
        except KafkaException as error:
            if error.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
                raise Failure(f"cannot create topic {name}: {why_refused(error.args[0])}") from None
        except TimeoutError:
            raise _unanswered(f"cannot create topic {name}", bootstrap, passthrough) from None
    await_leaders(admin, {topic.topic: topic.num_partitions for topic in missing})
    return [topic.topic for topic in missing]


def _unanswered(what: str, bootstrap: str, passthrough: Mapping[str, Any]) -> Unreachable:
    """Return the failure of a request to a broker that does not answer, although one does at `bootstrap`.

    Clients send requests to the addresses that the brokers advertise. If these are wrong, only the first one works.
    """
    brokers = require_broker(bootstrap, passthrough).brokers.values()
    advertised = ", ".join(sorted(f"{one.host}:{one.port}" for one in brokers))
    return Unreachable(
        f"{what}: no answer within {CREATE_SECONDS:.0f} s. The broker at {without_userinfo(bootstrap)} says that "
        f"clients reach the cluster at {advertised}; if that is not so here, the brokers' advertised.listeners is wrong"
    )


def _new_topics(topics: Mapping[str, tuple[int, Mapping[str, str]]], replication: int) -> list[Any]:
    from confluent_kafka.cimpl import NewTopic

    return [NewTopic(name, n, replication, config=dict(config)) for name, (n, config) in topics.items()]


def refused_topics(
    bootstrap: str, passthrough: Mapping[str, Any], topics: Mapping[str, tuple[int, Mapping[str, str]]]
) -> dict[str, str]:
    """Ask the broker whether it would create topics, and create none; return topic -> why not, of those refused."""
    from confluent_kafka import KafkaError, KafkaException

    admin, refused = admin_client(bootstrap, passthrough), dict[str, str]()
    asked = _new_topics(topics, -1)
    answers = admin.create_topics(asked, request_timeout=ASK_SECONDS, validate_only=True) if asked else {}
    for name, future in answers.items():
        try:
            future.result(timeout=CREATE_SECONDS)
        except KafkaException as error:
            if error.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
                refused[name] = why_refused(error.args[0])
    return refused


def why_refused(error: Any) -> str:
    """Return the broker's reason not to create a topic; if there is one whose name is too similar, with the way out."""
    text: str = error.str()
    return f"{text}; {COLLISION}" if "collides with" in text else text


def await_leaders(admin: Any, created: Mapping[str, int]) -> None:
    """Wait until the leaders of new partitions accept requests, at most CREATE_SECONDS.

    The metadata names a leader some milliseconds before that broker accepts requests. If it refuses the first batch of
    an idempotent producer and accepts the second, which is in flight already, the first is written last or never.
    """
    from confluent_kafka import KafkaException, TopicPartition
    from confluent_kafka.admin import OffsetSpec  # type: ignore[attr-defined]

    from driftway.worker.kafka.error_handling import query

    end = OffsetSpec.latest()  # type: ignore[no-untyped-call]
    topic_partitions = {TopicPartition(name, p): end for name, n in created.items() for p in range(n)}
    known: set[str] = set()

    def ask() -> None:
        for name in sorted(known):  # the client forgets a leader that has refused; not all topics: there may be many
            admin.list_topics(name, ASK_SECONDS)
        known.update(created)
        for future in admin.list_offsets(topic_partitions, request_timeout=ASK_SECONDS).values():
            future.result()

    with contextlib.suppress(KafkaException):  # whoever uses the topics is told
        query(ask, Deadline(CREATE_SECONDS))


def grow_topics(bootstrap: str, passthrough: Mapping[str, Any], names: Collection[str], partitions: int) -> None:
    """Raise topics to a number of partitions and wait for their leaders; those that have it already stay as they are.

    Raises
    ------
    Failure
        The broker refused.
    """
    from confluent_kafka import KafkaError, KafkaException
    from confluent_kafka.cimpl import NewPartitions

    admin = admin_client(bootstrap, passthrough)
    requests = [NewPartitions(name, partitions) for name in names]
    for name, future in admin.create_partitions(requests, operation_timeout=CREATE_SECONDS).items():
        try:
            future.result(timeout=CREATE_SECONDS)
        except KafkaException as error:
            if error.args[0].code() != KafkaError.INVALID_PARTITIONS:  # another worker was faster
                raise Failure(
                    f"topic {name} needs {plural(partitions, 'partition')}, as many as the input, but adding them "
                    f"failed ({error.args[0].str()}): somebody with permission to alter the topic must do it"
                ) from None
        except TimeoutError:
            raise _unanswered(f"cannot add partitions to topic {name}", bootstrap, passthrough) from None
    await_leaders(admin, dict.fromkeys(names, partitions))


def output_plan(topics: Topics, partitions: int) -> dict[str, tuple[int, dict[str, str]]]:
    """Return what `create_topics` needs for a worker's outputs, with as many partitions as the input has.

    The topics of snapshots and of shares are compacted, so that they hold only the newest ones. A short segment time
    lets the cleaner reach them, and `min.cleanable.dirty.ratio` makes it start early.
    """
    compacted = {"cleanup.policy": "compact", "segment.ms": "600000", "min.cleanable.dirty.ratio": "0.1"}
    size = {"max.message.bytes": str(LARGEST_RECORD)}
    return {
        name: (partitions, size | (compacted if name in (topics.snapshots, topics.shares) else {}))
        for name in topics.outputs()
    }
