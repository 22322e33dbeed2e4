"""Weights of a mixture's experts in accuracy points: at fixed rows, however the rows are batched."""

from __future__ import annotations

import json

import numpy as np
import pytest

from driftway.learners import Spec
from driftway.worker.admin.state_admin.description import describe
from driftway.worker.state.model import Model
from driftway.worker.state.monitoring.points import SHARE_DIGITS
from tests.unit.worker.rows import events, model_settings, pieces, records

EVERY = 40


def points(cuts: list[int], *learners: str, task: str = "classification") -> list[bytes]:
    model = Model(model_settings(*learners, task=task, accuracy_every=EVERY), 3)
    given = records(events(regression=task == "regression"))
    return [value for part in pieces(given, cuts) for _, value in model.advance(part).points]


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_weights_are_those_at_the_points_row_however_batches_are_cut(task: str) -> None:
    whole = points([], "auto", "no_change", task=task)
    assert len(whole) > 4
    for cuts in (list(range(0, 300, 7)), [EVERY], [EVERY - 1, EVERY + 1, 3 * EVERY]):
        assert points(cuts, "auto", "no_change", task=task) == whole
    of_auto = [json.loads(value)["experts"] for value in whole[::2]]
    assert len({tuple(shares.values()) for shares in of_auto}) > 2, "they do not move"
    for shares in of_auto:
        assert sum(shares.values()) == pytest.approx(1.0, abs=len(shares) * 10.0**-SHARE_DIGITS)
    assert all("experts" not in json.loads(value) for value in whole[1::2])


def test_weights_of_a_point_are_those_after_the_rows_before_it() -> None:
    settings = model_settings("auto", accuracy_every=EVERY)
    model = Model(settings, 3)
    first, _ = pieces(records(events()), [EVERY])
    (value,) = (value for _, value in model.advance(first).points)
    (champion,) = model.learners
    assert json.loads(value)["experts"] == {
        name: round(share, SHARE_DIGITS) for name, share in champion.experts().items()
    }
    assert describe(model, EVERY)["learners"][0]["experts"] == champion.experts()


def test_points_have_the_weights_of_one_wrapped_mixture_but_not_of_several() -> None:
    one = Spec.parse("on_drift:auto").create(3, 2, "classification", True)
    many = Spec.parse("ova:auto").create(3, 4, "classification", True)
    assert not many.mixes
    assert many.experts() == {}
    assert one.mixes == bool(one.experts())
    assert np.isfinite(list(one.experts().values())).all()
