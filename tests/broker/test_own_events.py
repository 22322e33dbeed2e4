"""The commands of the tutorial docs/tutorial/first-worker.md, run literally."""

from __future__ import annotations

import os
import random
import re
import subprocess
import sys
from pathlib import Path

from tests.support.kafka import read_all, unique
from tests.support.process import ROOT, clean_environment


def script(word: str) -> str:
    """The only code block of the tutorial that contains this word."""
    section = (ROOT / "docs" / "tutorial" / "first-worker.md").read_text(encoding="utf-8")
    (block,) = (one for one in re.findall(r"^```\n(.*?)^```$", section, re.MULTILINE | re.DOTALL) if word in one)
    return str(block)


def typed(text: str, kafka: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a script in a shell with `driftway` and the broker in its environment."""
    here = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(
        ["bash", "-e", "-c", text],
        cwd=folder,
        env=clean_environment(DRIFTWAY_BOOTSTRAP=kafka, PATH=here, PYTHONPATH=str(ROOT)),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_a_topic_of_ones_own_is_predicted_and_read_in_python(kafka: str, tmp_path: Path) -> None:
    text = script("producer.produce").replace("localhost:9092", kafka).replace("SHOP", unique("SHOP"))
    done = typed(text, kafka, tmp_path)
    assert done.returncode == 0, done.stderr
    predictions = [line for line in done.stdout.splitlines() if re.fullmatch(r"\d+ (yes|no) was (yes|no)", line)]
    assert len(predictions) == 5, done.stdout
    assert "rejected=0" in done.stderr
    (share,) = set(re.findall(r"window ([0-9.]+) %", done.stdout)[:1])
    assert float(share) > 80


def test_a_csv_file_is_evaluated_and_predicted_on_a_topic(kafka: str, tmp_path: Path) -> None:
    chosen = random.Random(1)
    lines = ["amount,visits,country,sent,bought"]
    for i in range(2000):
        amount, visits = chosen.gauss(50, 20), chosen.randrange(10)
        word = "yes" if amount + 5 * visits > 70 else "no"
        shown = "" if chosen.random() < 0.05 else f"{amount:.2f}"
        lines.append(f"{shown},{visits},{chosen.choice(['de', 'fr', 'us'])},2026-11-24T{i % 24:02d}:00:00Z,{word}")
    (tmp_path / "shop.csv").write_text("\n".join(lines) + "\n")
    topic = unique("SALES")
    done = typed(script("replay shop.csv --raw").replace("SALES", topic), kafka, tmp_path)
    assert done.returncode == 0, done.stderr
    assert "rejected=0" in done.stderr
    accuracies = [float(share) for share in re.findall(r"1,000 +\d+ +([0-9.]+) %", done.stdout)]
    assert len(accuracies) == 2, done.stdout
    assert min(accuracies) > 80
    assert len(read_all(kafka, f"{topic}.shop.predictions")) == 2000
