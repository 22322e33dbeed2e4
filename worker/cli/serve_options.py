"""Options of a worker's HTTP port, and the checks of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import click

from driftway.worker.cli.options import Command, was_typed, with_options
from driftway.worker.errors import UsageFailure

if TYPE_CHECKING:
    from driftway.worker.stream.endpoint.routes import Route
    from driftway.worker.stream.endpoint.server import Endpoint
    from driftway.worker.stream.worker import Worker


def serve_options(command: Command) -> Command:
    """Add ``--http-port``, ``--http-host``, ``--serve-predictions`` and ``--serve-token-file``."""
    options = (
        click.option(
            "--http-port",
            type=click.IntRange(0, 65535),
            help="Port for HTTP: a page at /, and /metrics, /healthz and /readyz.  [default: off]",
        ),
        click.option(
            "--http-host", default="127.0.0.1", show_default=True, help="Address that the HTTP server listens on."
        ),
        click.option(
            "--serve-predictions",
            is_flag=True,
            help="Also serve POST /v1/predict and GET /v1/model on that port, from the last committed state. "
            "/v1/openapi.json describes them.",
        ),
        click.option(
            "--serve-token-file",
            metavar="FILE",
            help="File with the token that clients of --serve-predictions must send (Authorization: Bearer TOKEN). "
            "Needed unless --http-host is a loopback address.",
        ),
    )
    return with_options(command, options)


def open_endpoint(
    given: Mapping[str, Any], worker: Worker, page_routes: Callable[[Worker], tuple[Route, ...]]
) -> Endpoint | None:
    """Return the server of a worker's HTTP port, not started yet; None if there is none.

    Raises
    ------
    UsageFailure
        The options do not go together, or the port is not available.
    """
    token = checked_token(given)
    if given["http_port"] is None:
        return None
    from driftway.worker.stream.endpoint.server import Endpoint, worker_routes

    asking: tuple[Route, ...] = ()
    if given["serve_predictions"]:
        from driftway.worker.stream.endpoint.predictions import prediction_routes

        asking = prediction_routes(worker, token)
    routes = (*page_routes(worker), *worker_routes(worker), *asking)
    return Endpoint(given["http_host"], given["http_port"], routes)


def checked_token(given: Mapping[str, Any]) -> bytes | None:
    """Return the token; None: none is needed.

    Raises
    ------
    UsageFailure
        The options do not go together, or the file holds no token.
    """
    from driftway.worker.stream.endpoint.access import is_loopback, read_token

    host, path = given["http_host"], given["serve_token_file"]
    if not given["serve_predictions"]:
        if path is not None:
            raise UsageFailure("--serve-token-file is for --serve-predictions")
        if given["http_port"] is None and was_typed("http_host"):
            raise UsageFailure("--http-host needs --http-port: without it nothing is served")
        return None
    if given["http_port"] is None:
        raise UsageFailure("--serve-predictions needs --http-port")
    if path is None and not is_loopback(host):
        raise UsageFailure(f"--serve-predictions on {host} needs --serve-token-file: others than this machine can ask")
    return None if path is None else read_token(path)
