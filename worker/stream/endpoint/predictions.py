"""`/v1/predict` and `/v1/model`: predictions on request, from the last committed state of a worker's partitions."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from driftway.worker.errors import Failure, UsageFailure, shown
from driftway.worker.settings import WorkerSettings
from driftway.worker.state.model import SavedState
from driftway.worker.stream.endpoint import description
from driftway.worker.stream.endpoint.access import require_token
from driftway.worker.stream.endpoint.committed_model import CommittedModel, PredictionAnswers
from driftway.worker.stream.endpoint.key_hash import partition_of
from driftway.worker.stream.endpoint.routes import JSON, HttpError, Request, Response, Route, as_json
from driftway.worker.stream.task.task import Task
from driftway.worker.stream.worker import Worker
from driftway.worker.wire.codec import PACKED, encode_events, parse_json, write_json
from driftway.worker.wire.events import MAX_KEY, Reject
from driftway.worker.wire.json_tokens.exact import BEYOND_RANGE, hide_numbers
from driftway.worker.wire.registered.framing import BINARY_OUTPUTS

BYTES = "application/octet-stream"
MAX_BYTES, MAX_EVENTS = 1 << 20, 1000
SOON = (("Retry-After", "1"),)
MARK = re.compile(rb'"(?:[^"\\]++|\\.)*+"|[][{},]', re.DOTALL)
"""A string, so that marks in it are passed over, or what begins, separates or ends values of a JSON text."""


class PredictionRequest(NamedTuple):
    """What a request asks."""

    events: list[bytes]
    several: bool
    """Whether they came as a list."""
    key: bytes | None
    partition: int


def prediction_routes(worker: Worker, token: bytes | None) -> tuple[Route, ...]:
    """Return the routes for asking a worker's models; `token` as of `require_token`.

    Raises
    ------
    UsageFailure
        The events of the group are in a format that no request can have.
    """
    settings = worker.settings
    if settings.model.loads() is not None:
        raise UsageFailure(f"--serve-predictions: requests have events in JSON or packed, not {settings.model.form}")
    if settings.model.output_form in BINARY_OUTPUTS:  # the loop does not compile what writes JSON
        encode_events(np.zeros((1, 1)), np.zeros(1), 0)
    asking = PredictionHandler(worker, token)

    def model(request: Request) -> Response:
        require_token(request, token)
        return as_json(asking.model())

    def describe(_: Request) -> Response:
        return as_json(described)

    about = description.operations(settings, MAX_BYTES, MAX_EVENTS)
    routes = (
        Route(
            "POST",
            "/v1/predict",
            lambda request: asking.predict([request])[0],
            MAX_BYTES,
            keeps=True,
            described=about["predict"],
            together=asking.predict,
        ),
        Route("GET", "/v1/model", model, keeps=True, described=about["model"]),
        Route("GET", "/v1/openapi.json", describe, described=about["openapi"], shared=True),
    )
    described = description.document(routes, settings, token is not None)
    return routes


class PredictionHandler:
    """Answers requests to a worker's models.

    Parameters
    ----------
    worker : Worker
        The worker.
    token : bytes or None
        As of `require_token`, for predictions.
    """

    def __init__(self, worker: Worker, token: bytes | None) -> None:
        self._worker, self._token = worker, token
        self._models: dict[int, CommittedModel] = {}

    def predict(self, requests: Sequence[Request]) -> list[Response]:
        """Answer requests to `/v1/predict`, in their order; those of a partition by one call of its model."""
        answers = dict[int, Response]()
        of_partition: dict[int, list[tuple[int, PredictionRequest]]] = {}
        partitions = self._worker.reporter.health.input_partitions
        for index, request in enumerate(requests):
            try:
                require_token(request, self._token)
                wanted = parse_request(request, self._worker.settings, partitions)
                of_partition.setdefault(wanted.partition, []).append((index, wanted))
            except HttpError as refused:
                answers[index] = refused.answer
        for partition, asked in of_partition.items():
            responses = self._predict(partition, [wanted for _, wanted in asked])
            answers |= zip((index for index, _ in asked), responses, strict=True)
        return [answers[index] for index in range(len(requests))]

    def _predict(self, partition: int, asked: list[PredictionRequest]) -> list[Response]:
        events = [event for wanted in asked for event in wanted.events]
        keys = [wanted.key for wanted in asked for _ in wanted.events]
        try:
            found = self._model_of(partition).predict(self._state(partition), events, keys)
        except HttpError as refused:
            return [refused.answer] * len(asked)
        except (Failure, ValueError) as error:
            return [HttpError(503, f"partition {partition} cannot predict now: {error}", SOON).answer] * len(asked)
        offset, plan, answers = found.offset, found.plan, iter(found.answers)
        return [
            response_of(PredictionAnswers(offset, plan, list(islice(answers, len(one.events)))), one) for one in asked
        ]

    def model(self) -> dict[str, Any]:
        """Answer `/v1/model`: what this worker's partitions predict with."""
        settings = self._worker.settings
        target = settings.model.target
        tasks = sorted(self._worker.tasks.values(), key=lambda task: task.partition)
        return {
            "group": settings.group,
            "topic": settings.input,
            "partitions_of_topic": self._worker.reporter.health.input_partitions or None,
            "task": target.task,
            "classes": None if not target.n_classes else target.class_json(),
            "format": settings.model.form,
            "partitions": [_of_task(task) for task in tasks],
        }

    def _state(self, partition: int) -> SavedState:
        task = self._worker.tasks.get(partition)
        if task is None:
            raise HttpError(421, f"partition {partition} is not this worker's: ask the one that has it")
        if not task.running:
            raise HttpError(503, f"partition {partition} is being restored", SOON)
        if task.saved.schema is None or task.saved.context is None or task.saved.context.offset is None:
            raise HttpError(503, f"partition {partition} has committed no event yet: there is no model", SOON)
        return task.saved

    def _model_of(self, partition: int) -> CommittedModel:
        for other in [p for p in list(self._models) if p not in self._worker.tasks]:
            self._models.pop(other, None)
        return self._models.setdefault(partition, CommittedModel(partition, self._worker.settings.group))


def _of_task(task: Task) -> dict[str, Any]:
    model, saved = task.model, task.saved
    names = dict.fromkeys(model.columns)
    digests = model.digests or [""] * len(model.settings.names)
    return {
        "partition": task.partition,
        "state": task.state.value,
        "offset": None if saved.context is None else saved.context.offset,
        "rows": saved.rows,
        "plan": model.plan.number,
        "champion": model.settings.names[0],
        "models": [
            {"learner": name, "model_digest": digest or None}
            for name, digest in zip(model.settings.names, digests, strict=True)
        ],
        "features": list(names),
        "coverage": model.settings.coverage or None,
    }


def parse_request(request: Request, settings: WorkerSettings, partitions: int) -> PredictionRequest:
    """Read a request; `partitions` of the input, 0: not known.

    Raises
    ------
    HttpError
        It is not understood.
    """
    unknown = [name for name in request.query if name not in ("key", "partition")]
    if unknown:
        raise HttpError(400, f"there is no parameter {shown(unknown[0][:40])}: only key and partition")
    named = request.parameter("key")
    key = None if named is None else named.encode(errors="surrogateescape")
    partition = chosen_partition(request.parameter("partition"), key, partitions)
    if key is not None and len(key) > MAX_KEY:
        raise HttpError(400, f"the key has {len(key):,} bytes, more than {MAX_KEY:,}")
    expected = BYTES if settings.model.form == PACKED else JSON
    kind = request.headers.get("Content-Type", "").partition(";")[0].strip().lower()
    if kind != expected:
        raise HttpError(415, f"the events of this group are sent as Content-Type: {expected}")
    if not request.body:
        raise HttpError(400, "the body is empty: it holds an event as on the topic")
    if expected == BYTES or request.body.lstrip()[:1] != b"[":
        return PredictionRequest([request.body], False, key, partition)
    return PredictionRequest(split_list(request.body), True, key, partition)


def split_list(body: bytes) -> list[bytes]:
    """Return the events of a JSON list, each as it came.

    Raises
    ------
    HttpError
        It is no list of events, or too long.
    """
    try:
        count = len(parse_json(hide_numbers(body)[0] if BEYOND_RANGE.search(body) else body))
    except Reject as error:
        raise HttpError(400, f"the body is a list that cannot be read: {error}") from None
    if not count:
        raise HttpError(400, "the list has no events")
    if count > MAX_EVENTS:
        raise HttpError(413, f"the list has {count:,} events, more than {MAX_EVENTS:,}")
    events, depth, start = list[bytes](), 0, 0
    for mark in MARK.finditer(body):
        depth += (mark[0] in b"[{") - (mark[0] in b"]}")
        if depth == 0 or (depth == 1 and mark[0] == b","):
            events.append(body[start : mark.start()].strip())
        if depth <= 1 and mark[0] in b"[,":
            start = mark.end()
    return events


def chosen_partition(number: str | None, key: bytes | None, partitions: int) -> int:
    """Return the partition that the query names, or that of its key.

    Raises
    ------
    HttpError
        It names none, or one that there is not.
    """
    if partitions < 1:
        raise HttpError(503, "the number of partitions is not known yet", SOON)
    if number is not None:
        if not (number.isascii() and number.isdigit() and len(number) < 10):
            raise HttpError(400, "partition is a number")
        if int(number) >= partitions:
            raise HttpError(404, f"there is no partition {int(number)}: the topic has {partitions}")
        return int(number)
    if key is not None:
        return partition_of(key, partitions)
    if partitions == 1:
        return 0
    raise HttpError(400, f"the topic has {partitions} partitions: say ?key=KEY of the event, or ?partition=N")


def response_of(found: PredictionAnswers, wanted: PredictionRequest) -> Response:
    """Return the predictions as JSON; a refusal if the only event cannot be used."""
    (first, *_) = found.answers
    if not wanted.several and isinstance(first, str):
        return HttpError(422, f"the event would be rejected: {first}").answer
    texts = [write_json({"error": one}) if isinstance(one, str) else one for one in found.answers]
    head = b'{"partition":%d,"offset":%d,"plan":%d,"predictions":[' % (wanted.partition, found.offset, found.plan)
    return Response(200, head + b",".join(texts) + b"]}")
