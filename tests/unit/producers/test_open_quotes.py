"""CSV files that end inside of quotes: all rows behind the quote would be one cell, and lost without a word."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from driftway.producers.streams import open_events, open_stream
from driftway.worker.errors import UsageFailure

ROWS = "".join(f"{i},{i % 2},fine\n" for i in range(50))
NEVER = "the quote in line {} is never closed, so all that follows would be one cell: close or remove it"


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("a,y,c\n" + ROWS + '7,1,"4\n' + ROWS, 52),
        ("a,y,c\n" + ROWS + '7,1,"4', 52),
        ('a,y,c\n1,0,"x\ny"\n2,0,"""q"""\n' + ROWS + '7,1,"4\n' + ROWS, 55),
        ("# made by x\na,y,c\n" + ROWS + '7,1,"4 ""5""\n' + ROWS, 53),
        (("a;y;c\n" + ROWS + '7,1, "4\n' + ROWS).replace(",", ";"), 52),
        ("a,y,c\n" + ROWS + '7,1,"' + "long " * 600_000 + "\n" + ROWS, 52),
        ("a,y,c\n" + ROWS * 3000 + '7,1,"4\n' + ROWS, 150_002),
    ],
    ids=["rows", "end", "other quotes", "comment", "blank", "long", "late"],
)
def test_a_quote_that_is_never_closed_is_refused(tmp_path: Path, text: str, line: int) -> None:
    (path := tmp_path / "x.csv").write_text(text)
    (packed := tmp_path / "x.csv.gz").write_bytes(gzip.compress(text.encode()))
    for one in (path, packed):
        with pytest.raises(UsageFailure, match=NEVER.format(line)):
            list(open_stream(str(one), drop=["c"]).blocks())
        with pytest.raises(UsageFailure, match=NEVER.format(line)):
            list(open_events(str(one)).blocks())


def test_an_open_quote_in_a_column_that_is_read_is_shown_shortened(tmp_path: Path) -> None:
    """No row is lost then, so that the quotes are not counted."""
    (path := tmp_path / "x.csv").write_text("a,y\n1,0\n" + '2,"1\n' + "3,0\n" * 1000)
    for labels, why in ((None, "not a number"), (("0", "1"), "none of 0, 1")):
        with pytest.raises(UsageFailure, match=f"holds '.*, which is {why}") as caught:
            list(open_stream(str(path), labels=labels).blocks())
        assert len(str(caught.value)) < 400


@pytest.mark.parametrize(
    "text",
    [
        "a,y,c\n" + ROWS + '7,1,5" disk\n' + ROWS,
        "a,y,c\n" + ROWS + '7,1,"a ""b"" c"\n8,1,6\'2"\n' + ROWS,
        "a,y,c\n" + ROWS + '7,1,"' + "long " * 100_000 + '"\n8,1,5"\n',
    ],
)
def test_an_odd_number_of_quotes_may_be_right(tmp_path: Path, text: str) -> None:
    (path := tmp_path / "x.csv").write_text(text)
    rows = text.count("\n") - 1
    assert sum(len(block.y) for block in open_stream(str(path), drop=["c"]).blocks()) == rows
    assert sum(map(len, open_events(str(path)).blocks())) == rows


@pytest.mark.parametrize("separator", [",", ";"])
def test_quotes_that_are_text_do_not_join_rows(tmp_path: Path, separator: str) -> None:
    lines = ["a,note,y", '1,"so,0', "2,well,1", *(f'{i},"no,{i % 2}' for i in range(3, 8)), "9,or,0"]
    (path := tmp_path / "x.csv").write_text("\n".join(lines).replace(",", separator) + "\n")
    with pytest.raises(UsageFailure, match="the quote in line 2 is never closed"):
        list(open_events(str(path)).blocks())
    with pytest.raises(UsageFailure, match="the quote in line 2 is never closed"):
        list(open_stream(str(path), drop=["note"]).blocks())


def test_quotes_with_newlines_in_them_are_read(tmp_path: Path) -> None:
    (path := tmp_path / "x.csv").write_text('a,note,y\n1,"so\nit is",0\n2,"b, c\n,d",1\n')
    assert sum(len(block) for block in open_events(str(path)).blocks()) == 2
