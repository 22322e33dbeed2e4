"""Options that may differ at each start of a worker: the format of the predictions, and which models' are written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from driftway.worker.admin.audit.diff import Mismatch, input_offset
from driftway.worker.admin.audit.outputs import PredictionComparison
from driftway.worker.admin.audit.report import AuditReport
from driftway.worker.kafka.registry.outputs import OutputSchema, OutputSchemas
from driftway.worker.settings import WorkerSettings
from driftway.worker.state.changelog.emission import Emissions
from driftway.worker.state.model import Model
from driftway.worker.wire.codec import JSON, PACKED
from driftway.worker.wire.columns import BytesColumn, Integers
from driftway.worker.wire.events import Records
from driftway.worker.wire.packed import MAX_SCORES
from driftway.worker.wire.registered.framing import (
    AVRO,
    FIRST_MESSAGE,
    HEADER_BYTES,
    JSON_SCHEMA,
    MAGIC,
    OPENING,
    PROTOBUF,
    REGISTERED_OUTPUTS,
)

IN_JSON, IN_PACKED = -1, -2
INDICES = {form: index for index, form in enumerate(REGISTERED_OUTPUTS)}


def forms_of(found: BytesColumn) -> Integers:
    """Return a number for the format of each prediction, i8[n].

    That is IN_JSON, IN_PACKED, or the id of the schema times the number of formats that have one, plus the format's
    index among them.
    """
    text, starts, lengths = found.to_buffer()
    first, sixth = np.zeros(len(starts), np.uint8), np.zeros(len(starts), np.uint8)
    present, framed = lengths > 0, lengths > HEADER_BYTES
    first[present], sixth[framed] = text[starts[present]], text[starts[framed] + HEADER_BYTES]
    framed &= first == MAGIC
    numbers = np.where(first == OPENING, IN_JSON, IN_PACKED)
    begins = starts[framed]
    ids = sum(text[begins + 1 + k].astype(np.int64) << (24 - 8 * k) for k in range(4))
    cases = [sixth[framed] == OPENING, sixth[framed] == FIRST_MESSAGE[0]]
    kinds = np.select(cases, [INDICES[JSON_SCHEMA], INDICES[PROTOBUF]], INDICES[AVRO])
    numbers[framed] = len(REGISTERED_OUTPUTS) * ids + kinds
    return numbers


def cut_by_form(model: Model, rest: Records, n: int, predictions: PredictionComparison) -> int:
    """Let the model write as the predictions that were found are written; return the number of rows of that format.

    Parameters
    ----------
    model : Model
        The model that goes on.
    rest : Records
        The next records.
    n : int
        How many of them are processed at once at most.
    predictions : PredictionComparison
        What the predictions are compared with; learns which schemas they have.
    """
    found = predictions.columns(n).values
    forms = forms_of(found)
    if not len(forms):
        return n
    first = int(forms[0])
    number, index = divmod(max(first, 0), len(REGISTERED_OUTPUTS))
    name = {IN_JSON: JSON, IN_PACKED: PACKED}.get(first, REGISTERED_OUTPUTS[index])
    if first >= 0:
        predictions.schemas.add((name, number))
    if name != PACKED or model.settings.target.n_classes <= MAX_SCORES:
        model.settings = replace(model.settings, output_form=name, output_schema=number)
    others = np.flatnonzero(forms != first)
    if not len(others):
        return n
    try:
        change = input_offset(found[int(others[0])] or b"")
    except ValueError:
        return n  # the comparison reports what is wrong
    return min(n, int(rest.offsets.searchsorted(change)) or n)


def check_schemas(settings: WorkerSettings, reports: Sequence[AuditReport]) -> None:
    """Check that the schemas that predictions have are theirs in the registry; without one, report that nothing is.

    Raises
    ------
    Mismatch
        One is another.
    Unreachable, Failure
        The registry does not answer, or refuses to.
    """
    model = settings.model
    used = sorted({one for report in reports for one in report.schemas})
    if used and model.registry is None:
        ids = ", ".join(f"{number} ({form})" for form, number in used)
        what = f"that schema {ids} of the predictions is theirs: give --registry and --output-format as to the workers"
        reports[0].unchecked.append(f"{settings.input}: {what}")
    elif used:
        registry = OutputSchemas(model.registry or "", dict(model.registry_properties))
        for form, number in used:
            if not registry.recognises(number, OutputSchema.of(form, model.target)):
                raise Mismatch(
                    f"predictions in {settings.topics.predictions} have schema {number}, which is not that of {form} "
                    "predictions of this target in the registry"
                )


def cut_by_emission(model: Model, rest: Records, n: int, emissions: Emissions) -> int:
    """Let the model write whose predictions were written, as recorded; return the number of rows for which they were.

    Parameters
    ----------
    model, rest, n
        As `cut_by_form`.
    emissions : Emissions
        What the workers have recorded.
    """
    first = int(rest.offsets[0])
    if (emit := emissions.at(first)) != model.settings.emit:
        model.settings = replace(model.settings, emit=emit)
    change = emissions.next_change(first)
    return n if change is None else min(n, int(rest.offsets.searchsorted(change)))
