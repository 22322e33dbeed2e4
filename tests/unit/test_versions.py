"""`make test-versions`: which rows there are, and that each says what it came to."""

from __future__ import annotations

import re
import sys
import tomllib

import pytest

from tests import versions
from tests.versions import ROOT, Row


def test_the_rows_begin_with_the_oldest_versions_that_are_allowed() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    oldest = next(row for row in versions.ROWS if row.python)
    assert project["requires-python"] == f">={oldest.python}"
    assert f"confluent-kafka>={oldest.client}" in project["dependencies"]
    assert versions.ROWS[-1].client == versions.NEWEST
    assert len({row.name for row in versions.ROWS}) == len(versions.ROWS)


def test_every_row_is_in_the_documents() -> None:
    text = (ROOT / "docs" / "kafka.md").read_text()
    table = text.partition("## Versions")[2].partition("\n## ")[0]
    assert [row.name for row in versions.ROWS if f"`{row.name}`" not in table] == []


def test_chosen_tests_are_there() -> None:
    for one in (*versions.ANY_MAJOR, *versions.SINCE_4):
        path, _, name = one.partition("::")
        assert f"def {name}" in (ROOT / path).read_text(), one


def test_an_old_broker_is_spared_what_needs_kafka_4() -> None:
    assert not set(versions.SINCE_4) & set(Row(kafka="3.9.2").tests)
    assert set(versions.SINCE_4) < set(Row(kafka="4.0.2").tests)


def test_a_python_that_can_be_run_is_found_and_no_other() -> None:
    own = "{}.{}".format(*sys.version_info)
    found = versions.interpreter(own)
    assert found is None or versions._says_version(found) == own
    assert versions.interpreter("3.99") is None


def test_each_row_says_what_it_came_to(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.delenv("DRIFTWAY_BOOTSTRAP", raising=False)
    monkeypatch.setattr(versions, "run", lambda row: (row.kafka != "3.9.2", f"with {row.kafka}"))
    assert versions.main(["kafka-3.3.2"]) == 0
    assert versions.main(["kafka-3.9.2", "kafka-4.0.2"]) == 1
    out = capsys.readouterr().out
    assert re.search(r"--- versions\nkafka-3.9.2 +0:00  with 3.9.2\nkafka-4.0.2 +0:00  with 4.0.2\n$", out)


def test_a_python_that_is_not_here_is_said_to_be_resolved_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(versions, "wheels_exist", lambda row: row.client != "0.1")
    assert versions.run(Row(python="3.99")) == (True, "no Python 3.99 here: only resolved, every wheel exists")
    assert versions.run(Row(python="3.99", client="0.1")) == (False, "no Python 3.99 here: NO WHEELS")


def test_a_row_compiles_kernels_before_its_test_processes_would(monkeypatch: pytest.MonkeyPatch) -> None:
    commands: list[list[str]] = []
    monkeypatch.setattr(versions.subprocess, "run", lambda command, **_: commands.append(command))
    monkeypatch.setattr(versions.subprocess, "call", lambda command, **_: commands.append(command) or 0)
    assert versions.run(Row(kafka="4.1.2")) == (True, "passed")
    assert [command[2] for command in commands] == ["driftway", "driftway", "pytest"]
    assert [command[-1] for command in commands[:2]] == ["native", "python"]


def test_an_unknown_row_and_a_named_cluster_are_refused_in_one_sentence(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert versions.main(["kafka-1.0.0"]) == 2
    assert capsys.readouterr().err.startswith("there is no row kafka-1.0.0: rows are kafka-")
    monkeypatch.setenv("DRIFTWAY_BOOTSTRAP", "127.0.0.1:9")
    assert versions.main([]) == 2
    assert "each row starts its own Kafka" in capsys.readouterr().err
