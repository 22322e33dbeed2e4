"""A model file of an earlier version goes on with the same bits; the topics: tests/broker/test_upgrade.py."""

from __future__ import annotations

import json

import numpy as np
import pytest

import driftway as dw
from tests.broker.test_upgrade import FOLDER, VERSIONS
from tests.regenerate.upgrade_sample import LEARNED
from tests.support import stored_topics


@pytest.mark.parametrize("version", VERSIONS)
def test_a_model_file_continues_with_the_same_bits(version: str) -> None:
    found = stored_topics.read(FOLDER / f"{version}.json.gz")
    model = dw.load(FOLDER / f"{version}.driftway")
    rows = [json.loads(event) for event in found["later"][0]]
    expected = [float.fromhex(score) for partition, offset, score in found["scores"] if partition == 0]
    scores, _ = model._learn_batch(np.array([row["x"] for row in rows]), np.array([row["y"] for row in rows]))
    assert scores[:, 0].tobytes() == np.array(expected[LEARNED:]).tobytes()
