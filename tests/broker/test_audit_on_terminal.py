"""`driftway audit` on a terminal: progress display and Ctrl-C."""

from __future__ import annotations

import numpy as np
import pytest

from driftway.worker.wire.codec import encode_events
from tests.support.kafka import create_topic, produce, unique
from tests.support.process import driftway
from tests.support.terminal import on_terminal

pytestmark = pytest.mark.broker

ROWS = 100_000


@pytest.fixture(scope="module")
def audited_options(kafka: str) -> tuple[str, ...]:
    """The options of a finished run that takes some time to audit."""
    X = np.random.default_rng(4).normal(size=(ROWS, 3))
    topic = create_topic(kafka, unique("events"))
    produce(kafka, topic, encode_events(X, (X[:, 0] > 0).astype(float), 0))
    options = ("--input", topic, "--group", "g", "--bootstrap", kafka, "--learner", "arow")
    done = driftway("worker", *options, "--stop-at-end")
    assert done.code == 0, done.stderr
    return options


@pytest.mark.slow
def test_an_audit_on_a_terminal_shows_its_progress(audited_options: tuple[str, ...]) -> None:
    done = on_terminal("audit", *audited_options)
    assert done.code == 0, done
    assert "%" in done.stderr
    assert f"{ROWS:,}" in done.stdout
    assert "%" not in done.stdout


@pytest.mark.parametrize("json", [(), ("--json",)])
def test_ctrl_c_ends_an_audit_without_a_verdict(audited_options: tuple[str, ...], json: tuple[str, ...]) -> None:
    done = on_terminal("audit", *audited_options, *json, interrupt_at="%")
    assert (done.code, done.stdout) == (130, ""), done
    assert done.stderr.rstrip().endswith("driftway: interrupted"), done
    assert "Traceback" not in done.stderr
