"""Quotas of a client, which no Python client can set: one request in the wire format of version 0."""

from __future__ import annotations

import socket
import struct

ALTER_CLIENT_QUOTAS = 49
SECONDS = 10.0


def set_quota(bootstrap: str, client_id: str, key: str, value: float | None) -> None:
    """Let clients of that id use `value` bytes a second of `producer_byte_rate` or `consumer_byte_rate`; None: all."""
    entity = struct.pack(">i", 1) + _text("client-id") + _text(client_id)
    change = struct.pack(">i", 1) + _text(key) + struct.pack(">d?", value or 0.0, value is None)
    body = struct.pack(">i", 1) + entity + change + struct.pack(">?", False)
    request = struct.pack(">hhi", ALTER_CLIENT_QUOTAS, 0, 1) + _text("quotas") + body
    host, _, port = bootstrap.rpartition(":")
    with socket.create_connection((host, int(port)), SECONDS) as connection:
        connection.sendall(struct.pack(">i", len(request)) + request)
        answer = connection.makefile("rb")
        (length,) = struct.unpack(">i", answer.read(4))
        _correlation, _throttled, _entries, code = struct.unpack_from(">iiih", answer.read(length))
    assert code == 0, f"the broker refused a quota of {client_id}: error {code}"


def _text(text: str) -> bytes:
    return struct.pack(">h", len(text)) + text.encode()
