"""Who may request predictions: everyone with the token, if there is one."""

from __future__ import annotations

import hmac
import ipaddress
import re
from pathlib import Path

from driftway.worker.errors import UsageFailure
from driftway.worker.stream.endpoint.routes import HttpError, Request

SHORTEST, LONGEST = 16, 4096
CHALLENGE = (("WWW-Authenticate", "Bearer"),)


def is_loopback(host: str) -> bool:
    """Whether an address can be reached from this machine only."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def read_token(path: str) -> bytes:
    """Read a token from a file; spaces and line breaks around it do not count.

    Raises
    ------
    UsageFailure
        The file cannot be read, or holds no token.
    """
    try:
        with Path(path).open("rb") as file:
            token = file.read(LONGEST + 1).strip()
    except OSError as error:
        raise UsageFailure(f"cannot read the token of --serve-token-file {path}: {error.strerror}") from None
    if not SHORTEST <= len(token) <= LONGEST or not re.fullmatch(rb"[A-Za-z0-9._~+/=-]+", token):
        raise UsageFailure(f"--serve-token-file {path}: a token has {SHORTEST} to {LONGEST} letters, digits or ._~+/=-")
    return token


def require_token(request: Request, token: bytes | None) -> None:
    """Refuse a request without the token; None: everybody may ask.

    Raises
    ------
    HttpError
        The token is missing or another one.
    """
    if token is None:
        return
    scheme, _, given = request.headers.get("Authorization", "").partition(" ")
    if scheme.lower() != "bearer" or not given:
        raise HttpError(401, "send the token in a header: Authorization: Bearer TOKEN", CHALLENGE)
    if not hmac.compare_digest(given.strip().encode("utf-8", "replace"), token):
        raise HttpError(401, "this is not the token", CHALLENGE)
