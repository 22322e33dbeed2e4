"""What failures and their sentences share: numbers with their nouns, and files that the user names."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from driftway.worker import errors
from driftway.worker.errors import UsageFailure, duration, plural, read_file, require_writable


def test_a_noun_agrees_with_its_number() -> None:
    assert [plural(n, "row") for n in (0, 1, 2, 2000)] == ["0 rows", "1 row", "2 rows", "2,000 rows"]
    assert [plural(n, "pass") for n in (1, 2)] == ["1 pass", "2 passes"]
    assert [plural(n, "delivery failed", "deliveries failed") for n in (1, 3)] == [
        "1 delivery failed", "3 deliveries failed",
    ]  # fmt: skip


def test_a_file_may_be_a_pipe_but_reading_it_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(errors, "FIFO_SECONDS", 1)
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    with pytest.raises(UsageFailure, match=r"^cannot read secrets: nothing was written to it for 1 s$"):
        read_file(fifo, "secrets")
    monkeypatch.setattr(errors, "FIFO_SECONDS", 60)
    with subprocess.Popen(["sh", "-c", f"sleep 0.2; echo a=b > {fifo}"]):
        assert read_file(fifo) == b"a=b\n"
    for max_bytes in (errors.MAX_BYTES, None):
        with pytest.raises(UsageFailure, match=r"^/dev/zero has more than 16,777,216 bytes: give another file$"):
            read_file("/dev/zero", max_bytes=max_bytes)
    assert read_file(os.devnull) == b""
    (tmp_path / "large").write_bytes(b"12345")
    assert read_file(tmp_path / "large", max_bytes=5) == read_file(tmp_path / "large", max_bytes=None) == b"12345"
    with pytest.raises(UsageFailure, match="has more than 4 bytes"):
        read_file(tmp_path / "large", max_bytes=4)


def test_a_place_that_may_not_be_written_is_told_before_the_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (there := tmp_path / "there.csv").touch()
    require_writable(there)
    require_writable(tmp_path / "new.csv")
    monkeypatch.setattr(errors.os, "access", lambda *_: False)  # root may write anywhere
    for path, why in (
        (there, "the file is not writable"),
        (tmp_path / "new.csv", f"the directory {tmp_path} is not writable"),
        (tmp_path / "no" / "new.csv", f"there is no directory {tmp_path / 'no'}"),
        (tmp_path, "it is a directory"),
    ):
        with pytest.raises(UsageFailure, match=f"^cannot write {path}: {why}$"):
            require_writable(path)


@pytest.mark.parametrize(
    ("millis", "words"),
    [(0, "0 ms"), (999, "999 ms"), (90_000, "1.5 min"), (604_800_000, "7 d"), (20_396 * 86_400_000, "20,396 d")],
)
def test_a_duration_has_its_largest_suitable_unit(millis: int, words: str) -> None:
    assert duration(millis) == words
