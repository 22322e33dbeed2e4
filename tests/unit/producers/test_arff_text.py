"""ARFF as Weka reads it: headers, quotes, comments, tabs, sparse rows, weights and dates."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from driftway.producers.streams import open_events, open_stream
from driftway.worker.errors import UsageFailure

HEADER = "@relation r\n@attribute u real\n@attribute v real\n@attribute class {pos,neg}\n@data\n"
DATA = "1.5,-2,pos\n0.25,?,neg\n"


def rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(row) for block in open_events(str(path)).blocks() for row in block]


@pytest.mark.parametrize(
    ("header", "data"),
    [
        (HEADER, DATA),
        (HEADER.replace("{pos,neg}", "{ pos , neg }").upper().replace("POS", "pos").replace("NEG", "neg"), DATA),
        (HEADER.replace("class {", "class{"), DATA),
        (HEADER.replace("class {", "'class'{"), DATA),
        (HEADER.replace("class {", '"class"{'), DATA),
        (HEADER.replace("u real", "u real [-5,5] % range").replace("neg}", "neg} % the {class}"), DATA),
        (HEADER.replace("@attribute ", "@attribute\t").replace(" real", "\treal"), DATA.replace(",", "\t")),
        (HEADER, DATA.replace("pos\n", "pos % the {first}\n% a line\n\n")),
        (HEADER.replace("real", "real [-5, 5]").replace("@data", "@inputs u, v\n@outputs class\n@data"), DATA),
        (HEADER.replace("\n", "\r\n"), DATA.replace("\n", "\r\n")),
        (HEADER, DATA.replace("pos", "'pos'").replace("neg", '"neg"')),
        (HEADER, "{0 1.5, 1 -2}\n{0 0.25,1 ?,2 neg}\n"),
        (HEADER, DATA.replace("pos\n", "pos, {2}\n")),
        (HEADER, DATA.replace("\n", ",\n")),
        (HEADER, DATA.replace("pos\n", "'pos',\n").replace("?", "NaN")),
    ],
)
def test_rows_are_those_that_weka_reads(tmp_path: Path, header: str, data: str) -> None:
    path = tmp_path / "a.arff"
    path.write_bytes((header + data).encode())
    stream = open_stream(str(path))
    (block,) = stream.blocks()
    assert [name.lower() for name in stream.feature_names] == ["u", "v"]
    assert stream.labels == ("pos", "neg")
    assert [block.X[0].tolist(), block.X[1, 0], block.y.tolist()] == [[1.5, -2], 0.25, [0, 1]]
    assert block.X[1, 1] != block.X[1, 1]
    assert [list(row.values()) for row in rows(path)] == [[1.5, -2.0, "pos"], [0.25, None, "neg"]]
    assert ("the weights of its rows are left out" in stream.notes) == ("{2}" in data)


def test_values_declared_twice_count_once_and_attributes_named_twice_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.arff"
    path.write_text("@relation r\n@attribute u {b,a,b}\n@attribute class {x,y,x}\n@data\nb,x\na,y\n")
    stream = open_stream(str(path))
    (block,) = stream.blocks()
    assert (stream.labels, block.X.tolist(), block.y.tolist()) == (("x", "y"), [[0], [1]], [0, 1])
    path.write_text(HEADER + "{0 1.5, 2 neg, 0 2.5}\n")
    with pytest.raises(UsageFailure, match="a sparse row names attribute 0 twice"):
        list(open_stream(str(path)).blocks())


def test_truth_values_match_the_declared_ones_in_any_case(tmp_path: Path) -> None:
    path = tmp_path / "a.arff"
    path.write_text("@relation r\n@attribute u {TRUE,FALSE}\n@attribute c {no,yes}\n@data\ntrue,Yes\nFalse,no\n")
    (block,) = open_stream(str(path)).blocks()
    assert (block.X.tolist(), block.y.tolist()) == ([[0], [1]], [1, 0])
    assert rows(path) == [{"u": "TRUE", "c": "yes"}, {"u": "FALSE", "c": "no"}]


def test_the_label_is_the_last_attribute_and_another_called_y_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "a.arff"
    path.write_text("@relation r\n@attribute x real\n@attribute y real\n@attribute class {0,1}\n@data\n1,2,1\n")
    stream = open_stream(str(path))
    assert (stream.feature_names, stream.label_name) == (("x", "y"), "class")
    assert stream.notes == ("its label is the last attribute, 'class'; --label y takes the other",)
    chosen = open_stream(str(path), label="y")
    assert (chosen.label_name, chosen.notes) == ("y", ())
    assert open_events(str(path)).notes == ()


@pytest.mark.parametrize(("name", "told"), [("w39", True), ("Class", False), ("target", False)])
def test_a_label_without_a_usual_name_is_told(tmp_path: Path, name: str, told: bool) -> None:
    """As of files with several labels in front, whose last attribute is one more word."""
    (path := tmp_path / "a.arff").write_text(
        f"@relation 'a: -C 2'\n@attribute u {{0,1}}\n@attribute {name} {{0,1}}\n@data\n1,0\n"
    )
    stream = open_stream(str(path))
    assert stream.notes == ((f"its label is the last attribute, '{name}'",) if told else ())


def test_a_label_that_is_not_nominal_next_to_a_nominal_one_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "a.arff"
    path.write_text("@relation r\n@attribute class {0,1}\n@attribute x real\n@data\n1,2\n")
    stream = open_stream(str(path))
    assert (stream.feature_names, stream.label_name) == (("class",), "x")
    assert stream.notes == ("its label is 'x', which is not nominal; --label 'class' takes another",)


@pytest.mark.parametrize(
    ("form", "text", "moment"),
    [
        ("", "2026-11-26T08:30:00", "2026-11-26T08:30:00"),
        (" 'dd.MM.yyyy HH:mm'", "'26.11.2026 08:30'", "2026-11-26T08:30:00"),
        (' "yyyy-MM-dd"', "2026-11-26", "2026-11-26T00:00:00"),
        (' "GG yyyy"', '"AD 2026"', "AD 2026"),
    ],
)
def test_dates_are_times_of_iso_8601(tmp_path: Path, form: str, text: str, moment: str) -> None:
    path = tmp_path / "a.arff"
    path.write_text(f"@relation r\n@attribute when date{form}\n@attribute y real\n@data\n{text},1\n")
    assert rows(path) == [{"when": moment, "y": 1}]
    with pytest.raises(UsageFailure, match="feature attribute 'when' is date; only numeric and nominal"):
        open_stream(str(path))


def test_two_attributes_of_one_name_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.arff"
    path.write_text(HEADER.replace("v real", "u real") + DATA)
    for opened in (open_stream, open_events):
        with pytest.raises(UsageFailure, match="has two attributes named 'u'"):
            opened(str(path))


@pytest.mark.parametrize("cell", ["1_000", "\u0663", "1_0.5", "1e1_0"])
def test_what_only_python_takes_for_a_number_is_refused(tmp_path: Path, cell: str) -> None:
    (path := tmp_path / "x.arff").write_text(HEADER + f"{cell},2,pos\n1,2,neg\n")
    with pytest.raises(UsageFailure, match=f"attribute 'u' holds '{cell}', which is not a number"):
        list(open_stream(str(path)).blocks())
    with pytest.raises(UsageFailure, match=f"attribute 'u' holds '{cell}', which is not a number"):
        rows(path)


def test_names_of_values_may_have_underscores_and_other_letters(tmp_path: Path) -> None:
    (path := tmp_path / "x.arff").write_text(
        HEADER.replace("pos", "a_b").replace("neg", "\u00e9") + "1.5,2,a_b\n1,12,\u00e9\n"
    )
    (block,) = open_stream(str(path)).blocks()
    assert (block.X.tolist(), block.y.tolist()) == ([[1.5, 2.0], [1.0, 12.0]], [0.0, 1.0])


def test_numbers_of_thousands_of_digits_are_read(tmp_path: Path) -> None:
    long = "9" * 5000
    (path := tmp_path / "x.arff").write_text(HEADER + f"{long},2,pos\n18446744073709551616,2,neg\n")
    (block,) = open_stream(str(path)).blocks()
    assert block.X[:, 0].tolist() == [float("inf"), 2.0**64]
    assert [row["u"] for row in rows(path)] == [long, 2**64]
