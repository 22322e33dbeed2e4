"""The commands of the tutorials, and of the pages that continue them, run literally on a real Kafka."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.kafka import read_all, unique
from tests.support.process import ROOT, clean_environment

FENCED = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
NOT_TYPED = re.compile(r"pip install|driftway broker\s*$")
"""Commands that the test's environment does not need."""


def script(page: str, topic: str, kafka: str, *, to: str | None = None, name: str = "") -> str:
    """Return a page's commands in order, up to the block with the word `to`, with another topic."""
    blocks = FENCED.findall((ROOT / "docs" / page).read_text(encoding="utf-8"))
    typed = [block for language, block in blocks if not language and not NOT_TYPED.match(block)]
    if to is not None:
        typed = typed[: 1 + next(at for at, block in enumerate(typed) if to in block)]
    return "\n".join(typed).replace("localhost:9092", kafka).replace(name, topic)


def run(text: str, kafka: str, folder: Path) -> str:
    """Run a script in a shell with `driftway` and the broker in its environment; return what it printed."""
    here = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-e", "-c", text],
        cwd=folder,
        env=clean_environment(DRIFTWAY_BOOTSTRAP=kafka, PATH=here, PYTHONPATH=str(ROOT)),
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    return done.stdout


def test_the_tutorial_first_worker_learns_from_delayed_labels(kafka: str, tmp_path: Path) -> None:
    """Own fields, labels 200 orders late, a drift halfway; the last predictions are right, and the audit passes."""
    shown = run(script("tutorial/first-worker.md", unique("ORDERS"), kafka, name="ORDERS"), kafka, tmp_path)
    last = re.findall(r"^o-\d+ (?:comes back|stays) \(\d\.\d\d\) (right|wrong)$", shown, re.MULTILINE)
    assert len(last) == 5
    shares = [int(share) for share in re.findall(r"^orders from +\d+: (\d+)% right$", shown, re.MULTILINE)]
    assert len(shares) == 10
    assert shares[5] < shares[4] - 15  # the drift
    assert min(shares[4], shares[9]) >= 90


def predicted_from_a_csv_file(kafka: str, folder: Path) -> str:
    """Run the tutorial; return the topic."""
    topic = unique("SALES")
    shown = run(script("tutorial/from-a-csv.md", topic, kafka, name="SALES"), kafka, folder)
    (right,) = re.findall(r"^([0-9.]+)% of the last 1,000 are right$", shown, re.MULTILINE)
    assert float(right) > 90
    assert len(re.findall(r"^row \d+ of partition [01] was (?:yes|no) and predicted as", shown, re.MULTILINE)) == 5
    assert re.search(r"shop\.csv.* auto ", shown), shown
    assert len(read_all(kafka, f"{topic}.shop.predictions")) == 5000
    return topic


def test_the_tutorial_from_a_csv_evaluates_a_file_and_predicts_a_topic(kafka: str, tmp_path: Path) -> None:
    predicted_from_a_csv_file(kafka, tmp_path)


@pytest.mark.slow
def test_the_pages_on_readers_and_thresholds_continue_the_csv_tutorial(kafka: str, tmp_path: Path) -> None:
    topic = predicted_from_a_csv_file(kafka, tmp_path)
    shown = run(script("how-to/read-predictions.md", topic, kafka, name="SALES"), kafka, tmp_path)
    (sure,) = re.findall(r"^5000 predictions, (\d+) of them surely yes$", shown, re.MULTILINE)
    assert int(sure) > 500
    text = script("how-to/choose-a-threshold.md", topic, kafka, name="SALES", to="precision,recall")
    rows = re.findall(r"^ +(0\.\d+) +([0-9.]+)% +([0-9.]+)% +([0-9.]+)%$", run(text, kafka, tmp_path), re.MULTILINE)
    recalls = [float(recall) for *_, recall in rows]
    assert len(recalls) >= 7
    assert recalls == sorted(recalls, reverse=True)
