"""The file of `--resume`: what is saved is read back, and any other file is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from driftway.producers.replay_position import ReplayPosition
from driftway.producers.selection import Selection
from driftway.producers.sinks.transactions import TransactionOption
from driftway.worker.errors import Failure, UsageFailure

FACTS = {"stream": "sea", "missing_labels": 0.5, "limit": None}


def test_a_saved_position_is_read_back(tmp_path: Path) -> None:
    path = str(tmp_path / "position.json")
    first = ReplayPosition(path, FACTS)
    assert first.position is None
    assert not Path(path).exists()
    for position in (0, 400, 401):
        first.save(position)
        again = ReplayPosition(path, FACTS)
        assert (again.position, again.run) == (position, first.run)
    assert list(tmp_path.iterdir()) == [Path(path)]
    assert ReplayPosition(str(tmp_path / "other.json"), FACTS).run != first.run


def test_a_file_of_another_replay_is_refused(tmp_path: Path) -> None:
    path = str(tmp_path / "position.json")
    ReplayPosition(path, FACTS).save(7)
    with pytest.raises(UsageFailure) as failure:
        ReplayPosition(path, {**FACTS, "missing_labels": 0.25})
    assert str(failure.value) == (
        f"{path} belongs to a replay with missing-labels 0.5, not 0.25; give another file to start over"
    )
    with pytest.raises(UsageFailure, match='a replay with stream "sea", not null'):
        ReplayPosition(path, {key: value for key, value in FACTS.items() if key != "stream"})


@pytest.mark.parametrize(
    "content",
    [b"", b"[]", b"7", b"{}", b"\xff", b'{"version":1,"position":1,"run":"a"}', b'{"position":-1}', b"position: 7"],
)
def test_another_file_is_refused_and_not_overwritten(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "position.json"
    path.write_bytes(content)
    with pytest.raises(UsageFailure, match="is not a file of --resume"):
        ReplayPosition(str(path), FACTS)
    assert path.read_bytes() == content


@pytest.mark.parametrize(
    ("field", "value"), [("position", -1), ("position", True), ("position", 1.5), ("run", 3), ("replay", [])]
)
def test_a_damaged_field_is_refused(tmp_path: Path, field: str, value: object) -> None:
    path = tmp_path / "position.json"
    ReplayPosition(str(path), FACTS).save(7)
    path.write_text(json.dumps({**json.loads(path.read_text()), field: value}))
    with pytest.raises(UsageFailure, match="is not a file of --resume"):
        ReplayPosition(str(path), FACTS)


def test_a_newer_file_and_an_unwritable_place_are_refused_in_one_sentence(tmp_path: Path) -> None:
    path = tmp_path / "position.json"
    ReplayPosition(str(path), FACTS).save(7)
    path.write_text(path.read_text().replace('"version": 1', '"version": 2'))
    with pytest.raises(UsageFailure, match="has version 2, not 1"):
        ReplayPosition(str(path), FACTS)
    with pytest.raises(UsageFailure, match="cannot read"):
        ReplayPosition(str(tmp_path), FACTS)
    with pytest.raises(Failure, match="cannot write"):
        ReplayPosition(str(tmp_path / "absent" / "position.json"), FACTS).save(1)


def test_a_resumed_selection_is_the_rest_of_it() -> None:
    assert Selection(10, 100, 3).since(40) == Selection(40, 70, 3)
    assert Selection(10, None, None).since(40) == Selection(40, None, None)


@pytest.mark.parametrize(
    ("text", "name", "rows"),
    [("loader", "loader", 10_000), ("loader:500", "loader", 500), ("a:b", "a:b", 10_000), ("a:b:7", "a:b", 7)],
)
def test_a_transactional_id_may_be_followed_by_a_number_of_rows(text: str, name: str, rows: int) -> None:
    assert TransactionOption.parse(text) == TransactionOption(name, rows)


@pytest.mark.parametrize("text", ["", " ", ":5", "loader:0"])
def test_a_wrong_transaction_is_refused_in_one_sentence(text: str) -> None:
    with pytest.raises(UsageFailure, match="--transactional-id takes ID or ID:rows with at least 1 row, got"):
        TransactionOption.parse(text)
