"""Numbers of variable length, as Avro and Protobuf write them: seven bits a byte, the lowest first."""

from __future__ import annotations

MAX_BYTES = 10
"""Of a number of 64 bits."""


def varint(number: int) -> bytes:
    """Return the bytes of a number of 64 bits without sign."""
    out = bytearray()
    while number >= 0x80:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*out, number])


def read_varint(value: bytes, at: int, most_bytes: int = MAX_BYTES) -> tuple[int, int]:
    """Return the number without sign at a position, and the position after it.

    Raises
    ------
    ValueError
        There is none.
    """
    number = 0
    for k, byte in enumerate(value[at : at + most_bytes]):
        number |= (byte & 0x7F) << 7 * k
        if byte < 0x80:
            return number, at + k + 1
    raise ValueError("a number ends too early, or has too many bytes")


def zigzag(number: int) -> int:
    """Return a number of 64 bits with its sign in the lowest bit."""
    return (number << 1) ^ (number >> 63)


def unzigzag(number: int) -> int:
    """Return the number whose sign is in the lowest bit."""
    return (number >> 1) ^ -(number & 1)
