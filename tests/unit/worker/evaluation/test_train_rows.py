"""What `driftway train` reads: rows of a stream, bounds of a part of a topic, the resume file; and stopping it."""

from __future__ import annotations

import math
import os
import signal
from pathlib import Path

import numpy as np
import pytest

from driftway.producers.streams import open_stream
from driftway.worker.errors import Failure, UsageFailure
from driftway.worker.evaluation.training.bounds import OffsetBound, require_order
from driftway.worker.evaluation.training.resume_file import ResumeFile
from driftway.worker.evaluation.training.rows import StreamRows, require_rows
from driftway.worker.evaluation.training.run import StopSignal, run
from driftway.worker.wire.events import Target

DIRTY = "b,a,y\n1,2,0\n3,4,1\n5,6,\n7,,1\n9,10,0\n11,12,1\n"


@pytest.fixture
def dirty(tmp_path: Path) -> Path:
    file = tmp_path / "dirty.csv"
    file.write_text(DIRTY)
    return file


def rows_of(file: Path | str, skip: int = 0, limit: int | None = None, named: bool = False) -> StreamRows:
    return StreamRows(open_stream(str(file)), Target(), {"stream": str(file)}, skip, limit, named)


def all_of(rows: StreamRows) -> tuple[np.ndarray, np.ndarray]:
    blocks = list(rows.blocks())
    return np.concatenate([X for X, _ in blocks]), np.concatenate([y for _, y in blocks])


# Rows of a stream.


def test_rows_without_label_or_with_a_missing_feature_are_left_out_and_counted(dirty: Path) -> None:
    rows = rows_of(dirty)
    X, y = all_of(rows)
    assert X.tolist() == [[1, 2], [3, 4], [9, 10], [11, 12]]
    assert y.tolist() == [0, 1, 0, 1]
    assert X.flags.c_contiguous
    counts = rows.counts
    assert (counts.labelled, counts.unlabelled, counts.rejected, counts.missing) == (4, 1, 1, 1)
    assert (counts.first_unused, counts.first_rejected) == (
        "row 2: it has no label", "row 3: a is missing or infinite"
    )  # fmt: skip
    assert rows.origin() == {"stream": str(dirty), "from": 0, "to": 6}
    assert all_of(rows)[1].tolist() == [0, 1, 0, 1]  # counts start afresh with each reading
    assert rows.counts == counts


def test_named_rows_are_ordered_by_the_features_names(dirty: Path) -> None:
    rows = rows_of(dirty, named=True)
    assert rows.names == ("a", "b")
    assert all_of(rows)[0].tolist() == [[2, 1], [4, 3], [10, 9], [12, 11]]
    assert rows_of(dirty).names is None


@pytest.mark.parametrize(("skip", "limit"), [(0, 1), (1, None), (8191, 2), (8192, 8193), (9000, 8000), (16_999, 1)])
def test_skip_and_limit_take_the_rows_between_across_blocks(skip: int, limit: int | None) -> None:
    whole = np.concatenate([block.X for block in open_stream("sea:rows=17000").blocks()])
    rows = rows_of("sea:rows=17000", skip, limit)
    end = 17_000 if limit is None else skip + limit
    assert (all_of(rows)[0] == whole[skip:end]).all()
    assert rows.length == end - skip
    origin = rows.origin()
    assert (origin["from"], origin["to"]) == (skip, end)


def test_a_limit_beyond_the_end_takes_all_rows() -> None:
    rows = rows_of("sea:rows=100", 40, 1000)
    assert len(all_of(rows)[1]) == 60 == rows.length
    assert (rows.origin()["from"], rows.origin()["to"]) == (40, 100)


def test_skipping_everything_is_refused() -> None:
    with pytest.raises(Failure, match="has 100 rows: none is left after the first 100"):
        list(rows_of("sea:rows=100", 100).blocks())


def test_the_refusal_of_a_label_that_is_no_class_names_its_row(tmp_path: Path) -> None:
    file = tmp_path / "three.csv"
    file.write_text("a,y\n1,0\n2,1\n3,2\n")
    with pytest.raises(UsageFailure, match=r"label 2 in row 2 of .*three.csv is neither 0 nor 1: .*--labels"):
        list(rows_of(file).blocks())
    with pytest.raises(UsageFailure, match=r"label 2 in row 2 "):
        list(rows_of(file, skip=1).blocks())


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (
            "a,y\n1,\n2,\n,\n",
            "none of the 3 rows of .* could be used: 1 rejected, 2 without a label; the first, row 0: it has no label",
        ),
        (
            "a,y\n,1\n,0\n",
            "none of the 2 rows of .* could be used: 2 rejected; the first, row 0: a is missing or infinite "
            r"\(--missing mean fills gaps, --drop leaves out a column of a file\)",
        ),
    ],
)
def test_no_usable_row_is_reported_in_one_sentence(tmp_path: Path, text: str, sentence: str) -> None:
    file = tmp_path / "useless.csv"
    file.write_text(text)
    rows = rows_of(file)
    list(rows.blocks())
    with pytest.raises(Failure, match=sentence):
        require_rows(rows)


# Bounds.


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (None, None),
        ("0", OffsetBound(0, None)),
        ("500000", OffsetBound(500_000, None)),
        ("1970-01-01T00:00:01Z", OffsetBound(None, 1000)),
        ("1970-01-01T00:00:01.5", OffsetBound(None, 1500)),
        ("1970-01-01T02:00:00+02:00", OffsetBound(None, 0)),
        ("1970-01-02", OffsetBound(None, 86_400_000)),
    ],
)
def test_a_bound_is_an_offset_or_a_time(text: str | None, expected: OffsetBound | None) -> None:
    assert OffsetBound.parse(text, "--from") == expected


@pytest.mark.parametrize("text", ["", "-1", "1.5", "yesterday", "²", "2026-13-01"])
def test_other_bounds_are_refused(text: str) -> None:
    with pytest.raises(UsageFailure, match=r"--to .*: write an offset such as 500000, or a time"):
        OffsetBound.parse(text, "--to")


def test_an_empty_range_is_refused() -> None:
    require_order(OffsetBound(3, None), OffsetBound(4, None))
    require_order(OffsetBound(3, None), OffsetBound(None, 1))  # unknown until the log is queried
    require_order(None, OffsetBound(0, None))
    for first, end in ((OffsetBound(4, None), OffsetBound(4, None)), (OffsetBound(None, 5), OffsetBound(None, 4))):
        with pytest.raises(UsageFailure, match="--from is not before --to"):
            require_order(first, end)


# The resume file.


def test_an_unfinished_run_is_read_back(tmp_path: Path) -> None:
    path = tmp_path / "m.driftway.partial"
    one = ResumeFile({"seed": 1, "limit": None}, {"stream": "sea"}, b"\0progress\xff")
    one.write(path)
    assert ResumeFile.read(path) == one
    assert [file.name for file in tmp_path.iterdir()] == [path.name]
    one.require_same({"seed": 1, "limit": None}, path)
    with pytest.raises(UsageFailure, match="was started with --limit not given, not 5"):
        one.require_same({"seed": 1, "limit": 5}, path)


def test_any_damage_of_a_resume_file_is_detected(tmp_path: Path) -> None:
    path = tmp_path / "m.partial"
    with pytest.raises(UsageFailure, match="nothing to resume"):
        ResumeFile.read(path)
    ResumeFile({"seed": 1}, {}, b"abc").write(path)
    whole = path.read_bytes()
    flipped = [whole[:i] + bytes([whole[i] ^ 1]) + whole[i + 1 :] for i in range(len(whole))]
    for blob in (b"", whole[:-1], b"x" * 100, *flipped):
        path.write_bytes(blob)
        with pytest.raises(Failure, match="damaged, or not a resume file"):
            ResumeFile.read(path)


# Being stopped.


class Counting:
    """Counts to `end`; its saved state is the count."""

    def __init__(self, end: int) -> None:
        self.progress, self.end = 0, end

    @property
    def done(self) -> bool:
        return self.progress == self.end

    def advance(self) -> None:
        self.progress += 1

    def save(self) -> bytes:
        return str(self.progress).encode()


def test_a_run_saves_after_each_interval_and_not_at_its_end() -> None:
    saved: list[bytes] = []
    progress: list[int] = []
    assert run(Counting(3), saved.append, progress.append, every=0.0)  # type: ignore[arg-type]
    assert (saved, progress) == ([b"1", b"2"], [1, 2, 3])
    saved.clear()
    assert run(Counting(3), saved.append, progress.append, every=math.inf)  # type: ignore[arg-type]
    assert saved == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_saves_and_ends_the_run(number: signal.Signals) -> None:
    saved: list[bytes] = []
    stop, before = StopSignal(), signal.getsignal(number)

    def show_progress(count: int) -> None:
        if count == 2:
            os.kill(os.getpid(), number)

    with stop.listening():
        assert not run(Counting(5), saved.append, show_progress, math.inf, stop)  # type: ignore[arg-type]
        assert signal.getsignal(number) == signal.SIG_DFL  # a second signal ends the process
    assert saved == [b"2"]
    assert signal.getsignal(number) == before
