"""The commands of the tutorials, run literally on a real Kafka."""

from __future__ import annotations

import re
from pathlib import Path

from tests.support.kafka import read_all, unique
from tests.support.typed import commands, type_in


def run(page: str, topic: str, kafka: str, folder: Path, *, name: str) -> str:
    """Type a page's commands with another topic; return what was printed."""
    return type_in(commands(f"docs/tutorial/{page}").replace(name, topic), kafka, folder)


def test_the_tutorial_first_worker_learns_from_delayed_labels(kafka: str, tmp_path: Path) -> None:
    """Own fields, labels 200 orders late, a drift halfway; the last predictions are right, and the audit passes."""
    shown = run("first-worker.md", unique("ORDERS"), kafka, tmp_path, name="ORDERS")
    last = re.findall(r"^o-\d+ (?:comes back|stays) \(\d\.\d\d\) (right|wrong)$", shown, re.MULTILINE)
    assert len(last) == 5
    shares = [int(share) for share in re.findall(r"^orders from +\d+: (\d+)% right$", shown, re.MULTILINE)]
    assert len(shares) == 10
    assert shares[5] < shares[4] - 15  # the drift
    assert min(shares[4], shares[9]) >= 90


def test_the_tutorial_from_a_csv_evaluates_a_file_and_predicts_a_topic(kafka: str, tmp_path: Path) -> None:
    topic = unique("SALES")
    shown = run("from-a-csv.md", topic, kafka, tmp_path, name="SALES")
    (right,) = re.findall(r"^([0-9.]+)% of the last 1,000 are right$", shown, re.MULTILINE)
    assert float(right) > 90
    assert len(re.findall(r"^row \d+ of partition [01] was (?:yes|no) and predicted as", shown, re.MULTILINE)) == 5
    assert re.search(r"shop\.csv.* auto ", shown), shown
    assert len(read_all(kafka, f"{topic}.shop.predictions")) == 5000
