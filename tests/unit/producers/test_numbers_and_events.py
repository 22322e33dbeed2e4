"""A cell means the same whether its file is read as numbers or as events: same rows, same labels, same bits."""

from __future__ import annotations

import csv
import io
import math
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from pyarrow import parquet

from driftway.cli import open_stream
from driftway.worker.evaluation.rows import open_rows
from driftway.worker.wire.events import REGRESSION, Target
from driftway.worker.wire.schema.schema import EventSchema
from tests.support.examples import examples

PLAIN = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False).map(repr), st.integers(-(2**70), 2**70).map(str),
    st.floats(-1e6, 1e6).map(lambda x: f"{x:.3f}"), st.sampled_from(["007", "+1", ".5", "5.", "1E3", "-0"]),
)  # fmt: skip
SPELLED = st.sampled_from(["12 %", "7%", "1,234.5", "-1,234,567", "12'345.5", "true", "False", "TRUE"])
MISSING = st.sampled_from(["", "NA", "?", "nan", "null", "-nan", "N/A"])
AMONG_NUMBERS = st.sampled_from(["-", "--", ".", "na", "unknown", "missing"])
CELLS = st.one_of(
    st.just(st.one_of(PLAIN, MISSING)), st.just(st.one_of(PLAIN, SPELLED, MISSING, AMONG_NUMBERS)),
    st.just(st.sampled_from(["true", "FALSE", "True", ""])),
)  # fmt: skip
LABELS: dict[tuple[str, ...], list[str]] = {
    ("EU", "NA"): ["EU", "NA", " EU", "", "?"],
    ("-1", "1"): ["-1", "+1", "1.0", "01", "-1e0", "NA"],
    ("False", "True"): ["true", "FALSE", "yes", "No", "t", "off", "True", ""],
    ("no", "yes"): ["NO", "Yes", "y", "n", "true", "-", "no"],
    ("None", "some"): ["None", "some", "NaN"],
}
WITHOUT_WORD = ("-",)


@st.composite
def tables(draw: st.DrawFn) -> tuple[list[list[str]], tuple[str, ...]]:
    """Rows of text, the label last, and the names of the classes; empty: numbers."""
    n = draw(st.integers(1, 30))
    labels = draw(st.sampled_from([*LABELS, ()]))
    columns = []
    for _ in range(draw(st.integers(1, 4))):
        cells = draw(st.lists(draw(CELLS), min_size=n, max_size=n))
        cells[0] = "0.5"  # without any number, words for missing values among numbers are text like any other
        columns.append(cells)
    texts = [word for word in LABELS[labels] if word not in WITHOUT_WORD] if labels else None
    label = st.sampled_from(texts) if texts else st.one_of(PLAIN, MISSING)
    columns.append(draw(st.lists(label, min_size=n, max_size=n)))
    if not labels:
        columns[-1][0] = "1"
    return [list(row) for row in zip(*columns, strict=True)], labels


def as_numbers(path: Path, names: list[str], labels: tuple[str, ...], **reading: Any) -> tuple[Any, Any]:
    opening = {"labels": labels or None, "reading": reading}
    return _together(open_rows(open_stream, str(path), opening, _target(labels)), len(names))


def as_events(path: Path, names: list[str], labels: tuple[str, ...], **reading: Any) -> tuple[Any, Any]:
    schema = EventSchema.parse(names, missing="0")
    return _together(open_rows(open_stream, str(path), {"reading": reading}, _target(labels), schema), len(names))


def _target(labels: tuple[str, ...]) -> Target:
    return Target("classification", len(labels), labels) if labels else Target(REGRESSION, 0)


def _together(stream: Any, width: int) -> tuple[Any, Any]:
    blocks = list(stream.blocks())
    assert stream.n_features == width
    return np.concatenate([block.X for block in blocks]), np.concatenate([block.y for block in blocks])


def written(rows: list[list[str]], names: list[str], separator: str, decimal: str) -> str:
    out = io.StringIO()
    writer = csv.writer(out, delimiter=separator, quoting=csv.QUOTE_MINIMAL)
    writer.writerow([*names, "y"])
    swap = str.maketrans(".,", ",.")
    changed = [[cell.translate(swap) if any(map(str.isdigit, cell)) else cell for cell in row] for row in rows]
    writer.writerows(rows if decimal == "." else changed)
    return out.getvalue()


@examples(150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(table=tables(), separator=st.sampled_from(",;\t"), decimal=st.sampled_from(".,"))
def test_csv(tmp_path: Path, table: Any, separator: str, decimal: str) -> None:
    rows, labels = table
    names = [f"f{i}" for i in range(len(rows[0]) - 1)]
    path = tmp_path / "x.csv"
    path.write_text(written(rows, names, separator, decimal))
    reading = {"separator": separator, "decimal": "comma" if decimal == "," else "point"}
    X, y = as_numbers(path, names, labels, **reading)
    events = as_events(path, names, labels, **reading)
    assert len(X) == len(rows)
    finite = np.where(np.isfinite(X), X, np.nan)  # JSON has no infinity
    assert (finite + 0.0).tobytes() == (events[0] + 0.0).tobytes(), (X, events[0])
    np.testing.assert_array_equal(y, events[1])


@examples(60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(table=tables())
@pytest.mark.parametrize("kind", ["parquet", "arff"])
def test_parquet_and_arff(tmp_path: Path, kind: str, table: Any) -> None:
    rows, labels = table
    rows = [row for row in rows if all(_is_plain(cell) for cell in row[:-1])]
    if not rows:
        return
    names = [f"f{i}" for i in range(len(rows[0]) - 1)]
    path = tmp_path / f"x.{kind}"
    if kind == "parquet":
        columns = [
            [math.nan if cell == "" else float(cell) for cell in column]
            for column in list(zip(*rows, strict=True))[:-1]
        ]
        y = (
            [row[-1] for row in rows]
            if labels
            else [float(row[-1] or "nan") if _is_plain(row[-1]) else None for row in rows]
        )
        parquet.write_table(pa.table({**dict(zip(names, columns, strict=True)), "y": y}), path)
    else:
        kinds = f"{{{','.join(labels)}}}" if labels else "numeric"
        header = "".join(f"@attribute {name} numeric\n" for name in names)
        known = [row for row in rows if _is_plain(row[-1]) or (labels and row[-1].strip() in labels)]
        lines = (",".join(cell if cell.strip() else "?" for cell in row) for row in known)
        if not known:
            return
        path.write_text(
            f"@relation r\n{header}@attribute y {kinds}\n@data\n" + "\n".join(lines).replace("NaN", "?") + "\n"
        )
    X, y = as_numbers(path, names, labels)
    events = as_events(path, names, labels)
    assert (X + 0.0).tobytes() == (events[0] + 0.0).tobytes()
    np.testing.assert_array_equal(y, events[1])


def _is_plain(cell: str) -> bool:
    try:
        return math.isfinite(float(cell)) if cell else True
    except ValueError:
        return False
