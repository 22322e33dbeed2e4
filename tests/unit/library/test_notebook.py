"""The tutorials' notebook runs from top to bottom in a fresh process, without Jupyter, and prints what it shows."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

NOTEBOOK = Path(__file__).parents[3] / "docs" / "tutorial" / "in-a-notebook.ipynb"
RUN = """
import contextlib, io, json, sys
names, printed = {}, []
for number, source in enumerate(json.load(sys.stdin), 1):
    with contextlib.redirect_stdout(io.StringIO()) as out:
        exec(compile(source, f"cell {number}", "exec"), names)
    printed.append(out.getvalue())
json.dump(printed, sys.stdout)
"""
"""Runs the cells that standard input lists, in one namespace; writes what each has printed."""
PNG = b"\x89PNG\r\n\x1a\n"


def code_cells() -> list[dict[str, Any]]:
    cells = json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]
    return [cell for cell in cells if cell["cell_type"] == "code"]


def shown(cell: dict[str, Any]) -> str:
    """What a cell shows as printed."""
    return "".join(text for one in cell["outputs"] for text in one.get("text", ()))


def test_the_notebook_prints_what_it_shows_and_draws(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    cells = code_cells()
    process = subprocess.run(
        [sys.executable, "-P", "-c", RUN],
        input=json.dumps(["".join(cell["source"]) for cell in cells]),
        cwd=tmp_path,
        env={**os.environ, "MPLBACKEND": "Agg"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert process.returncode == 0, process.stderr
    printed = json.loads(process.stdout)
    assert printed == [shown(cell) for cell in cells]  # to the last digit: the same rows give the same bits
    accuracy = re.search(r"accuracy (\d+\.\d)%", "".join(printed))
    assert accuracy is not None
    assert 75 < float(accuracy[1]) < 95
    assert "the same predictions: True" in "".join(printed)
    assert (tmp_path / "loans.driftway").stat().st_size > 0
    picture = (tmp_path / "loans.png").read_bytes()
    assert picture.startswith(PNG)
    assert len(picture) > 10_000


def test_the_stored_notebook_was_run_from_top_to_bottom() -> None:
    cells = code_cells()
    assert [cell["execution_count"] for cell in cells] == list(range(1, len(cells) + 1))
    pictures = [one["data"]["image/png"] for cell in cells for one in cell["outputs"] if "data" in one]
    assert len(pictures) == 1
    text = NOTEBOOK.read_text(encoding="utf-8").replace(pictures[0], "")
    assert re.findall(r"/(?:home|work|tmp|root|Users|usr|opt)/", text) == []
    links = re.findall(r"\]\(([^)#:]+)\)", text)
    assert links
    assert [link for link in links if not (NOTEBOOK.parent / link).exists()] == []
