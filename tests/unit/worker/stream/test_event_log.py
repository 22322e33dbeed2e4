"""One event per line, as text and as JSON."""

from __future__ import annotations

import errno
import io
import json
import math
import os
import re
import sys
import time
from datetime import datetime
from pathlib import Path

import numpy as np
import pytest

from driftway.worker.stream.observability.event_log import JSON, TEXT, EventLog


def written(form: str, what: str, **facts: object) -> str:
    out = io.StringIO()
    EventLog(form, out).event(what, **facts)
    return out.getvalue()


def test_text_is_clock_event_and_facts_in_order() -> None:
    line = written(TEXT, "commit failed", partition=3, action="fenced", topics=["a"])
    assert re.fullmatch(r"\d\d:\d\d:\d\d commit failed partition=3 action=fenced topics=\['a'\]\n", line)


def test_json_is_an_object_with_time_level_logger_event_and_facts() -> None:
    before = time.time()
    found = json.loads(written(JSON, "running", partition=3, position=7, cause=ValueError("x")))
    assert found["time"].endswith("Z")
    assert before - 1 < datetime.fromisoformat(found.pop("time")).timestamp() < time.time() + 1
    assert found == {
        "level": "info", "logger": "driftway.worker", "event": "running", "partition": 3, "position": 7, "cause": "x"
    }  # fmt: skip


def test_levels_are_those_of_the_methods() -> None:
    out = io.StringIO()
    event_log = EventLog(JSON, out)
    event_log.event("a")
    event_log.warning("b", partition=1)
    event_log.error("c")
    lines = [json.loads(line) for line in out.getvalue().splitlines()]
    assert [(line["event"], line["level"]) for line in lines] == [("a", "info"), ("b", "warning"), ("c", "error")]


def test_numbers_are_numbers_and_values_unknown_to_json_are_text() -> None:
    facts = {
        "integer": np.int64(7), "real": np.float64(0.5), "flag": np.bool_(True), "rows": np.arange(2), "place": (1, 2),
        "nested": {"seconds": np.float32(0.25), 3: [math.nan]}, "not_a_number": math.nan, "endless": -math.inf,
        "path": Path("a/b"), "nothing": None,
    }  # fmt: skip
    line = written(JSON, "x", **facts)
    found = json.loads(line, parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))
    assert {name: found[name] for name in facts} == {
        "integer": 7, "real": 0.5, "flag": True, "rows": [0, 1], "place": [1, 2],
        "nested": {"seconds": 0.25, "3": ["nan"]}, "not_a_number": "nan", "endless": "-inf",
        "path": "a/b", "nothing": None,
    }  # fmt: skip


@pytest.mark.parametrize("form", [TEXT, JSON])
def test_an_event_is_one_line_whatever_its_fields(form: str) -> None:
    """Broker errors may contain line breaks, but a log is read line by line."""
    line = written(form, "consumer error", error="first\nsecond\r\nthird")
    assert line.count("\n") == 1
    assert "\r" not in line
    assert line.endswith("\n")
    assert "second" in line


def test_standard_error_is_the_default(capsys: pytest.CaptureFixture[str]) -> None:
    EventLog().event("left", group="g")
    out, err = capsys.readouterr()
    assert out == ""
    assert err.endswith("left group=g\n")


class SmallDisk(io.RawIOBase):
    """Accepts `room` bytes, like a disk: the last write may be short, and the next one fails."""

    def __init__(self, room: int = 0) -> None:
        self.room, self.text = room, b""

    def writable(self) -> bool:
        return True

    def write(self, line: bytes) -> int:  # type: ignore[override]
        if not self.room:
            raise OSError(errno.ENOSPC, "No space left on device")
        taken = bytes(line[: self.room])
        self.text += taken
        self.room -= len(taken)
        return len(taken)


@pytest.mark.parametrize("form", [TEXT, JSON])
def test_lines_that_cannot_be_written_are_counted_and_raise_nothing(form: str) -> None:
    disk = SmallDisk()
    event_log = EventLog(form, io.TextIOWrapper(io.BufferedWriter(disk), "utf-8"))
    for partition in range(3):
        event_log.event("running", partition=partition)
    disk.room = 1000
    event_log.event("left", group="g")
    event_log.event("left", group="h")
    lines = disk.text.decode().splitlines()
    assert ["lines_missing" in line for line in lines] == [True, False, False]
    assert re.search(r"log was interrupted.*lines_missing\D*3\b", lines[0])
    assert "running" not in disk.text.decode()


def test_a_truncated_line_counts_as_missing() -> None:
    disk = SmallDisk(room=5)
    event_log = EventLog(TEXT, io.TextIOWrapper(io.BufferedWriter(disk), "utf-8"))
    event_log.event("running")
    disk.room = 1000
    event_log.event("left")
    assert disk.text.decode().splitlines()[0].endswith("log was interrupted lines_missing=1")


def test_no_unwritten_text_stays_in_the_stream_to_fail_again_at_the_end() -> None:
    disk = SmallDisk()
    stream = io.TextIOWrapper(io.BufferedWriter(disk), "utf-8")
    EventLog(TEXT, stream).event("left")
    stream.flush()


def test_a_closed_pipe_raises_nothing() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "w") as out:
        EventLog(TEXT, out).event("running")


def test_a_process_without_standard_error_has_no_log(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", None)
    EventLog().event("running")


def test_characters_outside_the_encoding_are_escaped() -> None:
    """Like standard error, with backslashes: the name of a topic or file may contain any character."""
    disk = SmallDisk(room=1000)
    out = io.TextIOWrapper(io.BufferedWriter(disk), "ascii", "backslashreplace")
    EventLog(TEXT, out).event("left", group="gr\u00fcn")
    assert disk.text.endswith(b"group=gr\\xfcn\n")
