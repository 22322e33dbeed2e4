"""One event a line, as text and as JSON."""

from __future__ import annotations

import io
import json
import re
import time

import pytest

from worker.journal import JSON, TEXT, Journal


def written(form: str, what: str, **facts: object) -> str:
    out = io.StringIO()
    Journal(form, out).event(what, **facts)
    return out.getvalue()


def test_text_is_clock_event_and_facts_in_order() -> None:
    line = written(TEXT, "commit failed", partition=3, verdict="fenced", topics=["a"])
    assert re.fullmatch(r"\d\d:\d\d:\d\d commit failed partition=3 verdict=fenced topics=\['a'\]\n", line)


def test_json_is_an_object_with_time_event_and_facts() -> None:
    before = time.time()
    found = json.loads(written(JSON, "running", partition=3, position=7, cause=ValueError("x")))
    assert before - 1 < found.pop("time") < time.time() + 1
    assert found == {"event": "running", "partition": 3, "position": 7, "cause": "x"}


@pytest.mark.parametrize("form", [TEXT, JSON])
def test_an_event_is_one_line_whatever_its_facts_say(form: str) -> None:
    """Errors of the broker may have line breaks; a log is read line by line."""
    line = written(form, "consumer error", error="first\nsecond\r\nthird")
    assert line.count("\n") == 1
    assert "\r" not in line
    assert line.endswith("\n")
    assert "second" in line


def test_standard_error_is_the_default(capsys: pytest.CaptureFixture[str]) -> None:
    Journal().event("left", group="g")
    out, err = capsys.readouterr()
    assert out == ""
    assert err.endswith("left group=g\n")
