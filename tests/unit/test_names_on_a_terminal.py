"""Names from files and records are printed as they are, except control characters, which could rule a terminal."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from driftway.cli import main
from driftway.worker.cli.console import bar
from driftway.worker.evaluation.cli.progress_line import progress_line
from driftway.worker.stream.observability.event_log import EventLog

ROWS = "".join(f"{i % 7},{i % 5},{'no' if i % 2 else 'y[/x]'}\n" for i in range(60))


def run(*arguments: str) -> str:
    done = CliRunner(env={"DRIFTWAY_DATA": None}).invoke(main, list(arguments))
    assert done.exit_code == 0, done.output
    return done.output


def test_brackets_are_no_markup_and_colons_no_pictures(tmp_path: Path) -> None:
    stream = tmp_path / "[final]:cat:[1].csv"
    stream.write_text("a,b,y\n" + ROWS)
    named = ("--learner", "pa1", "--labels", "no,y[/x]")
    assert " [final]:cat:[1].csv " in run("evaluate", str(stream), *named).replace(str(tmp_path) + "/", " ")
    model = tmp_path / "m.model"
    run("train", str(stream), *named, "--out", str(model))
    shown = run("snapshot", "show", str(model))
    assert "(no, y[/x])" in shown
    assert "[final]:cat:[1].csv" in shown


def test_control_characters_are_not_printed(tmp_path: Path) -> None:
    stream = tmp_path / "e\x1b[31m.csv"
    stream.write_text(("a,b,y\n" + ROWS.replace("[/x]", "\x1b[2J")).replace(",", ";"))
    named = ("--learner", "pa1", "--labels", "no,y\x1b[2J")
    model = tmp_path / "m.model"
    text = run("evaluate", str(stream), *named)
    run("train", str(stream), *named, "--out", str(model))
    text += run("snapshot", "show", str(model))
    assert "e?[31m.csv: its cells are separated by semicolons" in text
    assert "e?[31m.csv  " in text
    assert "(no, y?[2J)" in text
    assert "\x1b" not in text


def test_a_bar_shows_any_name(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = io.StringIO()
    monkeypatch.setattr(terminal, "isatty", lambda: True)
    monkeypatch.setattr(sys, "stderr", terminal)
    with bar("a[/x]\x1b[2J.csv", 9), progress_line("b[/x].csv"):
        pass
    assert "a[/x]?[2J.csv" in terminal.getvalue()
    assert "b[/x].csv" in terminal.getvalue()


@pytest.mark.parametrize("form", ["text", "json"])
def test_a_line_of_the_log_is_one_line_without_control_characters(form: str) -> None:
    out = io.StringIO()
    EventLog(form, out).event("restored", why="a\x1b[2J\nb\u2028c\x9b31m")
    (line,) = out.getvalue().splitlines()
    assert not {"\x1b", "\u2028", "\x9b"} & set(line)
