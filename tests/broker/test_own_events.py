"""The README's way for a stranger's own events, typed literally."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from tests.support.kafka import unique
from tests.support.process import ROOT, clean_environment


def script() -> str:
    """The shell block under "Your own events"."""
    section = (ROOT / "README.md").read_text().partition("### Your own events")[2].partition("\n### ")[0]
    (block,) = re.findall(r"^```\n(.*?)^```$", section, re.MULTILINE | re.DOTALL)
    return block


def test_a_topic_of_ones_own_is_predicted_and_read_in_python(kafka: str, tmp_path: Path) -> None:
    typed = script().replace("localhost:9092", kafka).replace("SHOP", unique("SHOP"))
    here = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = clean_environment(DRIFTWAY_BOOTSTRAP=kafka, PATH=here, PYTHONPATH=str(ROOT))
    done = subprocess.run(
        ["bash", "-e", "-c", typed],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    predictions = [line for line in done.stdout.splitlines() if re.fullmatch(r"\d+ (yes|no) was (yes|no)", line)]
    assert len(predictions) == 5, done.stdout
    assert "rejected=0" in done.stderr
    (share,) = set(re.findall(r"window ([0-9.]+) %", done.stdout)[:1])
    assert float(share) > 80
