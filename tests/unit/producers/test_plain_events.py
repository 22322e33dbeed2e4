"""Files of our own events, `{"x": .., "y": ..}`, read as rows: the same bits as the stream that they came from."""

from __future__ import annotations

import bz2
import gzip
import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from driftway.producers.streams import open_stream
from driftway.worker.errors import UsageFailure
from tests.support.cli_runner import run

PACK = {"": bytes, ".gz": gzip.compress, ".bz2": bz2.compress}


@pytest.mark.parametrize("named", [(), ("--named",)])
@pytest.mark.parametrize("end", ["", ".gz", ".bz2"])
def test_events_written_by_replay_are_evaluated_with_the_same_bits(
    tmp_path: Path, named: tuple[str, ...], end: str
) -> None:
    path = tmp_path / f"rows.jsonl{end}"
    text = run("replay", "sea", "--limit", 3000, "--dry-run", "-", "--quiet", *named).stdout_bytes
    path.write_bytes(PACK[end](text))
    block, whole = (next(open_stream(name).blocks(3000)) for name in ("sea", str(path)))
    assert whole.X.tobytes() == block.X.tobytes()
    assert whole.y.tobytes() == block.y.tobytes()
    ours, theirs = (
        json.loads(run("evaluate", name, "--limit", 3000, "--learner", "arow", "--json").stdout)[0]
        for name in (path, "sea")
    )
    assert ours["accuracy"] == theirs["accuracy"]


def test_a_parquet_column_of_lists_is_the_plain_form(tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    parquet.write_table(pa.table({"x": [[1.0, 2.0], [3.0, None]], "y": ["b", "a"]}), path)
    stream = open_stream(str(path), labels=("a", "b"))
    (block,) = stream.blocks()
    assert stream.feature_names == ("x0", "x1")
    np.testing.assert_array_equal(block.X, [[1, 2], [3, np.nan]])
    assert block.y.tolist() == [1, 0]


def test_events_that_a_worker_would_reject_are_counted_as_rejected(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    good = [f'{{"x":[{i},1],"y":{i % 2}}}' for i in range(50)]
    path.write_text("\n".join([*good, "no JSON", '{"x":[1],"y":0}', '{"x":[1,2],"y":"up"}']) + "\n")
    for missing in ((), ("--missing", "mean")):
        done = run("evaluate", path, "--learner", "arow", "--json", *missing)
        (result,) = json.loads(done.stdout)
        assert (result["rows"], result["labelled"], result["rejected"]) == (51, 50, 2), missing
        assert "the first, row 50: not JSON" in done.stderr
    learned = run("train", path, "--out", tmp_path / "m.driftway", "--json")
    assert json.loads(learned.stdout)["rows"] == 50


def test_other_events_are_refused_with_the_options_to_give(tmp_path: Path) -> None:
    path = tmp_path / "shop.jsonl"
    path.write_text('{"amount":3,"y":1}\n' * 200)
    with pytest.raises(UsageFailure, match="give the features to learn from with --feature; driftway schema infer"):
        open_stream(str(path))


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-8-sig"])
def test_encodings_of_windows_are_read(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_bytes('{"x":[1,2],"y":0}\r\n{"x":[1,3],"y":1}\r\n'.encode(encoding))
    (block,) = open_stream(str(path)).blocks()
    assert (block.X.tolist(), block.y.tolist()) == ([[1, 2], [1, 3]], [0, 1])


@pytest.mark.parametrize("text", ['{"x":[1],"y":0};\n', "\x1e{}\n", "[[1,2],[3,4]]\n"])
def test_the_refusal_of_lines_that_are_no_events_shows_them(tmp_path: Path, text: str) -> None:
    path = tmp_path / "rows.json"
    path.write_text(text)
    with pytest.raises(UsageFailure, match="must have a JSON object per line; its first line is "):
        open_stream(str(path))


def test_output_files_never_overwrite_the_rows(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("a,y\n" + "".join(f"{i},{i % 2}\n" for i in range(20)))
    before = path.read_bytes()
    link = tmp_path / "link.csv"
    link.symlink_to(path)
    for command in (
        ("replay", path, "--dry-run", link),
        ("replay", path, "--raw", "--dry-run", path),
        ("evaluate", path, "--learner", "pa1", "--scores", link),
        ("evaluate", link, "--learner", "pa1", "--csv", path),
    ):
        done = run(*command)
        assert done.exit_code == 2
        assert "the rows are read from this file" in done.stderr
        assert path.read_bytes() == before


def test_output_files_never_overwrite_a_model_file_or_each_other(tmp_path: Path) -> None:
    rows, model, plan = tmp_path / "rows.csv", tmp_path / "a.driftway", tmp_path / "plan.json"
    rows.write_text("a,y\n" + "".join(f"{i},{i % 2}\n" for i in range(20)))
    assert run("train", rows, "--out", model).exit_code == 0
    plan.write_text("{}")
    before = rows.read_bytes(), model.read_bytes()
    other = "another option names this file"
    for command, sentence in (
        (("evaluate", rows, "--warm-start", model, "--scores", model), other),
        (("evaluate", rows, "--warm-start", model, "--csv", model), other),
        (("evaluate", rows, "--plan", plan, "--points", plan), other),
        (("evaluate", "rows", "--data-dir", tmp_path, "--csv", rows), "the rows are read from this file"),
        (("evaluate", rows, "--scores", tmp_path / "x", "--csv", f"{tmp_path}/./x"), "two options write"),
        (
            ("evaluate", "--topic", "T", "--group", "g", "--learner", "pa1", "--csv", tmp_path / "none" / "x"),
            "there is no directory",
        ),
        (("train", rows, "--out", rows, "--force"), "the rows are read from this file"),
    ):
        done = run(*command)
        assert done.exit_code == 2
        assert sentence in done.stderr
        assert (rows.read_bytes(), model.read_bytes()) == before
    both = run("evaluate", rows, "--learner", "pa1", "--scores", "/dev/null", "--csv", "/dev/null")
    assert both.exit_code == 0
