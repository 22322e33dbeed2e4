"""What the text of a cell means, and which class a label names."""

from __future__ import annotations

import math

import pytest

from driftway.producers.streams import cells
from driftway.producers.streams.cells import MissingWords
from driftway.producers.streams.labels import LabelReader
from driftway.worker.errors import UsageFailure


@pytest.mark.parametrize(
    ("text", "decimal", "number"),
    [
        ("1.5", ".", 1.5), (" +1e3 ", ".", 1000.0), ("007", ".", 7.0), (".5", ".", 0.5), ("5.", ".", 5.0),
        ("-inf", ".", -math.inf), ("12.5 %", ".", 12.5), ("6%", ".", 6.0), ("1,234.5", ".", 1234.5),
        ("1,234,567", ".", 1234567.0), ("1 234.5", ".", 1234.5), ("1'234", ".", 1234.0), ("1,5", ",", 1.5),
        ("1.234,5", ",", 1234.5), ("1 234,5", ",", 1234.5), ("-1.234.567", ",", -1234567.0), ("12,5%", ",", 12.5),
        ("1.000", ",", 1000.0), ("1.5", ",", 1.5), ("1,000", ",", 1.0), ("1.000", ".", 1.0),
        ("0.125", ",", 0.125), ("-0.125", ",", -0.125), ("0,125", ",", 0.125),
        ("$1,234.50", ".", 1234.5), ("-$5", ".", -5.0), ("1.234,50 €", ",", 1234.5), ("£ .5", ".", 0.5),
        ("(1,234.50)", ".", -1234.5), ("($5)", ".", -5.0), ("26,42-", ",", -26.42), ("$0", ".", 0.0),
        ("true", ".", 1.0), ("FALSE", ".", 0.0), ("\u22121,5", ",", -1.5), ("2e\u22123", ".", 0.002),
    ],
)  # fmt: skip
def test_a_number_is_read_in_its_usual_spellings(text: str, decimal: str, number: float) -> None:
    assert cells.number(text, decimal) == number


@pytest.mark.parametrize(
    "text",
    [
        "",
        "x",
        "1_000",
        "0x10",
        "1,23",
        "1.2.3",
        "yes",
        "t",
        "nan",
        "NA",
        "1e",
        "--1",
        "٣",
        "0,125",
        "-0,125",
        "$",
        "(x)",
        "(-5)",
        "5-",
        "5 kW",
        "$x",
        "-",
        "()",
    ],
)
def test_other_texts_are_no_numbers(text: str) -> None:
    assert math.isnan(cells.number(text))


def test_words_that_are_classes_do_not_mean_missing() -> None:
    usual = MissingWords(kept={"region": ("EU", "NA")})
    assert {"NA", "\\N", "#N/A N/A", "-1.#IND"} <= usual.of("sales")
    assert "NA" not in usual.of("region")
    assert "None" in usual.of("region")
    assert "-" not in usual.of("sales")
    assert "-" in usual.of("sales", among_numbers=True)
    assert "NA" not in usual.everywhere()
    named = MissingWords(("-999",))
    assert named.of("sales", among_numbers=True) == {"", "-999"}


@pytest.mark.parametrize(
    ("labels", "text", "found"),
    [
        (("EU", "NA"), "NA", 1.0), (("EU", "US"), "NA", math.nan), (("-1", "1"), "+1.0", 1.0), (("1", "2"), "01", 0.0),
        (("False", "True"), "TRUE", 1.0), (("false", "true"), "no", 0.0), (("no", "yes"), "Y", 1.0),
        (("n", "y"), "off", 0.0), (("true", "false"), "t", 0.0), (("t", "f"), " f ", 1.0), (None, "1,234.5", 1234.5),
        (None, "?", math.nan), (None, "True", 1.0),
    ],
)  # fmt: skip
def test_a_label_names_a_class_by_its_text_its_number_or_its_truth(
    labels: tuple[str, ...] | None, text: str, found: float
) -> None:
    read = LabelReader("F", labels).read(text)
    assert read == found or (math.isnan(read) and math.isnan(found))


@pytest.mark.parametrize(
    ("labels", "text"), [(("a", "true"), "yes"), (("true", "yes"), "on"), (("0", "1"), "true"), (("a", "b"), "A")]
)
def test_truth_values_match_only_if_both_classes_are_truth_values(labels: tuple[str, ...], text: str) -> None:
    with pytest.raises(UsageFailure, match=f"F holds {text!r}, which is none of {labels[0]}, {labels[1]}"):
        LabelReader("F", labels).read(text)
