"""The page and the JSON it asks for: `/` and `/v1/status`."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from driftway import __version__
from driftway.worker.admin.page.group_view import GroupView, open_group
from driftway.worker.admin.page.own_figures import OwnFigures
from driftway.worker.stream.endpoint.routes import HttpError, Request, Response, Route, as_json
from driftway.worker.stream.worker import Worker

HTML = "text/html; charset=utf-8"
POLICY = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; connect-src 'self'; img-src data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
"""The page loads nothing from elsewhere."""


@cache
def page() -> bytes:
    """The page as one file: its style, its script and the chart library are in it."""
    folder = files(__package__)
    text = folder.joinpath("page.html").read_text(encoding="utf-8")
    for name in ("uplot/uPlot.min.css", "page.css", "uplot/uPlot.iife.min.js", "charts.js", "page.js"):
        text = text.replace(f"/* {name} */", folder.joinpath(name).read_text(encoding="utf-8"))
    return text.encode()


def page_routes(worker: Worker) -> tuple[Route, ...]:
    """Return the routes of a worker's page."""
    settings = worker.settings
    view, own = GroupView(lambda dashboard: open_group(settings, dashboard)), OwnFigures(worker)

    def show(_: Request) -> Response:
        return Response(200, page(), HTML, (("Content-Security-Policy", POLICY), ("Cache-Control", "no-cache")))

    def status(request: Request) -> Response:
        view_number, since = (_number(request, name) for name in ("view", "since"))
        return as_json(
            {
                "version": __version__,
                "group": settings.group,
                "topic": settings.input,
                "task": settings.model.target.task,
                "worker": own.get(),
                **view.ask(view_number, since),
            }
        )

    return Route("GET", "/", show, shared=True), Route("GET", "/v1/status", status)


def _number(request: Request, name: str) -> int:
    text = request.parameter(name) or "0"
    if not (text.isascii() and text.isdigit() and len(text) < 19):
        raise HttpError(400, f"{name} is a number: that of the answer before")
    return int(text)
