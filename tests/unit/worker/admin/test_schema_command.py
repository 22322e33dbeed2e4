"""`driftway schema infer` on files of every kind, and its messages."""

from __future__ import annotations

import csv
import gzip
import json
import tomllib
from functools import partial
from pathlib import Path as File

import numpy as np
import pytest

from tests.support.cli_runner import run
from tests.unit.worker.admin.orders import FLAT, orders, table_of, texts

infer = partial(run, "schema", "infer")


def write(path: File, values: list[bytes | None]) -> str:
    text = b"\n".join(value or b"" for value in values) + b"\n"
    path.write_bytes(gzip.compress(text) if path.suffix == ".gz" else text)
    return str(path)


@pytest.mark.parametrize("name", ["orders.jsonl", "orders.ndjson.gz", "orders.json"])
def test_json_lines(tmp_path: File, name: str) -> None:
    done = infer(write(tmp_path / name, orders()), "--label", "fraud", "--rows", "100")
    assert done.exit_code == 0, done.output
    assert table_of(done.stdout)["feature"] == FLAT
    assert "# 100 events read\n" in done.stdout
    assert "100 events read, 9 fields seen; 4 of them are features, which become 38 columns; 3 left out." in done.stderr


def test_json_object(tmp_path: File) -> None:
    file = write(tmp_path / "o.jsonl", orders(lambda row, i: {**row, "label": ["no", "yes"][i % 2]}))
    fields = json.loads(infer(file, "--json").stdout)
    assert fields["options"] == {"labels": "no,yes"}
    assert fields["event"]["label"] == "label"
    assert fields["events"] == {"seen": 200, "no_json_object": 0, "no_row": 0, "plain": 0, "read": 200, "rejected": {}}
    assert fields["paths"]["country"]["different"] == 3
    assert sum(fields["paths"]["country"]["most"].values()) == 200
    assert fields["paths"]["items"]["left_out"] == "list of numbers"
    assert fields["paths"]["amount"]["feature"] == "amount"


def csv_file(path: File) -> str:
    rows = [json.loads(value or b"") for value in orders()]
    with gzip.open(path, "wt", newline="") if path.suffix == ".gz" else path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(rows[0])
        writer.writerows(["NA" if i % 10 == 0 and v == row["amount"] else v for v in row.values()]
                         for i, row in enumerate(rows))  # fmt: skip
    return str(path)


@pytest.mark.parametrize("name", ["orders.csv", "orders.csv.gz"])
def test_csv(tmp_path: File, name: str) -> None:
    done = infer(csv_file(tmp_path / name), "--label", "fraud")
    assert done.exit_code == 0, done.output
    table = table_of(done.stdout)
    assert (table["missing"], table["time"], table["id"]) == ("mean", "created_at", "order_id")
    assert table["feature"][:4] == FLAT
    assert 'label = "fraud"                    # false 75 %, true 25 %' in done.stdout


@pytest.mark.parametrize("name", ["orders.parquet", "orders.parquet.gz"])
def test_parquet(tmp_path: File, name: str) -> None:
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    rows = [json.loads(value or b"") for value in orders()]
    for i, row in enumerate(rows):
        row["created_at"] = np.datetime64(row["created_at"][:19], "ns")
        row["amount"] = float("nan") if i % 10 == 0 else row["amount"]
    parquet.write_table(pa.Table.from_pylist(rows), tmp_path / "orders.parquet")
    if name.endswith(".gz"):
        (tmp_path / name).write_bytes(gzip.compress((tmp_path / "orders.parquet").read_bytes()))
    done = infer(str(tmp_path / name), "--label", "fraud")
    assert done.exit_code == 0, done.output
    table = table_of(done.stdout)
    assert (table["missing"], table["time"], table["feature"]) == ("mean", "created_at", FLAT)


def test_the_plain_form_needs_no_schema(tmp_path: File) -> None:
    rows = [{"x": [i, i * 0.5], "y": i % 2} for i in range(50)]
    file = write(tmp_path / "plain.jsonl", [*texts(rows), b"{"])
    done = infer(file)
    assert done.exit_code == 0
    sentence = "50 events have the plain form, which needs no schema. 1 have another, and would be rejected."
    assert done.stdout == f"# {sentence}\n"
    assert done.stderr == f"{file}: {sentence}\n"
    assert tomllib.loads(done.stdout) == {}
    assert json.loads(infer(file, "--json").stdout)["plain"] is True
    assert infer(file, "--label", "y", "--id", "id").stdout == done.stdout
    assert infer(file, "--label", "z").stdout != done.stdout


@pytest.mark.parametrize(
    ("name", "text", "code", "message"),
    [
        ("a.jsonl", "", 2, "{} "),
        ("a.jsonl", "1\n2\n", 1, "none of the 2 values in {} is a JSON object; the first is '1'\n"),
        ("a.jsonl", '{"a": [1]}\n{"a": []}\n', 1, "no field of {} can be a feature: a (list)\n"),
        ("a.jsonl", '{"a": [{}]}\n', 1, "no field of {} can be a feature: there are no fields\n"),
        (
            "a.jsonl",
            '{"a": [1, 0.5]}\n{"a": [2]}\n',
            1,
            "no field of {} can be a feature: a (list of numbers); name its",
        ),
        ("a.jsonl.gz", "a", 2, "cannot read {}: Not a gzipped file (b'a')"),
        ("a.csv", "", 2, "{} is empty"),
        ("a.csv", "a,b\n1\n", 2, "{}: a row has 1 of 2 cells: '1'"),
        ("a.parquet", "", 2, "{} is empty"),
        ("a.xls", "a\0\0b\0\0", 2, "cannot tell the format of {}: if it holds rows, its name must end in"),
        ("a.csv", None, 2, "there is no file {}"),
    ],
)
def test_an_unreadable_input_is_refused_with_one_sentence(
    tmp_path: File, name: str, text: str | None, code: int, message: str
) -> None:
    file = tmp_path / name
    if text is not None:
        file.write_text(text)
    done = infer(str(file))
    assert (done.exit_code, done.stdout) == (code, "")
    assert done.stderr.startswith(f"driftway: {message.format(file)}")
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    ("path", "meant"),
    [("after.fraud", "fraud"), ("$.after.fraud", "fraud"), ("payload.after.order.id", "order.id")],
)
def test_the_refusal_of_a_path_that_no_event_has_asks_for_the_field_of_that_name(
    tmp_path: File, path: str, meant: str
) -> None:
    rows = [{"order": {"id": i}, "amount": i * 7 % 31, "fraud": i % 3 == 0} for i in range(50)]
    file = write(tmp_path / "o.jsonl", texts({"before": None, "after": row, "op": "c"} for row in rows))
    done = infer(file, "--label", path)
    assert (done.exit_code, done.stdout) == (2, "")
    assert f"none of the 50 events that were read from {file} has the field {path} " in done.stderr
    assert done.stderr.endswith(f": did you mean {meant}?\n")


def test_a_label_that_no_event_has_yet_is_noted(tmp_path: File) -> None:
    file = write(tmp_path / "o.jsonl", orders())
    done = infer(file, "--label", "returned")
    assert done.exit_code == 0
    assert (
        f"none of the 200 events that were read from {file} has the field returned; --rows N reads more" in done.stderr
    )
    assert infer(file, "--id", "items").stderr.count("none of") == 0
