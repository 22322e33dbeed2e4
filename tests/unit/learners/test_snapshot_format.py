"""The bytes of a snapshot, pinned: changing them makes every stored snapshot unreadable (BREAKING)."""

from __future__ import annotations

import json

import numpy as np

import learners
from learners.learner import DIGEST_BYTES, MAGIC

GOLDEN = bytes.fromhex(
    "44574c31d00000007b226669656c6473223a205b5b22776569676874222c20226638222c205b325d5d2c205b22736b69"
    "70706564222c20226938222c205b315d5d5d2c20226c6561726e6572223a202270657263657074726f6e222c20226e5f"
    "636c6173736573223a20322c20226e5f6665617475726573223a20312c2022706172616d6574657273223a207b226574"
    "61223a20312e302c2022696e74657263657074223a20747275652c202274696573223a2022757064617465227d2c2022"
    "7461736b223a2022636c617373696669636174696f6e227d000000000000f83f00000000000000000000000000000000"
    "554013f3f492c505400b4c20f7359194"
)
"""A perceptron of one feature after the rows 0.5 -> 0, 2.0 -> 1."""


def trained():
    learner = learners.create("perceptron", 1)
    learner.predict_then_update(np.array([[0.5], [2.0]]), np.array([0.0, 1.0]), np.empty((2, 1)))
    return learner


def test_golden_bytes():
    assert trained().snapshot() == GOLDEN


def test_golden_restores():
    learner = learners.create("perceptron", 1)
    learner.restore(GOLDEN)
    assert learner.state["weight"].tolist() == [1.5, 0.0]


def test_layout():
    length = int.from_bytes(GOLDEN[4:8], "little")
    header = json.loads(GOLDEN[8 : 8 + length])
    assert GOLDEN[:4] == MAGIC == b"DWL1"
    assert header["learner"] == "perceptron"
    assert header["fields"] == [["weight", "f8", [2]], ["skipped", "i8", [1]]]
    assert len(GOLDEN) == 8 + length + 24 + DIGEST_BYTES
