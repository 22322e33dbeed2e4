"""The Python on the pages about the library runs, and prints what the tutorial shows."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[3] / "docs"
BLOCK = re.compile(r"^```(python|text)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def run(page: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Run a page's Python from top to bottom; return what it shows as printed."""
    blocks = BLOCK.findall((DOCS / page).read_text(encoding="utf-8"))
    assert len(blocks) >= 5
    monkeypatch.chdir(folder)
    exec(compile("\n".join(text for kind, text in blocks if kind == "python"), page, "exec"), {})
    return "".join(text for kind, text in blocks if kind == "text")


def test_the_page_runs_from_top_to_bottom(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run("how-to/use-the-library.md", tmp_path, monkeypatch)


def test_the_tutorial_prints_what_it_shows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Equal to the last digit: the same rows give the same bits."""
    shown = run("tutorial/library.md", tmp_path, monkeypatch)
    assert capsys.readouterr().out == shown
    assert (tmp_path / "sine.driftway").exists()
