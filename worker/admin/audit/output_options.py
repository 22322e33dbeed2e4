"""What workers may have said otherwise at each start: the format of the predictions, and whose are written."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from driftway.worker.admin.audit.diff import input_offset
from driftway.worker.settings import ModelSettings
from driftway.worker.state.changelog.emission import Emissions
from driftway.worker.state.model import Model
from driftway.worker.wire.codec import JSON, PACKED
from driftway.worker.wire.columns import BytesColumn
from driftway.worker.wire.events import Records
from driftway.worker.wire.packed import are_packed


def output_forms(settings: ModelSettings) -> tuple[str, ...]:
    """Formats in which these predictions can be written: the packed one limits the number of scores."""
    from driftway.worker.wire.packed import MOST_SCORES

    return (JSON, PACKED) if settings.target.n_classes <= MOST_SCORES else (JSON,)


def cut_by_form(model: Model, rest: Records, n: int, found: BytesColumn) -> int:
    """Let the model write as the predictions that were found are written; return the number of rows of that format.

    Parameters
    ----------
    model : Model
        The model that goes on.
    rest : Records
        The next records.
    n : int
        How many of them are processed at once at most.
    found : BytesColumn
        The next predictions in their topic, up to n.
    """
    packed = are_packed(found)
    if not len(packed):
        return n
    form = PACKED if packed[0] else JSON
    if form in output_forms(model.settings):
        model.settings = replace(model.settings, output_form=form)
    others = np.flatnonzero(packed != packed[0])
    if not len(others):
        return n
    try:
        change = input_offset(found[int(others[0])] or b"")
    except ValueError:
        return n  # the comparison reports what is wrong
    return min(n, int(rest.offsets.searchsorted(change)) or n)


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
