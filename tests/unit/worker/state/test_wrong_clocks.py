"""Rows that wait for a time: single wrong timestamps neither drop other rows early nor keep them."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from typing import Any

import pytest

from driftway.worker.settings.option_values import LabelWait
from driftway.worker.state.model import Model
from driftway.worker.state.outputs import Outputs
from driftway.worker.wire.events import Records
from tests.unit.worker.rows import model_settings, pieces, records

HOUR, WAIT, APART, LATE = 3_600_000, LabelWait.parse("30m"), 200, 20


def stream(n: int, apart: int = APART, never: frozenset[int] = frozenset()) -> tuple[list[bytes], list[int]]:
    """Values and stamps of events, each with its label `LATE` events later, but for those of `never`."""
    values, stamps = list[bytes](), list[int]()
    for i in range(n):
        values.append(json.dumps({"id": i, "x": [float(i % 7), 1.0]}).encode())
        stamps.append(HOUR + i * apart)
        if i >= LATE and i - LATE not in never:
            values.append(b'{"id":%d,"y":%d}' % (i - LATE, i % 2))
            stamps.append(HOUR + i * apart + APART // 2)
    return values, stamps


def taken(values: list[bytes], stamps: list[int], cuts: tuple[int, ...] = ()) -> tuple[Model, list[Outputs]]:
    model = Model(model_settings("pa1", wait=WAIT, accuracy_every=100), 3)
    return model, [model.advance(part) for part in pieces(stamped(values, stamps), list(cuts))]


def stamped(values: list[bytes], stamps: list[int]) -> Records:
    return replace(records(values), timestamps=stamps)


def reasons(outs: list[Outputs]) -> list[str]:
    return [one.reason for out in outs for one in out.rejected]


@pytest.mark.parametrize("by", [50 * 60_000, 24 * HOUR, -HOUR, -24 * HOUR, 10**13])
@pytest.mark.parametrize("row", [0, 1, 100, 151, 400])
def test_no_label_is_lost_if_one_timestamp_is_wrong(by: int, row: int) -> None:
    if row == 0 and by < 0:
        pytest.skip("there is nothing yet that the first stamp of a partition could contradict")
    values, stamps = stream(300)
    stamps[row] = max(0, stamps[row] + by)
    model, outs = taken(values, stamps)
    assert reasons(outs) == []
    figures = model.delay_metrics()
    assert (figures["never_labelled"], figures["waiting"]) == (0, LATE)


def test_no_label_is_lost_if_one_timestamp_in_twenty_is_wrong_by_up_to_an_hour() -> None:
    draw = random.Random(4)
    values, stamps = stream(6000, 1000)
    stamps = [stamp + (draw.randint(-HOUR, HOUR) if draw.random() < 0.05 else 0) for stamp in stamps]
    model, outs = taken(values, stamps)
    assert reasons(outs) == []
    cut, others = taken(values, stamps, tuple(sorted(draw.sample(range(1, len(values)), 60))))
    assert [part.tobytes() for part in cut.save().parts] == [part.tobytes() for part in model.save().parts]
    assert reasons(others) == []


def test_the_first_rows_may_have_timestamps_in_the_future() -> None:
    """When only a few rows wait, two of them that are ahead do not let the others go."""
    values, stamps = stream(300)
    for row, by in ((0, 211_000), (1, 2_938_000), (4, 2_403_000)):
        stamps[row] += by
    assert reasons(taken(values, stamps)[1]) == []


@pytest.mark.parametrize("apart", [1000, 60_000, 600_000])
def test_unlabelled_rows_are_dropped_in_time(apart: int) -> None:
    """Those that no label ever finds are let go behind a row whose clock is a century ahead, and on slow streams."""
    n = 9000 if apart == 1000 else 200
    values, stamps = stream(n, apart, frozenset(range(n)))
    stamps[3] = 10**13
    figures = taken(values, stamps)[0].delay_metrics()
    waiting = 1_800_000 // apart
    assert waiting <= figures["waiting"] <= 1.1 * waiting + 8


def test_a_jump_in_time_is_accepted_once_other_rows_confirm_it() -> None:
    """After a night without events, rows of the evening go, and the first row of the morning waits on."""
    values, stamps = stream(60, APART, frozenset(range(60)))
    stamps[30:] = [stamp + 12 * HOUR for stamp in stamps[30:]]
    model, _ = taken(values, stamps)
    assert model.delay_metrics()["waiting"] == 30
    out: Any = model.advance(replace(records([b'{"id":30,"y":1}'], len(values)), timestamps=[stamps[-1] + 5]))
    assert out.rejected == []
