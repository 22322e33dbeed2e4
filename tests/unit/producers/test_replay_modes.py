"""`driftway replay` without Kafka: dry runs of every way to select and change rows, and options that do not fit."""

from __future__ import annotations

import json
import struct
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from driftway.producers.row_random import LABELS, POISON, RowRandom
from driftway.producers.streams import open_stream
from driftway.worker.wire import packed
from driftway.worker.wire.codec import encode_events
from tests.support import cli_runner

run = partial(cli_runner.run, "replay")


def dry(path: Path, *arguments: str) -> list[bytes]:
    done = run(*arguments, "--dry-run", str(path))
    assert done.exit_code == 0, done.output
    data = path.read_bytes()
    assert data.endswith(b"\n")
    return data[:-1].split(b"\n")


def unpack(data: bytes) -> list[bytes | None]:
    values: list[bytes | None] = []
    while data:
        (length,) = struct.unpack_from("<i", data)
        values.append(None if length < 0 else data[4 : 4 + length])
        data = data[4 + max(length, 0) :]
    return values


@pytest.mark.parametrize("pace", [(), ("--rate", "20000"), ("--load-profile", "ramp:from=0,to=50000,seconds=0.2")])
def test_a_dry_run_writes_what_would_be_sent(tmp_path: Path, pace: tuple[str, ...]) -> None:
    block = next(iter(open_stream("sea", rows=900).blocks()))
    expected = encode_events(block.X[5:], block.y[5:], 5)
    assert dry(tmp_path / "rows", "sea:rows=900", "--skip", "5", *pace) == expected
    done = run("sea:rows=900", "--skip", "5", "--dry-run", "-", "--quiet", *pace)
    assert done.stdout_bytes.split(b"\n")[:-1] == expected
    assert done.stderr == ""


def test_a_packed_dry_run_has_length_prefixes(tmp_path: Path) -> None:
    path = tmp_path / "rows"
    done = run("sea:rows=500", "--format", "packed", "--poison", "0.3", "--dry-run", str(path), "--json")
    report = json.loads(done.stdout)
    block = next(iter(open_stream("sea", rows=500).blocks()))
    rows = packed.encode_events(block.X, block.y)
    values = unpack(path.read_bytes())
    assert None in values
    assert [value for value in values if value in set(rows)] == rows
    assert (report["rows"], report["poison"], len(values)) == (500, len(values) - 500, len(values))
    assert report["bytes"] == sum(len(value or b"") for value in values)
    assert report["dry_run"] == str(path)


def test_poison_and_withheld_labels_are_counted_and_reported(tmp_path: Path) -> None:
    path = tmp_path / "rows"
    arguments = ("sea:rows=2000", "--seed", "4", "--poison", "0.05", "--missing-labels", "0.25")
    done = run(*arguments, "--dry-run", str(path), "--json")
    report = json.loads(done.stdout)
    poisoned = int((RowRandom(4, POISON, 2).uniforms(0, 2000)[:, 0] < 0.05).sum())
    bare = (RowRandom(4, LABELS, 1).uniforms(0, 2000)[:, 0] < 0.25).tolist()
    assert (report["rows"], report["poison"], report["labels_withheld"]) == (2000, poisoned, sum(bare))
    assert f"{poisoned} malformed messages, {sum(bare)} labels withheld" in done.stderr
    lines = path.read_bytes()[:-1].split(b"\n")
    assert len(lines) == 2000 + poisoned
    events = [
        json.loads(line) for line in lines if line.startswith(b'{"id":') and line.endswith(b"}") and b"[[" not in line
    ]
    assert [event["id"] for event in events] == list(range(2000))
    assert [event["y"] is None for event in events] == bare


def test_a_continued_run_is_poisoned_like_one_run(tmp_path: Path) -> None:
    arguments = ("sea:rows=3000", "--poison", "0.1", "--missing-labels", "0.1", "--shuffle", "--loop", "2")
    whole = dry(tmp_path / "whole", *arguments)
    first = dry(tmp_path / "first", *arguments, "--limit", "3700")
    second = dry(tmp_path / "second", *arguments, "--skip", "3700")
    assert first + second == whole


def test_a_shuffle_sends_every_row_once_in_an_order_of_its_seed(tmp_path: Path) -> None:
    def rows(*more: str) -> list[tuple[float, ...]]:
        events = [json.loads(line) for line in dry(tmp_path / "rows", "sea:rows=700,seed=1", *more)]
        assert [event["id"] for event in events] == list(range(700))
        return [(*event["x"], event["y"]) for event in events]

    plain, one, two = rows(), rows("--shuffle"), rows("--shuffle", "--seed", "2")
    assert sorted(one) == sorted(two) == sorted(plain)
    assert len({tuple(order) for order in (plain, one, two)}) == 3
    assert rows("--shuffle") == one


def test_event_time_becomes_t(tmp_path: Path) -> None:
    times = np.cumsum(np.full(200, 0.5)) + 1.7e9
    source = tmp_path / "trips.csv"
    source.write_text("v,at,y\n" + "".join(f"{i},{t!r},1\n" for i, t in enumerate(times.tolist())))
    timing = ("--time-column", "at", "--time-unit", "s", "--speed", "1000")
    done = run(str(source), *timing, "--dry-run", str(tmp_path / "rows"), "--json")
    report = json.loads(done.stdout)
    events = [json.loads(line) for line in (tmp_path / "rows").read_text().splitlines()]
    assert [event["t"] for event in events] == [round(t * 1000) for t in times.tolist()]
    assert [event["x"][1] for event in events] == times.tolist()
    assert report["seconds"] >= 199 * 0.5 / 1000
    assert report["late_seconds"] >= 0.0
    assert "ms late" in done.stderr


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("2026-11-01T00:00:00Z", "2026-11-01T01:00:00.25+01:00"),
        ("2026-11-01 00:00:00", "2026-11-01 00:00:00.250"),
        ("1793491200000", "2026-11-01T00:00:00.250"),
    ],
)
@pytest.mark.parametrize("unit", ["ms", "s"])
def test_event_times_may_be_text(tmp_path: Path, first: str, second: str, unit: str) -> None:
    if unit == "s" and first.isdecimal():
        first = first[:-3]
    source = tmp_path / "trips.csv"
    source.write_text(f"v,at,y\n1,{first},0\n2,{second},1\n")
    timing = ("--time-column", "at", "--time-unit", unit, "--speed", "1000")
    events = [json.loads(line) for line in dry(tmp_path / "rows", str(source), *timing)]
    assert [event["t"] for event in events] == [1_793_491_200_000, 1_793_491_200_250]
    assert events[1]["x"][1] == pytest.approx(1_793_491_200_250 / (1000 if unit == "s" else 1), abs=1e-6)


@pytest.mark.parametrize("zone", [None, "Europe/Berlin"])
@pytest.mark.parametrize("unit", ["ns", "s"])
def test_event_times_may_be_timestamps_of_parquet(tmp_path: Path, unit: str, zone: str | None) -> None:
    moments = [datetime(2026, 11, 1, tzinfo=UTC) + timedelta(seconds=i) for i in range(2)]
    moments = moments if zone else [moment.replace(tzinfo=None) for moment in moments]
    parquet.write_table(pa.table({"v": [1.0, 2.0], "at": pa.array(moments, pa.timestamp(unit, zone)), "y": [0, 1]}),
                        tmp_path / "trips.parquet")  # fmt: skip
    timing = ("--time-column", "at", "--speed", "1000")
    events = [json.loads(line) for line in dry(tmp_path / "rows", str(tmp_path / "trips.parquet"), *timing)]
    assert [event["t"] for event in events] == [1_793_491_200_000, 1_793_491_201_000]


def test_text_that_is_no_time_is_refused(tmp_path: Path) -> None:
    source = tmp_path / "trips.csv"
    source.write_text("v,at,y\n1,2026-11-01,0\n2,later,1\n")
    done = run(str(source), "--time-column", "at", "--dry-run", str(tmp_path / "rows"))
    assert done.exit_code == 2
    assert done.stderr.endswith("column 'at' holds 'later', which is neither a number nor a time in ISO 8601\n")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--rate", "5", "--load-profile", "constant:rate=5"), "--rate and --load-profile both set when rows are sent"),
        (
            ("--load-profile", "constant:rate=5", "--time-column", "x1"),
            "--load-profile and --time-column both set when",
        ),
        (("--load-profile", "wave:rate=5"), "--load-profile is one of constant, burst, ramp, sine, got 'wave'"),
        (("--speed", "2"), "--speed needs --time-column"),
        (("--time-column", "x9"), "sea has no column 'x9' for --time-column; columns: x1, x2, x3, y"),
        (("--time-column", "x1", "--speed", "0"), "--speed"),
        (("--time-column", "x1", "--loop"), "--time-column does not go with --loop"),
        (("--time-column", "x1", "--shuffle"), "--time-column does not go with --shuffle"),
        (("--latency",), "--latency is measured from when a row was due"),
        (("--poison", "1.5"), "--poison"),
        (("--missing-labels", "nan"), "nan is not a finite number up to 1e+09"),
        (("--rate", "inf"), "inf is not a finite number up to 1e+09"),
        (("--poison", "0.1", "--seed", "-1"), "seed must be a whole number from 0 to 2^64 - 1, got -1"),
        (("--partition", "-1"), "--partition"),
        (("--transactional-id", "a:0"), "--transactional-id takes ID or ID:rows"),
        (("--dry-run", "x", "--latency", "--rate", "5"), "--dry-run uses no broker: remove --latency"),
        (("--dry-run", "x", "--transactional-id", "a"), "remove --transactional-id"),
        (("--dry-run", "x", "--resume", "y"), "remove --resume"),
        (("--dry-run", "x", "--partition", "0"), "remove --partition"),
        (("--dry-run", "-", "--json"), "--dry-run - and --json both write to stdout"),
        (("--dry-run", "absent/x"), "cannot write absent/x"),
    ],
)
def test_conflicting_options_end_with_exit_code_2_and_one_sentence(
    arguments: tuple[str, ...], sentence: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = run("sea", *arguments)
    assert done.exit_code == 2, done.output
    assert sentence in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_is_reported_in_one_sentence() -> None:
    done = run("sea", "--dry-run", "/dev/full")
    assert done.exit_code == 1
    assert "driftway: cannot write /dev/full: No space left on device\n" in done.stderr
