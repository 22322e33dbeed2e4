"""Whether the first lines of a CSV file are names or rows, as public data sets have them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from driftway.producers.streams import open_events, open_stream
from driftway.worker.errors import UsageFailure

SECOND = "is left out as a second header"


def rows_of(path: Path, **options: Any) -> list[dict[str, Any]]:
    return [json.loads(row) for block in open_events(str(path), **options).blocks() for row in block]


@pytest.mark.parametrize(
    "lines",
    [
        ["e,x,s,n,t,p", "p,x,s,y,t,a", "e,b,s,w,t,l", "p,x,y,w,t,p", "e,x,s,g,f,n"],  # only words, one of them twice
        ["vhigh,low,2,2,small,low", "vhigh,low,2,4,big,med", "low,med,5more,more,big,low", "med,low,3,4,small,low"],
        ["ham\tGo there", "ham\tOk lar", "spam\tWin now", "ham\tGood night"],
        ["3,?,audi", "1,2,bmw", "4,5,vw", "2,2,bmw"],  # a gap in a column of numbers
        ["a,7,3,b", "c,?,9,d", "a,8,?,e", "f,2,6,b"],  # a gap in all columns of numbers
        ["NaN 1 x", "2 2 y", "3 1 x", "4 0 y"],
        ["9.37|0|fr|1", "4.5|3|de|0", "7|1|us|1", "2.25|0|de|1"],  # 0 and 1, as if they were places of columns
        ["\\N\t0\tfr\t1", "4.5\t3\tde\t0", "7\t1\tus\t1", "2.25\t0\tde\t1"],
        ["fr,0,1", "de,3,0", "fr,1,1", "de,0,1"],
    ],
)
def test_a_first_line_that_is_a_row_is_not_taken_for_the_header(tmp_path: Path, lines: list[str]) -> None:
    (path := tmp_path / "x.data").write_text("\n".join(lines))
    rows = rows_of(path)
    assert len(rows) == len(lines)
    assert list(rows[0])[:2] == ["c0", "c1"]
    with pytest.raises(UsageFailure, match=r"no label column 'y'.* its first line looks like a row"):
        open_stream(str(path))


@pytest.mark.parametrize(
    "text",
    [
        "name,colour\nred,blue\nblue,red\nred,red\nblue,blue\n",
        "y,n,z\ny,n,a\nn,n,b\ny,y,c\nn,y,d\n".replace("y,n,z", "vote,crime,z"),
        "a,b\nx,y\na,b\nz,w\nu,v\n",  # the header once more
        ",1.5,2.5,3.5\n0,7,8,9\n1,4,5,6\n2,6,6,7\n3,1,1,1\n",  # numbers as names beside an index
        "colour,2019\nred,7\nblue,2\nred,\ngreen,9\n".replace("2019", "y"),
    ],
)
def test_a_header_stays_a_header(tmp_path: Path, text: str) -> None:
    (path := tmp_path / "x.csv").write_text(text)
    assert len(rows_of(path)) == text.count("\n") - 1


@pytest.mark.parametrize(
    ("second", "left_out"),
    [
        ("ID,LIMIT,SEX,default payment", True),
        (",-,unknown,?", False),
        (",1,LIMIT,no", False),
        ("s,km,kg,", True),
        ("s,degC,%,-", True),
        ("id,,,", False),
    ],
)
def test_a_second_header_is_left_out_and_told(tmp_path: Path, second: str, left_out: bool) -> None:
    body = "".join(f"{i},{i + 1},{i / 2},{i % 2}\n" for i in range(9))
    (path := tmp_path / "x.csv").write_text(
        f",X1,X2,y\n{second.replace(',', 'id,', 1) if left_out else second}\n{body}"
    )
    assert len(rows_of(path)) == 9 + (not left_out)
    assert any(SECOND in note for note in open_events(str(path)).notes) == left_out
    if left_out:
        (block,) = open_stream(str(path)).blocks()
        assert block.X.tolist() == [[i + 1.0, i / 2] for i in range(9)]


def test_the_words_that_a_user_names_are_gaps_not_a_second_header(tmp_path: Path) -> None:
    (path := tmp_path / "x.csv").write_text("a,b,y\nlost,lost,lost\n" + "1,2,0\n3,4,1\n" * 4)
    assert len(rows_of(path)) == 8
    assert len(rows_of(path, reading={"missing_values": "lost"})) == 9


def test_the_refusal_without_a_label_names_a_likely_one_and_the_last(tmp_path: Path) -> None:
    (path := tmp_path / "x.csv").write_text("Class," + ",".join(f"V{i}" for i in range(20)) + "\n" + "1," * 20 + "0\n")
    with pytest.raises(UsageFailure, match=r"with --label, as --label 'Class'; columns: Class, V0, .*V6, \.\., V19$"):
        open_stream(str(path))


def test_missing_words_behind_a_separator_and_a_blank_are_missing_in_events(tmp_path: Path) -> None:
    (path := tmp_path / "adult.data").write_text("age, work, y\n39, Private, 0\n50, ?, 1\n38, NA, 0\n?, State, 1\n")
    assert [row["work"] for row in rows_of(path)] == ["Private", None, None, "State"]
    assert [row["age"] for row in rows_of(path)] == [39, 50, 38, None]
    kept = rows_of(path, values={"work": ("NA", "Private")})
    assert [row["work"] for row in kept] == ["Private", None, "NA", "State"]


@pytest.mark.parametrize("sign", ["%", "//", "|", "--", "!"])
def test_lines_of_comments_ahead_of_a_header_are_left_out(tmp_path: Path, sign: str) -> None:
    (path := tmp_path / "x.csv").write_text(
        f"{sign} exported by a tool\n{sign} 2026-11-24, version 3\na,b,y\n1,2,0\n3,4,1\n"
    )
    assert rows_of(path) == [{"a": 1, "b": 2, "y": 0}, {"a": 3, "b": 4, "y": 1}]
    assert f"its first lines, which begin with {sign}, are left out" in open_events(str(path)).notes
    assert open_stream(str(path)).feature_names == ("a", "b")


def test_a_comment_ahead_of_rows_is_left_out(tmp_path: Path) -> None:
    rows = "25, Private, <=50K.\n38, Local, >50K.\n44, Local, >50K.\n18, Private, <=50K.\n"
    (path := tmp_path / "adult.test").write_text(f"|1x3 Cross validator\n{rows}")
    assert [row["c0"] for row in rows_of(path)] == [25, 38, 44, 18]


@pytest.mark.parametrize(
    "text",
    [
        "%a,b,y\n1,2,0\n3,4,1\n",
        "|a|b|y|\n|1|2|0|\n|3|4|1|\n",
        "!x,y\n!1,0\n!2,1\n",
        "--a;b\n1;2\n3;4\n",
        "% of all\n1\n2\n",
    ],
)
def test_a_header_that_begins_like_a_comment_is_kept(tmp_path: Path, text: str) -> None:
    (path := tmp_path / "x.csv").write_text(text)
    assert len(rows_of(path)) == 2
    assert not any("are left out" in note and "lines" in note for note in open_events(str(path)).notes)


def test_a_title_padded_with_separators_is_refused(tmp_path: Path) -> None:
    (path := tmp_path / "x.csv").write_text("Report,,\nFrom 2026,,\na,b,y\n1,2,0\n3,4,1\n")
    with pytest.raises(UsageFailure, match="has 1 name in its header, 'Report' the first, but 3 cells in its rows"):
        open_events(str(path))


def test_rows_that_begin_with_a_sign_of_comments_are_no_comments(tmp_path: Path) -> None:
    (path := tmp_path / "x.csv").write_text("a,b,y\n1,2,0\n#DIV/0!,4,1\n5,6,1\n#VALUE!,6,1\n")
    assert open_events(str(path)).notes == ()
    assert [row["a"] for row in rows_of(path)] == [1, None, 5, None]
