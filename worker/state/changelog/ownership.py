"""Ownership of the outputs: a claim at the start of the snapshot topic names the owner; other workers refuse to start.

It is written before anything else, with the claimant's own key, so that compaction keeps it. If two claim at once, the
one whose record is first owns the outputs, and both see this. Default names contain the group and the input, so only
``--output-prefix`` can give two groups the same topics.
"""

from __future__ import annotations

import contextlib

from confluent_kafka import Consumer

from driftway.worker.errors import CannotRestore, UsageFailure
from driftway.worker.kafka.deadline import Deadline
from driftway.worker.kafka.log_reader.reader import ANY, MessageReader, open_reader, watermarks
from driftway.worker.settings import WorkerSettings
from driftway.worker.state.changelog.record_keys import CLAIM_PARTITION, CLAIM_PREFIX, claim_key
from driftway.worker.state.changelog.snapshot_scan import append
from driftway.worker.state.stored_fields import MAX_PARTITIONS, Malformed, StoredFields
from driftway.worker.wire.codec import write_json

CLAIM_SECONDS = 30.0
Owner = tuple[str, str, int]
"""Group, input, and number of partitions (0: unknown) of a claim."""


def claim_ownership(settings: WorkerSettings, partitions: int) -> int:
    """Claim the outputs, or check that they are ours already.

    Parameters
    ----------
    settings : WorkerSettings
        Settings of the claimant.
    partitions : int
        Current number of input partitions.

    Returns
    -------
    int
        Number of input partitions when the claim was made: later ones are read from their beginning.

    Raises
    ------
    UsageFailure
        They belong to another group or input.
    CannotRestore
        It cannot be read to whom they belong.
    KafkaException, TimedOut
        The broker did not answer in time.
    """
    deadline = Deadline(CLAIM_SECONDS)
    with contextlib.closing(open_reader(settings, ANY)) as reader:
        owner = read_owner(settings, reader, deadline)
        if owner is None:
            ours = {"group": settings.group, "input": settings.input, "partitions": partitions}
            key = claim_key(settings.group, settings.input)
            append(settings, CLAIM_PARTITION, key, write_json(ours), deadline, once=False)  # the first of them counts
            owner = read_owner(settings, reader, deadline)
    require_own(settings, owner)
    return (owner[2] if owner else 0) or partitions


def require_own(settings: WorkerSettings, owner: Owner | None) -> None:
    """Check that the outputs belong to the settings' group, on their input.

    Raises
    ------
    UsageFailure
        They belong to another group or input.
    """
    if owner is None or owner[:2] != (settings.group, settings.input):
        whose = "a group that could not be read" if owner is None else f"group {owner[0]}, which works on {owner[1]}"
        raise UsageFailure(
            f"outputs {settings.topics.prefix}.* belong to {whose}: choose others with --output-prefix PREFIX"
        )


def read_owner(settings: WorkerSettings, reader: Consumer, deadline: Deadline) -> Owner | None:
    """Group, input and number of partitions (0: unknown) of the first claim; None if there is no record at all.

    A topic that begins with other records is older than claims, or was truncated: then the outputs are ours if their
    names are the default ones.

    Raises
    ------
    UsageFailure
        The first record is no claim, and the names are not the default ones.
    CannotRestore
        It is a claim that cannot be read.
    """
    topic = settings.topics.snapshots
    low, high = watermarks(reader, topic, CLAIM_PARTITION, deadline)
    if low == high:
        return None
    message = MessageReader(reader, {(topic, CLAIM_PARTITION): low}).next(deadline, f"the first record of {topic} was")
    if message is None:  # transaction markers only
        return None
    if not (message.key() or b"").startswith(CLAIM_PREFIX):
        if settings.outputs:
            raise UsageFailure(
                f"topic {topic} does not name its group: choose other outputs with --output-prefix PREFIX"
            )
        return settings.group, settings.input, 0
    return read_claim(message.value(), f"{topic}/{CLAIM_PARTITION}@{message.offset()}")


def read_claim(value: bytes | None, where: str) -> Owner:
    """Group, input and number of partitions (0: unknown) of a claim; `where` is its place, for messages.

    Raises
    ------
    CannotRestore
        It cannot be read.
    """
    try:
        claim = StoredFields.parse(value, "it")
        partitions = claim.integer("partitions", at_most=MAX_PARTITIONS) if claim.has("partitions") else 0
        return claim.text("group"), claim.text("input"), partitions
    except Malformed as error:
        raise CannotRestore(
            f"the claim to the outputs at {where} cannot be read: {error}; choose other outputs with "
            "--output-prefix PREFIX"
        ) from None
