"""Files and topics as connectors, clouds and data frames write them: what `schema infer` proposes runs as it is."""

from __future__ import annotations

import base64
import datetime
import json
import random
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from click.testing import CliRunner
from pyarrow import parquet

from driftway.cli import main
from driftway.worker.wire.codec import LONGEST_EXACT

N = 400
Row = dict[str, Any]


def rows() -> Iterator[tuple[int, float, str, bool]]:
    chance = random.Random(41)
    for i in range(N):
        amount = round(chance.uniform(1, 500), 2)
        yield i, amount, chance.choice(["card", "cash", "invoice"]), amount + chance.gauss(0, 40) > 250


def lines(event: Callable[[int, float, str, bool], Row]) -> bytes:
    return b"".join(json.dumps(event(*row)).encode() + b"\n" for row in rows())


def _precise(amount: float) -> str:
    unscaled = int(Decimal(str(amount)).scaleb(2))
    return base64.b64encode(unscaled.to_bytes((unscaled.bit_length() + 8) // 8, "big", signed=True)).decode()


def debezium_with_schema() -> bytes:
    decimal = {
        "type": "bytes", "optional": True, "name": "org.apache.kafka.connect.data.Decimal", "version": 1,
        "parameters": {"scale": "2", "connect.decimal.precision": "10"}, "field": "amount",
    }  # fmt: skip
    fields = [
        {"type": "int32", "optional": False, "field": "id"}, decimal,
        {"type": "string", "optional": True, "field": "method"},
        {"type": "boolean", "optional": True, "field": "label"},
    ]  # fmt: skip
    after = {"type": "struct", "fields": fields, "optional": True, "name": "db.orders.Value", "field": "after"}
    schema = {"type": "struct", "fields": [after], "optional": False, "name": "db.orders.Envelope"}

    def event(i: int, amount: float, method: str, label: bool) -> Row:
        row = {"id": i, "amount": _precise(amount), "method": method, "label": label}
        payload = {"before": None, "after": row, "source": {"ts_ms": 1_790_000_000_000 + i}, "op": "c", "ts_ms": 1}
        return {"schema": schema, "payload": payload}

    return lines(event)


def debezium_with_texts() -> bytes:
    def event(i: int, amount: float, method: str, label: bool) -> Row:
        note = "__debezium_unavailable_value" if i % 3 else f"{method} note"
        row = {"id": i, "amount": f"{amount:.2f}", "method": method, "note": note, "label": int(label)}
        return {"before": None, "after": row, "source": {"ts_ms": 1_790_000_000_000 + i}, "op": "u", "ts_ms": 5}

    return lines(event)


def debezium_with_structs() -> bytes:
    def event(i: int, amount: float, method: str, label: bool) -> Row:
        decimal = {"scale": 2, "value": _precise(amount)}
        row = {"id": i, "amount": decimal, "method": method, "created_at": 1_790_000_000_000_000 + i, "label": label}
        return {"before": None, "after": row, "source": {"ts_ms": 1_790_000_000_000 + i}, "op": "r", "ts_ms": 5}

    return lines(event)


def connect() -> bytes:
    def event(i: int, amount: float, method: str, label: bool) -> Row:
        payload = {"order_id": i, "amount": amount, "method": method, "label": "yes" if label else "no"}
        return {"schema": {"type": "struct", "fields": [], "optional": False}, "payload": payload}

    return lines(event)


def cloud_events() -> bytes:
    def event(i: int, amount: float, method: str, label: bool) -> Row:
        data = {"amount": amount, "method": method, "label": label}
        about = {
            "specversion": "1.0",
            "type": "com.shop.order.v1",
            "source": "/orders",
            "datacontenttype": "application/json",
        }
        return {**about, "id": f"A234-{i}", "time": f"2026-11-{i // 24 + 1:02d}T{i % 24:02d}:00:00Z", "data": data}

    return lines(event)


def cloud_events_with_extensions() -> bytes:
    def event(i: int, amount: float, method: str, label: bool) -> Row:
        data = {
            "items": [{"sku": f"s{i % 7}"}],
            "tags": [method, "web"],
            "total": amount,
            "label": "fraud" if label else "ok",
        }
        return {
            "specversion": "1.0",
            "id": str(i),
            "source": "urn:x",
            "type": "t",
            "partitionkey": f"k{i % 5}",
            "data": data,
        }

    return lines(event)


def pandas_csv() -> bytes:
    written = (
        f"{i},{'' if i % 9 == 0 else amount},{method},{'' if i % 20 == 0 else i % 2 == 0},0{i % 50 + 1000},{label}\n"
        for i, amount, method, label in rows()
    )
    return (",amount,method,member,zip,label\n" + "".join(written)).encode()


def spark_parquet() -> bytes:
    made = list(rows())
    noon = datetime.datetime(2026, 11, 24, 12, tzinfo=datetime.UTC)
    table = pa.table(
        {
            "id": pa.array([i for i, *_ in made], pa.int64()),
            "amount": pa.array([Decimal(str(amount)) for _, amount, *_ in made], pa.decimal128(10, 2)),
            "customer": [{"method": method, "address": {"country": "de"}} for _, _, method, _ in made],
            "at": pa.array([noon + datetime.timedelta(minutes=i) for i, *_ in made], pa.timestamp("ns", "UTC")),
            "label": [label for *_, label in made],
        }
    )
    out = pa.BufferOutputStream()
    parquet.write_table(table, out, compression="snappy", use_deprecated_int96_timestamps=True)
    return bytes(out.getvalue())


def weka_arff() -> bytes:
    header = (
        "% 1. Title: orders\n@RELATION orders\n\n@ATTRIBUTE amount\tNUMERIC % in EUR\n"
        "@ATTRIBUTE method{card, cash, invoice}\n"
        "@ATTRIBUTE 'sent on' date 'yyyy-MM-dd HH:mm'\n@ATTRIBUTE class {no,yes}\n\n@DATA\n"
    )
    body = (
        f"{'?' if i % 9 == 0 else amount},{method},'2026-11-24 {i % 24:02d}:00',{'yes' if label else 'no'}\n"
        for i, amount, method, label in rows()
    )
    return (header + "".join(body)).encode()


def libsvm() -> bytes:
    written = (f"{1 if label else -1} 1:{amount} {i % 5 + 2}:1\n" for i, amount, _, label in rows())
    return "".join(written).encode()


SAMPLES: dict[str, Callable[[], bytes]] = {
    "debezium-precise.jsonl": debezium_with_schema, "debezium-string.jsonl": debezium_with_texts,
    "debezium-struct.jsonl": debezium_with_structs, "connect.jsonl": connect, "cloudevents.jsonl": cloud_events,
    "cloudevents-extended.jsonl": cloud_events_with_extensions, "pandas.csv": pandas_csv,
    "spark.parquet": spark_parquet, "weka.arff": weka_arff, "orders.libsvm": libsvm,
}  # fmt: skip


def test_events_too_long_to_be_read_digit_by_digit_are_scanned(tmp_path: Path) -> None:
    path = tmp_path / "wide.csv"
    header = ",".join(f"a_gene_with_a_{'very_' * 70}long_name_{i}" for i in range(3_000))
    assert len(header) > LONGEST_EXACT
    path.write_text(f"{header},y\n" + "".join(f"{'0.5,' * 3_000}{i % 2}\n" for i in range(4)))
    proposal = CliRunner().invoke(main, ["schema", "infer", str(path)])
    assert proposal.exit_code == 0, proposal.stderr
    assert "4 events read" in proposal.stdout


def test_how_a_file_is_read_is_part_of_the_proposal(tmp_path: Path) -> None:
    path, config = tmp_path / "orders.libsvm", tmp_path / "proposal.toml"
    path.write_bytes(libsvm())
    given = ["--width", "9", "--missing-values", "999"]
    proposal = CliRunner().invoke(main, ["schema", "infer", str(path), *given])
    assert proposal.exit_code == 0, proposal.output
    config.write_text(proposal.stdout)
    assert "width = 9\n" in proposal.stdout
    assert 'missing_values = "999"\n' in proposal.stdout
    done = CliRunner().invoke(main, ["--config", str(config), "evaluate", str(path), "--learner", "arow"])
    assert done.exit_code == 0, done.output


@pytest.mark.parametrize("name", SAMPLES)
def test_the_proposal_runs_unchanged(tmp_path: Path, name: str) -> None:
    path, config = tmp_path / name, tmp_path / "proposal.toml"
    path.write_bytes(SAMPLES[name]())
    label = ["--label", "data.label"] if name.startswith("cloud") else []
    proposal = CliRunner().invoke(main, ["schema", "infer", str(path), *label])
    assert proposal.exit_code == 0, proposal.stderr
    config.write_text(proposal.stdout)
    done = CliRunner().invoke(main, ["--config", str(config), "evaluate", str(path), "--learner", "arow", "--json"])
    assert done.exit_code == 0, (done.stderr, proposal.stdout)
    (result,) = json.loads(done.stdout)
    assert (result["rows"], result["labelled"], result["rejected"]) == (N, N, 0), proposal.stdout
    assert result["accuracy"] > 0.75, proposal.stdout
