"""The partition of a key, as Kafka's Java clients and `driftway replay` choose it."""

from __future__ import annotations

SEED, FACTOR, SHIFT = 0x9747B28C, 0x5BD1E995, 24
WORD = 0xFFFFFFFF


def murmur2(data: bytes) -> int:
    """Return the 32-bit murmur2 hash with the seed of Kafka's Java clients, unsigned.

    Source: A. Appleby, MurmurHash2; little-endian words, then the rest.
    """
    h = (SEED ^ len(data)) & WORD
    whole = len(data) & ~3
    for start in range(0, whole, 4):
        k = int.from_bytes(data[start : start + 4], "little") * FACTOR & WORD
        k = (k ^ (k >> SHIFT)) * FACTOR & WORD
        h = (h * FACTOR & WORD) ^ k
    if rest := data[whole:]:
        h = (h ^ int.from_bytes(rest, "little")) * FACTOR & WORD
    h = (h ^ (h >> 13)) * FACTOR & WORD
    return h ^ (h >> 15)


def partition_of(key: bytes, partitions: int) -> int:
    """Return the partition of a key, 0 <= partition < partitions."""
    return (murmur2(key) & 0x7FFFFFFF) % partitions
