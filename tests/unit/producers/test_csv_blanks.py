"""Blanks beside the cells of CSV files, which are no part of them: between aligned columns, and before quotes."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import pytest

from driftway.producers.streams import blanks, open_events, open_stream
from driftway.producers.streams.csv_dialect import dialect_of
from driftway.producers.streams.file_options import FileOptions


def test_blanks_before_quotes_are_ignored(tmp_path: Path) -> None:
    (path := tmp_path / "a.csv").write_text('t, u, y\n "a, b",  "c ""d"", e", 0\n"f, "" g", "h" , 1\n i, "", 0\n')
    rows = [json.loads(row) for block in open_events(str(path)).blocks() for row in block]
    assert [row[name] for row in rows for name in "tu"] == ["a, b", 'c "d", e', 'f, " g', "h", "i", None]
    path.write_text('t,u,y\n"a\nb, ""c"" d", "e, f",0\n5" g,\t"h",1\n"i","",0\n')
    rows = [json.loads(row) for block in open_events(str(path)).blocks() for row in block]
    assert [row[name] for row in rows for name in "tu"] == ['a\nb, "c" d', "e, f", '5" g', "h", "i", None]
    path.write_text('t,y\n"a\nb, ""c"" d",0\n"e",1\n')
    assert json.loads(next(open_events(str(path)).blocks())[0])["t"] == 'a\nb, "c" d'
    assert not dialect_of(path, FileOptions()).blanks_before_quotes


@pytest.mark.parametrize("chunk", [1, 2, 3, 7, 1000])
def test_runs_of_blanks_are_one_separator_wherever_a_chunk_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chunk: int
) -> None:
    monkeypatch.setattr(blanks, "CHUNK_CHARACTERS", chunk)
    path = tmp_path / "cars.data"
    path.write_text(' 18.0   8  "chevrolet  chevelle"\t1\n\n15.5\t 8  "buick"   0 \n9  4 "vw  1"  1', newline="")
    with blanks.ChangedFile(path, "utf8", partial(blanks.with_single_blanks, quote='"')) as file:
        assert file.read() == b'18.0 8 "chevrolet  chevelle" 1\n\n15.5 8 "buick" 0\n9 4 "vw  1" 1'


def test_numbers_before_a_tab_and_a_name_are_separate_columns(tmp_path: Path) -> None:
    """So cars are listed in one of the best-known files of that kind."""
    path = tmp_path / "cars.data"
    path.write_text("".join(f'{18 + i}.0   8   {i}.5      {i % 2}.   \t"ford {i}"\n' for i in range(9)))
    stream = open_stream(str(path), label="c3", drop=("c4",))
    (block,) = stream.blocks()
    assert block.X.tolist() == [[18.0 + i, 8.0, i + 0.5] for i in range(9)]
    assert block.y.tolist() == [float(i % 2) for i in range(9)]
    path.write_text(path.read_text().replace("3.5  ", "?    "))
    assert open_stream(str(path), label="c3", drop=("c4",)).feature_names == ("c0", "c1", "c2")


def test_numbers_between_blanks_with_gaps_in_all_columns_are_a_table(tmp_path: Path) -> None:
    """As measurements of semiconductors are published."""
    path = tmp_path / "secom.data"
    path.write_text(
        "".join(" ".join("NaN" if (i + j) % 3 == 2 else f"{i}.{j}" for j in range(5)) + "\n" for i in range(9))
    )
    stream = open_stream(str(path), label="c4")
    (block,) = stream.blocks()
    assert (block.X.shape, stream.notes[0]) == ((9, 4), "its cells are separated by blanks")
    assert block.X[1].tolist()[::2] == [1.0, 1.2]


def test_a_table_of_r_has_names_of_rows_and_none_for_them(tmp_path: Path) -> None:
    path = tmp_path / "cars.txt"
    path.write_text('"mpg" "cyl" "y"\n' + "".join(f'"Mazda RX{i}" {20 + i}.5 {i} {i % 2}\n' for i in range(9)))
    stream = open_stream(str(path))
    assert (stream.feature_names, stream.label_name) == (("mpg", "cyl"), "y")
    assert [block.X.tolist() for block in stream.blocks()] == [[[20.5 + i, float(i)] for i in range(9)]]
    path.write_text("price\n" + "12 EUR\n14 EUR\n" * 4)
    assert open_events(str(path)).columns == ("price",)


def test_null_cells_of_databases_are_missing_where_backslashes_keep_quotes(tmp_path: Path) -> None:
    """As MySQL and Snowflake write them: pyarrow made an N of them."""
    path, null = tmp_path / "a.csv", "\\N"
    path.write_text(f't,u,y\r\n"a \\"b\\", c",{null},0\r\n{null},"{null}x\r\n",{null}\r\n', newline="")
    (rows,) = open_events(str(path)).blocks()
    assert [json.loads(row) for row in rows] == [
        {"t": 'a "b", c', "u": None, "y": 0},
        {"t": None, "u": "Nx\r\n", "y": None},
    ]


@pytest.mark.parametrize("rule", ["|---|--:|:-:|", "| --- | --: | :-: |"])
def test_cells_of_a_table_of_markdown_are_trimmed(tmp_path: Path, rule: str) -> None:
    (path := tmp_path / "x.md").write_text(f"| a | c | y |\n{rule}\n| 1 | de | 0 |\n| 2 | fr | 1 |\n| 3 | us | 1 |\n")
    rows = [json.loads(row) for block in open_events(str(path)).blocks() for row in block]
    assert rows == [{"a": 1, "c": "de", "y": 0}, {"a": 2, "c": "fr", "y": 1}, {"a": 3, "c": "us", "y": 1}]
