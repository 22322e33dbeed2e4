"""CSV files as spreadsheets, data frames and databases write them: read, or refused with what to do."""

from __future__ import annotations

import json
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from driftway.producers.streams import blanks, open_events, open_stream
from driftway.producers.streams.tables import csv_table
from driftway.producers.streams.tables.csv_table import CsvTable
from driftway.worker.errors import UsageFailure
from tests.support.examples import repetitions

ROWS = [(6.463, -1.148, "DOWN"), (12.008, 2.294, "UP"), (-9.5, 0.203, "UP"), (1e-3, -7.0, "DOWN")]
X, Y = np.array([row[:2] for row in ROWS]), np.array([row[2] == "UP" for row in ROWS], float)
PLAIN = "a,b,y\n" + "".join(f"{a},{b},{y}\n" for a, b, y in ROWS)


def comma(number: float) -> str:
    return f"{number}".replace(".", ",")


def body(line: str) -> str:
    return "".join(line.format(a=a, b=b, y=y, A=comma(a), B=comma(b), i=i) for i, (a, b, y) in enumerate(ROWS))


def both(path: Path, **options: Any) -> tuple[Any, list[dict[str, Any]]]:
    """Read a file as numbers and as events; the numbers must be those that are expected, and equal in the events."""
    stream = open_stream(str(path), labels=("DOWN", "UP"), **options)
    blocks = list(stream.blocks())
    np.testing.assert_array_equal(np.concatenate([block.X for block in blocks]), X)
    np.testing.assert_array_equal(np.concatenate([block.y for block in blocks]), Y)
    file = open_events(str(path), label="y", labels=("DOWN", "UP"), **options)
    rows = [json.loads(row) for block in file.blocks() for row in block]
    assert file.notes == stream.notes
    for j, name in enumerate(stream.feature_names):
        assert [row[name] for row in rows] == X[:, j].tolist()
    assert [row["y"] for row in rows] == [row[2] for row in ROWS]
    return stream, rows


@pytest.mark.parametrize(
    ("text", "note"),
    [
        (PLAIN, None),
        ("\ufeff" + PLAIN, None),
        (PLAIN.replace("\n", "\r\n"), None),
        (PLAIN.replace("\n", "\r"), None),
        ("\n\n" + PLAIN, None),
        ("a,b,y\n\n" + body("{a},{b},{y}\n"), None),
        ("# made by x\n# v2\n" + PLAIN, "lines that begin with # are left out"),
        ("a,b,y\n" + body("{a},{b},{y}\n# page {i}\n"), "lines that begin with # are left out"),
        (PLAIN.replace("\n", "\n \n") + "\t\n\x1a", None),
        (PLAIN.replace("b,y", "b,y,"), None),
        ("a, b, y\n" + body('{a}, {b}, "{y}"\n'), None),
        ('"a", "b", "y"\n' + body('"{a}", "{b}",\t"{y}"\n'), None),
        (PLAIN.replace(",", ";"), "its cells are separated by semicolons"),
        (PLAIN.replace(",", "\t"), "its cells are separated by tabs"),
        (PLAIN.replace(",", "|"), "its cells are separated by bars"),
        ("a b y\n" + body("{a} {b} {y}\n"), "its cells are separated by blanks"),
        ("     a    b  y\n" + body("{a:>8} {b:>8} {y:>5}  \n"), "its cells are separated by blanks"),
        ("a b y\n" + body("{a}\t{b} \t {y}\r\n"), "its cells are separated by blanks"),
        ("a;b;y\n" + body("{A};{B};{y}\n"), "its numbers have decimal commas"),
        ("a\tb\ty\n" + body("{A}\t{B}\t{y}\n"), "its numbers have decimal commas"),
        ("a,b,y\n" + body('"{A}","{B}",{y}\n'), "its numbers have decimal commas"),
        ("a;b;y\n" + body("{A} €;{B};{y}\n"), "its numbers have decimal commas"),
        ("a,b,y\n" + body("${a},{b},{y}\n"), None),
        ("| a | b | y |\n|---:|---:|---|\n" + body("| {a} | {b} | {y} |\n"), "its last column has neither a name nor"),
        ("sep=;\na;b;y\n" + body("{a};{b};{y}\n"), "its cells are separated by semicolons"),
        ('"a", "b", "y"\n' + body("{a}, {b}, {y}\n"), None),
        ("a, b, y\n" + body("{a}, {b}, {y}\n"), None),
        ('"a","b","y"\n' + body('"{a}","{b}","{y}"\n'), None),
        ("'a','b','y'\n" + body("'{a}','{b}','{y}'\n"), "its quotes are single ones"),
        (",a,b,y\n" + body("{i},{a},{b},{y}\n"), "its first column has no name"),
        ("Unnamed: 0,a,b,y\n" + body("{i},{a},{b},{y}\n"), "its first column has no name"),
        ('"a","b","y"\n' + body('"row {i}",{a},{b},{y}\n'), "its first column has no name"),
        ("a,b,y\n" + body("{a},{b},{y},\n"), "its last column has neither a name nor values"),
        ("a,b,y,\n" + body("{a},{b},{y},\n"), "its last column has neither a name nor values"),
        ("a,,b,y\n" + body("{a},,{b},{y}\n"), "its column 2 has neither a name nor values"),
    ],
)
def test_the_dialect_of_a_file_is_detected(tmp_path: Path, text: str, note: str | None) -> None:
    path = tmp_path / "x.csv"
    path.write_bytes(text.encode())
    stream, _ = both(path)
    assert (not stream.notes) == (note is None)
    assert note is None or any(note in said for said in stream.notes)


@pytest.mark.parametrize(
    ("encoding", "said"),
    [("utf-16", "UTF-16"), ("utf-16-le", "UTF-16"), ("utf-16-be", "UTF-16"), ("cp1252", "Windows-1252")],
)
def test_the_encoding_is_detected_and_reported(tmp_path: Path, encoding: str, said: str) -> None:
    path = tmp_path / "x.csv"
    path.write_bytes(PLAIN.replace("a,", "größe,", 1).encode(encoding))
    stream, rows = both(path)
    assert stream.feature_names == ("größe", "b")
    assert stream.notes == (f"its text is read as {said}",)
    assert rows[0]["größe"] == ROWS[0][0]
    path.write_bytes(PLAIN.replace("a,", "größe,", 1).encode("cp850"))
    assert open_stream(str(path), labels=("DOWN", "UP"), reading={"encoding": "cp850"}).feature_names[0] == "größe"
    with pytest.raises(UsageFailure, match="there is no encoding 'klingon'"):
        open_stream(str(path), reading={"encoding": "klingon"})


def test_the_refusal_of_late_bytes_that_are_not_utf_8_names_the_option(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_bytes(b"a,note,y\n" + b"1,x,0\n" * 100_000 + "2,ö,1\n".encode("latin-1"))
    with pytest.raises(UsageFailure, match="is not UTF-8 in all of its rows: name its encoding with --encoding"):
        list(open_events(str(path)).blocks())
    blocks = list(open_events(str(path), reading={"encoding": "latin-1"}).blocks())
    assert json.loads(list(blocks[-1])[-1]) == {"a": 2, "note": "ö", "y": 1}


def test_options_name_what_cannot_be_detected(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text(body("{A}:{B}:{y}\n"))
    reading = {"columns": "a,b,y", "separator": ":", "decimal": "comma"}
    assert both(path, reading=reading)[0].notes == ()
    path.write_text(body("{a},{b},{y}\n"))
    both(path, reading={"columns": "a,b,y"})
    path.write_text(PLAIN)
    both(path, reading={"columns": "a,b,y"})  # as the header, which is then no row
    for given, sentence in (
        ({"columns": "a,b"}, "--columns names 2 columns, the rows of .* have 3"),
        ({"columns": "a,a,y"}, "--columns names every column once, got 'a'"),
        ({"separator": "::"}, "--separator is one ASCII character or one of comma"),
        ({"separator": "§"}, "--separator is one ASCII character or one of comma"),
        *(({"encoding": name}, f"there is no encoding '{name}'") for name in ("hex", "idna", "rot13", "nope")),
    ):
        with pytest.raises(UsageFailure, match=sentence):
            open_stream(str(path), reading=given)


@pytest.mark.parametrize(
    ("text", "columns", "rows"),
    [
        ("# made by x\n# a, b ,y\n" + body("{a},{b},{y}\n"), ("a", "b", "y"), 4),
        ("1990,1991,y\n" + body("{a},{b},{y}\n"), ("1990", "1991", "y"), 4),
        ("0,1,2\n1.5,2,0\n3,1,1\n4,4,4\n", ("0", "1", "2"), 3),
        ("a\x0cb,c\x85\u2028,y\n" + body("{a},{b},{y}\n"), ("a\x0cb", "c", "y"), 4),
    ],
)
def test_names_are_found_in_headers_and_comments(
    tmp_path: Path, text: str, columns: tuple[str, ...], rows: int
) -> None:
    path = tmp_path / "x.csv"
    path.write_bytes(text.encode())
    file = open_events(str(path))
    assert file.columns == columns
    assert sum(len(block) for block in file.blocks()) == rows


def test_many_columns_of_other_spellings_are_read_in_few_passes(tmp_path: Path) -> None:
    path, n = tmp_path / "x.csv", 400
    lines = [",".join(["-" if k % 7 == 3 else f"{k / 3}"] * n) for k in range(50)]
    path.write_text(",".join(f"f{i}" for i in range(n)) + ",y\n" + "".join(f"{line},1\n" for line in lines))
    opened = 0

    def counted(*given: Any) -> Any:
        nonlocal opened
        opened += 1
        return read(*given)

    read, CsvTable._open = CsvTable._open, counted  # type: ignore[method-assign]
    try:
        X = np.concatenate([block.X for block in open_stream(str(path)).blocks()])
    finally:
        CsvTable._open = read  # type: ignore[method-assign]
    assert X.shape == (50, n)
    assert np.isnan(X).any(axis=1).tolist() == [k % 7 == 3 for k in range(50)]
    assert X[1].tobytes() == np.full(n, 1 / 3).tobytes()
    assert opened < 8


@pytest.mark.parametrize("first", ["t0,", ""])
def test_columns_of_a_file_without_a_header_are_numbered(tmp_path: Path, first: str) -> None:
    path = tmp_path / "x.csv"
    path.write_text(body(first + "{a},{b},{y}\n"))
    with pytest.raises(UsageFailure, match=r"has no label column 'y'.* its first line looks like a row") as failure:
        open_stream(str(path))
    assert "--columns A,B,.. names them" in str(failure.value)
    places = ["c0"] * bool(first)
    last = 2 + len(places)
    stream = open_stream(str(path), label=f"c{last}", labels=("DOWN", "UP"), drop=places)
    np.testing.assert_array_equal(next(stream.blocks()).X, X)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("a,a,y\n" + body("{a},{b},{y}\n"), "x.csv has two columns named 'a'"),
        (PLAIN + "300 rows selected\n", "a row has 1 of 3 cells: '300 rows selected'; if it is not a row, remove it"),
        (PLAIN + PLAIN, "holds 'a', which is not a number: it is the column's name, so the file has a second header"),
        ("#only\n# comments\n", "x.csv is empty"),
        ("a,b,y\n", "x.csv has a header but no rows"),
        ("a," + PLAIN, "x.csv has 4 names in its header, 'a' the first, but 3 cells in its rows: correct its header"),
        (
            PLAIN.replace(",", "~"),
            "columns: a~b~y; its rows have one cell each; --separator CHAR names another separator",
        ),
        ("My table\n" + PLAIN, "has 1 name in its header, 'My table' the first, but 3 cells in its rows"),
    ],
)
def test_an_unreadable_file_is_refused_with_the_reason(tmp_path: Path, text: str, sentence: str) -> None:
    path = tmp_path / "x.csv"
    path.write_text(text)
    with pytest.raises(UsageFailure) as failure:
        list(open_stream(str(path), labels=("DOWN", "UP")).blocks())
    assert sentence in str(failure.value)


def test_thousands_separators_determine_the_decimal_mark(tmp_path: Path) -> None:
    for text, values in (
        ("a;y\n1.234,5;0\n1.000;1\n2.000;0\n", [1234.5, 1000, 2000]),
        ('a,y\n"1,234.5",0\n"1,000",1\n2000,0\n', [1234.5, 1000, 2000]),
        ('a,y\n"1,000",0\n"2,500",1\n"3,125",0\n', [1000, 2500, 3125]),
        ("a;y\n1,000;0\n2,500;1\n3,125;0\n", [1, 2.5, 3.125]),
        ("a;b;y\n1.234;2,5;0\n12.500;3,5;1\n1.000;4;0\n", [1234, 12500, 1000]),
        ("a;b;y\n0.234;2,5;0\n1.500;3;1\n0.125;4;0\n", [0.234, 1.5, 0.125]),
        ('a,b,y\n1.234,"3,4",0\n2.500,"5,6",1\n3.125,"7,8",1\n', [1.234, 2.5, 3.125]),
    ):
        (path := tmp_path / "x.csv").write_text(text)
        assert [json.loads(row)["a"] for block in open_events(str(path)).blocks() for row in block] == values, text
        assert next(open_stream(str(path), drop=["b"] if "b" in text else []).blocks()).X[:, 0].tolist() == values, text


@pytest.mark.parametrize(
    ("cell", "text", "note"),
    [
        (r'"say \"hi\", {i}"', 'say "hi", {i}', "its quotes inside of quotes have backslashes before them"),
        (r'"a \"b\" \\"', 'a "b" \\', "its quotes inside of quotes have backslashes before them"),
        (r'"C:\dir\"', "C:\\dir\\", None),
        (r'"a ""b"", \"', 'a "b", \\', None),
    ],
)
def test_quotes_in_quotes_are_recognised(tmp_path: Path, cell: str, text: str, note: str | None) -> None:
    path = tmp_path / "x.csv"
    path.write_text("name,b,y\n" + "".join(f"{cell},{i},0\n".replace("{i}", str(i)) for i in range(5)))
    file = open_events(str(path))
    rows = [json.loads(row) for block in file.blocks() for row in block]
    assert rows == [{"name": text.replace("{i}", str(i)), "b": i, "y": 0} for i in range(5)]
    assert file.notes == (() if note is None else (note,))


@pytest.mark.parametrize(
    ("text", "rows", "notes"),
    [
        ("color,y\n#ff0000,0\n#00ff00,1\n", [("#ff0000", 0), ("#00ff00", 1)], 0),
        ("#,y\n5,0\n6,1\n7,0\n8,1\n", [(5, 0), (6, 1), (7, 0), (8, 1)], 2),
        ("a,y\n5,0\n# a page\n6,1\n", [(5, 0), (6, 1)], 1),
    ],
)
def test_a_comment_character_may_be_part_of_the_rows(
    tmp_path: Path, text: str, rows: list[tuple[Any, int]], notes: int
) -> None:
    path = tmp_path / "x.csv"
    path.write_text(text)
    file = open_events(str(path))
    assert file.columns is not None
    assert file.columns[1] == "y"
    assert [tuple(json.loads(row).values()) for block in file.blocks() for row in block] == rows
    assert len(file.notes) == notes, file.notes


def test_newlines_in_quotes_and_lines_of_any_length(tmp_path: Path) -> None:
    """The sample does not show it; rows that were read already are not returned again."""
    path, n = tmp_path / "x.csv", 120_000
    note = "x\n" + "9,9,q,1\n" * 3 + "end"
    path.write_text("a,b,note,y\n" + "".join(f"{i},2,q,0\n" for i in range(n)) + f'{n},2,"{note}",1\n' * 2)
    blocks = list(open_stream(str(path), drop=["note"]).blocks())
    assert np.concatenate([block.X[:, 0] for block in blocks]).tolist() == [*range(n), n, n]
    assert json.loads(list(list(open_events(str(path)).blocks())[-1])[-1])["note"] == note
    path.write_text("a,b,note,y\n" + "1,2,q,0\n" * n + f'3,4,"{"long " * 600_000}",1\n')
    assert list(open_stream(str(path), drop=["note"]).blocks())[-1].X[-1].tolist() == [3, 4]


@pytest.mark.random_cases
def test_a_late_cell_with_another_spelling_of_a_number_is_read(tmp_path: Path) -> None:
    path, n = tmp_path / "x.csv", repetitions(200_000, 80_000)  # types are guessed from the first megabyte
    path.write_text("a,y\n" + "".join(f"{i / 7},0\n" for i in range(n)) + '"1,234.5",1\n-,0\n7%,1\n')
    found = np.concatenate([block.X[:, 0] for block in open_stream(str(path)).blocks()])
    assert found[:n].tobytes() == (np.arange(n) / 7).tobytes()
    np.testing.assert_array_equal(found[n:], [1234.5, np.nan, 7])
    rows = [json.loads(row) for block in open_events(str(path)).blocks() for row in block]
    assert [row["a"] for row in rows[n:]] == [1234.5, None, 7]
    assert [row["a"] for row in rows[:3]] == [0, 1 / 7, 2 / 7]


def test_words_for_missing_values_are_text_among_words(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text("state,size,code,y\nunknown,-,01,0\nnone,3,02,1\nNA,missing,-,1\n")
    rows = [json.loads(row) for block in open_events(str(path)).blocks() for row in block]
    assert rows == [
        {"state": "unknown", "size": None, "code": "01", "y": 0},
        {"state": "none", "size": 3, "code": "02", "y": 1},
        {"state": None, "size": None, "code": None, "y": 1},
    ]
    named = open_events(str(path), reading={"missing_values": "unknown,-"}, values={"state": ("unknown", "NA")})
    states = [json.loads(row)["state"] for block in named.blocks() for row in block]
    assert states == ["unknown", "none", "NA"]


def test_no_file_object_outlives_a_reading_that_ends_early(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A thread of the parser that uses one while the interpreter ends aborts the process."""
    files = list[weakref.ref[Any]]()

    class WatchedFile(blanks.ChangedFile):
        def __init__(self, *arguments: Any) -> None:
            super().__init__(*arguments)
            files.append(weakref.ref(self))

    monkeypatch.setattr(csv_table, "ChangedFile", WatchedFile)
    path = tmp_path / "x.dat"
    path.write_text("a b y\n" + "".join(f"{i}   {i}.5 {i % 2}\n" for i in range(300_000)))
    for _ in range(5):
        blocks = open_stream(str(path)).blocks()
        next(blocks)
        del blocks
    assert [reference() for reference in files] == [None] * 5


@pytest.mark.parametrize("encoding", ["utf-32", "utf-32-be"])
def test_utf_32_is_detected_by_its_byte_order_mark(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "x.csv"
    path.write_bytes(("\ufeff" * encoding.endswith("be") + PLAIN).encode(encoding))
    stream, _ = both(path)
    assert stream.notes == ("its text is read as UTF-32",)


def test_whole_numbers_of_thousands_of_digits_are_text_in_events(tmp_path: Path) -> None:
    """Python converts no integer of more than 4,300 digits."""
    (path := tmp_path / "x.csv").write_text("a,y\n" + "9" * 5000 + ",0\n-9223372036854775808,1\n")
    assert next(open_stream(str(path)).blocks()).X[:, 0].tolist() == [np.inf, -(2.0**63)]
    rows = [json.loads(row) for block in open_events(str(path)).blocks() for row in block]
    assert [row["a"] for row in rows] == ["9" * 5000, "-9223372036854775808"]
