"""Options that a group itself says: those that make its settings again, all of them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from driftway.worker.admin.cli.audit import audit, options_of
from driftway.worker.cli.model_options import given_model
from driftway.worker.settings.option_values import LabelWait
from tests.unit.worker.trained import perceptron, written

WITHOUT_OPTIONS = "--input", "EVENTS", "--group", "g"


@pytest.mark.parametrize(
    "options",
    [
        ("--learner", "arow:r=0.5", "--learner", "pa1", "--coverage", "0.9"),
        ("--labels", "DOWN,UP", "--label-wait", "7d/50000", "--detector", "ddm", "--metric-window", "70"),
        ("--task", "regression", "--learner", "rls", "--coverage", "0.8", "--accuracy-every", "7", "--no-standardize"),
        ("--classes", "5", "--map", "polynomial:degree=2", "--missing", "last", "--missing-indicators"),
        ("--feature", "amount", "--feature", "country:one-of=de|fr|*", "--label", "fraud", "--id", "@key"),
        ("--learner", "pa1", "--share-models", "average:rows=20", "--coverage", "0.5"),
    ],
    ids=lambda options: options[0],
)
def test_options_printed_for_settings_give_the_same_settings(options: tuple[str, ...]) -> None:
    wanted = given_model(audit.make_context("audit", [*WITHOUT_OPTIONS, *options]).params)
    plain = audit.make_context("audit", [*WITHOUT_OPTIONS]).params

    assert given_model({**plain, **options_of(wanted)}) == wanted


def test_a_model_file_decides_how_events_are_read_but_not_how_long_labels_are_awaited(tmp_path: Path) -> None:
    path = tmp_path / "m.driftway"
    rng = np.random.default_rng(1)
    X = rng.normal(size=(100, 3))
    written(path, perceptron(X, (X[:, 0] > 0).astype(float)))
    options = "--warm-start", str(path), "--label-wait", "7d/50000"
    with audit.make_context("audit", [*WITHOUT_OPTIONS, *options]) as context:
        settings = given_model(context.params)
        of_group = given_model({**context.params, "challengers": ("pa1",), "share": "average:rows=20"})
    assert (settings.warm is not None, settings.wait) == (True, LabelWait.parse("7d/50000"))
    assert of_group.names == (*settings.names, "pa1")
