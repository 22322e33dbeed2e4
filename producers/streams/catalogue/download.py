"""Downloads one file and checks it; the result is either complete and correct, or absent."""

from __future__ import annotations

import hashlib
import os
import urllib.error
import urllib.request
from collections.abc import Callable
from http.client import HTTPException
from pathlib import Path
from typing import IO, Any
from urllib.parse import urlsplit

from driftway.producers.streams.catalogue.entry import DownloadSource
from driftway.worker.errors import Failure

SECONDS = 30.0
"""Longest silence of a server. The whole download may take longer while it makes progress."""

CHUNK_BYTES = 1 << 16
MAX_BYTES = 1 << 30
"""Limit for a file of unknown size: none of the catalogue comes near 1 GiB."""

Progress = Callable[[int, int | None], None]
"""Called with bytes received so far and total bytes, None if unknown."""


def download(source: DownloadSource, target: Path, progress: Progress) -> None:
    """Download a file to `target`; until it is complete and checked it is a ``.part`` file next to it.

    Raises
    ------
    Failure
        The file cannot be reached, is cut off or a web page, or has another size or checksum than the catalogue's.
    OSError
        `target` cannot be written.
    """
    part = target.with_name(f"{target.name}.part")
    try:
        with _ask(source.address) as answer, part.open("wb") as file:
            _copy(source, answer, file, progress)
        _check_sum(source, part)
        os.replace(part, target)
    finally:
        part.unlink(missing_ok=True)


def _ask(address: str) -> Any:
    # Some servers refuse urllib's default user agent; the addresses come from the catalogue.
    request = urllib.request.Request(address, headers={"User-Agent": "driftway"})  # noqa: S310
    try:
        return urllib.request.urlopen(request, timeout=SECONDS)  # noqa: S310
    except urllib.error.HTTPError as error:
        with error:
            raise Failure(f"{_host(address)} answers {error.code} {error.reason} for {address}") from None
    except (OSError, HTTPException) as error:
        raise Failure(f"cannot reach {_host(address)}: {_reason(error)}; is there a network?") from None


def _copy(source: DownloadSource, answer: Any, file: IO[bytes], progress: Progress) -> None:
    host = _host(source.address)
    stated = answer.headers.get("Content-Length", "")
    total = int(stated) if stated.isdecimal() else source.size
    received = 0
    while chunk := _read(answer, host):
        if received == 0 and _is_page(answer.headers.get_content_type(), chunk):
            raise Failure(f"{host} sends a web page instead of the data set at {source.address}")
        received += len(chunk)
        if received > (source.size or MAX_BYTES):
            break
        file.write(chunk)
        progress(received, total)
    if total is not None and received < total:
        raise Failure(f"the download from {host} was cut off after {received:,} of {total:,} bytes")
    if source.size is not None and received != source.size:
        more = "more" if received > source.size else "fewer"
        raise Failure(f"{source.address} has {more} than the {source.size:,} bytes of the catalogue: it has changed")
    if received == 0 or received > MAX_BYTES:
        raise Failure(f"{source.address} is {'empty' if received == 0 else 'larger than 1 GiB'}")


def _read(answer: Any, host: str) -> bytes:
    try:
        chunk: bytes = answer.read(CHUNK_BYTES)
    except (OSError, HTTPException) as error:
        raise Failure(f"the download from {host} broke off: {_reason(error)}") from None
    return chunk


def _is_page(kind: str, start: bytes) -> bool:
    """Whether this is HTML: an error or log-in page, which many servers send with status 200."""
    return kind in ("text/html", "application/xhtml+xml") or start.lstrip()[:15].lower().startswith(
        (b"<!doctype html", b"<html")
    )


def _check_sum(source: DownloadSource, path: Path) -> None:
    if source.checksum is None:
        return
    kind, _, expected = source.checksum.partition(":")
    if kind == "git":
        # git uses SHA-1, which guards against accidents, not against an attacker with a collision.
        sums = hashlib.sha1(b"blob %d\0" % path.stat().st_size, usedforsecurity=False)
    else:
        sums = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(CHUNK_BYTES):
            sums.update(chunk)
    if sums.hexdigest() != expected:
        raise Failure(
            f"{source.address} does not have the checksum of the catalogue: {kind} {sums.hexdigest()[:12]}..., "
            f"not {expected[:12]}..."
        )


def _host(address: str) -> str:
    return urlsplit(address).netloc


def _reason(error: BaseException) -> str:
    """The innermost reason in a few words."""
    inner = getattr(error, "reason", None)
    if isinstance(inner, BaseException):
        return _reason(inner)
    strerror = getattr(error, "strerror", None)
    return " ".join(str(strerror or inner or error).split())[:200] or type(error).__name__
