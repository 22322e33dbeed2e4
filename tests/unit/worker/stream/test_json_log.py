"""With `--log-format json` every line on standard error is an object, whatever goes wrong, and shows no secret."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

from driftway.worker.stream.observability.event_log import EventLog
from driftway.worker.stream.observability.settings_in_force import settings_in_force
from driftway.worker.stream.observability.uncaught import stacks
from tests.support.process import ROOT, clean_environment, driftway

NOWHERE = "127.0.0.1:1"
REFUSED = "-X", "session.timeout.ms=soon"
"""A property that the client refuses: the worker has its settings then, and ends at once."""
PROGRAM = """
import gc, logging, threading, warnings
from driftway.worker.stream.observability.event_log import EventLog
from driftway.worker.stream.observability.uncaught import logged_as_events

class Unclean:
    def __del__(self):
        raise RuntimeError("in a destructor")

def fail():
    raise ValueError("in a\\nthread")

with logged_as_events(EventLog({form!r})):
    logging.getLogger("driftway.kernels").warning("compiled anew")
    try:
        1 / 0
    except ZeroDivisionError:
        logging.getLogger("some.library").exception("cannot divide")
    warnings.warn("a library is old", DeprecationWarning, stacklevel=1)
    thread = threading.Thread(target=fail, name="reader")
    thread.start()
    thread.join()
    Unclean()
    gc.collect()
    raise KeyError("uncaught")
"""


def ran(form: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-W", "always", "-c", PROGRAM.format(form=form)]
    return subprocess.run(command, cwd=ROOT, env=clean_environment(), capture_output=True, text=True, check=False)


def parsed(text: str) -> list[dict[str, Any]]:
    lines = [json.loads(line) for line in text.splitlines()]
    assert all(line.keys() >= {"time", "level", "logger", "event"} for line in lines)
    return lines


def test_exceptions_warnings_and_other_loggers_are_objects_too() -> None:
    done = ran("json")
    assert done.returncode == 1
    compiled, divided, old, thread, destructor, last = parsed(done.stderr)
    assert (compiled["level"], compiled["logger"], compiled["event"]) == (
        "warning",
        "driftway.kernels",
        "compiled anew",
    )
    assert (divided["level"], divided["logger"], divided["event"]) == ("error", "some.library", "cannot divide")
    assert "ZeroDivisionError" in divided["traceback"]
    assert (old["level"], old["logger"]) == ("warning", "py.warnings")
    assert "a library is old" in old["event"]
    assert (thread["event"], thread["thread"], thread["error"]) == ("uncaught exception", "reader", "in a\nthread")
    assert (destructor["event"], destructor["error_type"]) == ("ignored exception", "RuntimeError")
    assert (last["event"], last["level"], last["error_type"]) == ("uncaught exception", "error", "KeyError")
    assert last["traceback"].startswith("Traceback (most recent call last):")
    assert last["traceback"].rstrip().endswith("KeyError: 'uncaught'")


def test_as_text_exceptions_are_what_python_prints() -> None:
    done = ran("text")
    assert done.returncode == 1
    assert "compiled anew" in done.stderr.splitlines()[0]
    assert done.stderr.rstrip().endswith("KeyError: 'uncaught'")


def test_a_worker_logs_its_version_and_settings_and_why_it_ends() -> None:
    done = driftway(
        "worker", "--input", "E", "--group", "g", "--bootstrap", NOWHERE, "--learner", "arow:r=2",
        "--log-format", "json", "-X", "sasl.password=hunter2-x", "-X", "client.id=me",
        "--commit-interval", "0.5", *REFUSED,
    )  # fmt: skip
    assert done.code == 2
    begun, ended = parsed(done.stderr)
    assert (begun["event"], begun["version"]) == ("starting", "0.1.0")
    settings = begun["settings"]
    expected = {
        "input": "E", "group": "g", "learner": ["arow:r=2"], "commit-interval": 0.5, "guarantee": "exactly-once",
        "X": ["sasl.password=***", "client.id=me", "session.timeout.ms=soon"],
        "bootstrap": NOWHERE, "stop-at-end": False, "http-port": None,
    }  # fmt: skip
    assert {name: settings[name] for name in expected} == expected
    assert (ended["event"], ended["level"], ended["exit_code"]) == ("failed", "error", 2)
    assert "session.timeout.ms" in ended["error"]
    assert "hunter2" not in done.stderr


@pytest.mark.parametrize("wrong", [("--learner", "nope"), ("-X", "group.id=x"), ("--promote", "always")])
def test_a_wrong_option_is_an_object_too(wrong: tuple[str, str]) -> None:
    done = driftway("worker", "--input", "E", "--group", "g", "--bootstrap", NOWHERE, "--log-format", "json", *wrong)
    (line,) = parsed(done.stderr)
    assert (done.code, line["event"], line["exit_code"]) == (2, "failed", 2)


def test_as_text_a_failure_is_logged_as_one_sentence() -> None:
    done = driftway("worker", "--input", "E", "--group", "g", "--bootstrap", NOWHERE, *REFUSED)
    (line,) = done.stderr.splitlines()
    assert line.startswith("driftway: ")
    assert "session.timeout.ms" in line


def test_settings_hide_what_may_be_secret() -> None:
    given = {
        "bootstrap": "user:hunter2@a:9092,b:9092", "properties": ("sasl.password=hunter2",),
        "registry": "https://user:hunter2@registry:8081", "registry_properties": ("basic.auth.user.info=u:hunter2",),
        "window": 1000, "frozen": False, "features": None, "learner": ("auto",),
    }  # fmt: skip
    found = settings_in_force(given, {"sasl.password": "hunter2", "ssl.key.pem": "hunter2", "client.id": "me"})
    assert "hunter2" not in str(found)
    assert found["properties"] == ["sasl.password=***", "ssl.key.pem=***", "client.id=me"]
    assert found["registry_properties"] == ["basic.auth.user.info=***"]
    assert (found["window"], found["frozen"], found["features"], found["learner"]) == (1000, False, None, ["auto"])
    assert found["registry"] == "https://***@registry:8081"


def test_stacks_name_threads_and_their_calls() -> None:
    found = stacks()["MainThread"]
    assert found[-1].endswith(" stacks")
    assert any(call.endswith(" test_stacks_name_threads_and_their_calls") for call in found)


def test_the_default_format_is_text() -> None:
    assert EventLog().form == "text"
