"""The exact bytes of a snapshot: changing them makes every stored snapshot unreadable (BREAKING)."""

from __future__ import annotations

import json

import numpy as np
import pytest

from driftway import learners
from driftway.learners.learner import DIGEST_BYTES, MAGIC, SnapshotMismatch

GOLDEN = bytes.fromhex(
    "44574c32d00000007b226669656c6473223a205b5b22776569676874222c20226638222c205b325d5d2c205b22736b"
    "6970706564222c20226938222c205b315d5d5d2c20226c6561726e6572223a202270657263657074726f6e222c2022"
    "6e5f636c6173736573223a20322c20226e5f6665617475726573223a20312c2022706172616d6574657273223a207b"
    "22657461223a20312e302c2022696e74657263657074223a20747275652c202274696573223a202275706461746522"
    "7d2c20227461736b223a2022636c617373696669636174696f6e227d000000000000f83f0000000000000000000000"
    "0000000000dc0dae9bf773103c1435caacfdf11d37"
)
"""A perceptron of one feature after the rows 0.5 -> 0, 2.0 -> 1."""


def trained():
    learner = learners.create("perceptron", 1)
    learner.predict_then_update(np.array([[0.5], [2.0]]), np.array([0.0, 1.0]), np.empty((2, 1)))
    return learner


def test_a_snapshot_has_the_stored_bytes():
    assert trained().snapshot() == GOLDEN


def test_the_stored_snapshot_is_restored():
    learner = learners.create("perceptron", 1)
    learner.restore(GOLDEN)
    assert learner.state["weight"].tolist() == [1.5, 0.0]


def test_the_header_describes_the_state():
    length = int.from_bytes(GOLDEN[4:8], "little")
    header = json.loads(GOLDEN[8 : 8 + length])
    assert GOLDEN[:4] == MAGIC == b"DWL2"
    assert header["learner"] == "perceptron"
    assert header["fields"] == [["weight", "f8", [2]], ["skipped", "i8", [1]]]
    assert len(GOLDEN) == 8 + length + 24 + DIGEST_BYTES


def test_snapshots_of_format_1_are_refused():
    learner = learners.create("perceptron", 1)
    with pytest.raises(
        SnapshotMismatch, match=r"format DWL1, from before Driftway had its own exp and log: its scores"
    ):
        learner.restore(b"DWL1" + GOLDEN[4:])
    assert learner.state["weight"].tolist() == [0.0, 0.0]
