"""Keys of the records in the snapshot topic: chunks of snapshots, commit records, and marks."""

from __future__ import annotations

CLAIM_PARTITION = 0
"""The partition that holds the claims."""
CLAIM_PREFIX = b"claim "
"""Prefix of the keys of claims; all other keys begin with a partition number."""


def chunk_key(partition: int, chunk: int) -> bytes:
    """Key of a chunk, which compaction replaces by the same chunk of the next snapshot."""
    return f"{partition}.{chunk}".encode()


def commit_record_key(partition: int) -> bytes:
    """Key of a partition's commit record; see `changelog.snapshot_scan`."""
    return f"{partition}.position".encode()


def plan_key(partition: int, number: int) -> bytes:
    """Key of the record that says where a partition adopted a plan; see `driftway.worker.state.plans.model_plan`."""
    return f"{partition}.plan.{number}".encode()


def is_plan_key(key: bytes | None, partition: int) -> bool:
    """Whether a key is that of such a record."""
    return (key or b"").startswith(f"{partition}.plan.".encode())


def emission_key(partition: int, offset: int) -> bytes:
    """Key of the record that says whose predictions are written from an input offset on; see `changelog.emission`."""
    return f"{partition}.emit.{offset}".encode()


def is_emission_key(key: bytes | None, partition: int) -> bool:
    """Whether a key is that of such a record."""
    return (key or b"").startswith(f"{partition}.emit.".encode())


def order_key(partition: int, begin: int) -> bytes:
    """Key of the record with the merge order of labels from an input offset to a snapshot."""
    return f"{partition}.order.{begin}".encode()


def is_order_key(key: bytes | None, partition: int) -> bool:
    """Whether a key is that of a merge order."""
    return (key or b"").startswith(f"{partition}.order.".encode())


def claim_key(group: str, input_topic: str) -> bytes:
    """Key of a claim to the outputs; see `driftway.worker.state.changelog.ownership`."""
    return CLAIM_PREFIX + f"{group}/{input_topic}".encode()


def mark_key(partition: int) -> bytes:
    """Key of the mark of where a partition's current history began; see `changelog.snapshot_scan`."""
    return f"{partition}.history".encode()


def new_topic_key(partition: int) -> bytes:
    """Key of the record that says where a partition went on in an input topic that was recreated."""
    return f"{partition}.input".encode()


def is_mark_key(key: bytes | None, partition: int) -> bool:
    """Whether a key is that of such a mark; in earlier versions it ended in `began`."""
    return key in (mark_key(partition), f"{partition}.began".encode())
