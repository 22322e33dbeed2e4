"""Whose the outputs are: a record at the start of the snapshot topic says so, and nobody else's worker begins.

It is written before anything else, under a key of the claimant's own, so that compaction leaves it where it is. Where
two claim at once, the one whose record came first has the outputs, and both see that. Names by default hold the group
and the input: only ``--outputs`` can lead two groups to the same topics.
"""

from __future__ import annotations

import contextlib

from confluent_kafka import Consumer

from driftway.worker.errors import UsageFailure
from driftway.worker.kafka.deadline import Deadline
from driftway.worker.kafka.log_reader.reader import ANY, MessageReader, open_reader, watermarks
from driftway.worker.settings import WorkerSettings
from driftway.worker.state.changelog.snapshot_scan import append
from driftway.worker.state.snapshot import CLAIM_PARTITION, CLAIM_PREFIX, claim_key
from driftway.worker.wire.codec import read_json, write_json

CLAIM_SECONDS = 30.0


def claim_ownership(settings: WorkerSettings, partitions: int) -> int:
    """Claim the outputs, or see that they are ours already.

    Parameters
    ----------
    settings : WorkerSettings
        Whose.
    partitions : int
        Of the input now.

    Returns
    -------
    int
        Of the input when the claim was made: what comes later is read from its beginning.

    Raises
    ------
    UsageFailure
        They are another's.
    KafkaException, TimedOut
        The broker did not answer in time.
    """
    deadline = Deadline(CLAIM_SECONDS)
    with contextlib.closing(open_reader(settings, ANY)) as reader:
        owner = _owner(settings, reader, deadline)
        if owner is None:
            ours = {"group": settings.group, "input": settings.input, "partitions": partitions}
            append(settings, CLAIM_PARTITION, claim_key(settings.group, settings.input), write_json(ours), deadline)
            owner = _owner(settings, reader, deadline)
    if owner is None or owner[:2] != (settings.group, settings.input):
        whose = "a group that could not be read" if owner is None else f"group {owner[0]}, which works on {owner[1]}"
        raise UsageFailure(f"outputs {settings.topics.prefix}.* belong to {whose}: choose others with --outputs PREFIX")
    return owner[2] or partitions


def _owner(settings: WorkerSettings, reader: Consumer, deadline: Deadline) -> tuple[str, str, int] | None:
    """Group, input and its partitions (0: not known) of the first claim; None: there is no record at all.

    A topic that begins with other records is older than claims, or was cut: then a name that was not chosen by hand
    decides.

    Raises
    ------
    UsageFailure
        The first record is no claim, and the name was chosen by hand.
    """
    topic = settings.topics.snapshots
    low, high = watermarks(reader, topic, CLAIM_PARTITION, deadline)
    if low == high:
        return None
    message = MessageReader(reader, {(topic, CLAIM_PARTITION): low}).next(deadline, f"the first record of {topic} was")
    if message is None:  # markers only
        return None
    if not (message.key() or b"").startswith(CLAIM_PREFIX):
        if settings.outputs:
            raise UsageFailure(f"topic {topic} does not say whose it is: choose other outputs with --outputs PREFIX")
        return settings.group, settings.input, 0
    told = read_json(message.value() or b"{}")
    return told.get("group", "?"), told.get("input", "?"), told.get("partitions", 0)
