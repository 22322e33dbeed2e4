"""`driftway replay --label-delay` without Kafka: which label follows which row, to which topic, and how many."""

from __future__ import annotations

import heapq
import json
import math
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from driftway.producers.delayed_labels import DelayColumn, DelayedLabels
from driftway.producers.messages import Messages
from driftway.producers.replay import Delivery, EncodedBlock, Replay, Report, SentCounts
from driftway.producers.replay_position import ReplayPosition
from driftway.producers.row_random import LABELS, LabelDropper, RowRandom, Shuffled
from driftway.producers.selection import Selection
from driftway.producers.streams import open_stream
from tests.support import cli_runner

N = 600
TOPICS = ("--to", "ROWS", "--label-topic", "LABELS")


run = partial(cli_runner.run, "replay")


def dry(path: Path, *arguments: str) -> tuple[list[str], dict[str, object]]:
    done = run(*arguments, "--dry-run", str(path), "--json")
    assert done.exit_code == 0, done.output
    return path.read_text().splitlines(), json.loads(done.stdout)


def in_order(y: list[float], delays: list[int]) -> list[tuple[str, int]]:
    """Return (topic, id) of every message, by the definition."""
    due = [(row + delay, row) for row, delay in enumerate(delays) if not math.isnan(y[row])]
    heapq.heapify(due)
    found: list[tuple[str, int]] = []
    for row in range(len(y)):
        found.append(("ROWS", row))
        while due and due[0][0] <= row:
            found.append(("LABELS", heapq.heappop(due)[1]))
    return found


def cases(path: Path, waits: list[str]) -> str:
    """Write a file of rows, each with a number of rows to wait; return its path."""
    path.write_text("v,wait,y\n" + "".join(f"{row}.5,{wait},{row % 2}\n" for row, wait in enumerate(waits)))
    return str(path)


def sent_values(lines: list[str]) -> list[tuple[str, int]]:
    """Return the same from the lines of a dry run, and check them."""
    found = []
    for line in lines:
        topic, value = line.split("\t")
        event = json.loads(value)
        assert (set(event) == {"id", "y"}) == (topic == "LABELS")
        assert event.get("y") is None or topic == "LABELS"
        found.append((topic, event["id"]))
    return found


@pytest.mark.parametrize("delay", ["0", "1", "37", "599", "600"])
def test_a_dry_run_shows_where_each_message_goes_and_counts_are_right(tmp_path: Path, delay: str) -> None:
    given = ("sea:rows=600", "--label-delay", delay, "--missing-labels", "0.25", "--seed", "3")
    lines, report = dry(tmp_path / "rows", *given, *TOPICS)
    withheld = RowRandom(3, LABELS, 1).uniforms(0, N)[:, 0] < 0.25
    (block,) = open_stream("sea", rows=N, seed=3).blocks()
    expected = in_order(np.where(withheld, np.nan, block.y).tolist(), [int(delay)] * N)
    assert sent_values(lines) == expected
    labels = {event["id"]: event["y"] for event in map(json.loads, (line[7:] for line in lines if line[0] == "L"))}
    assert labels == {row: int(block.y[row]) for topic, row in expected if topic == "LABELS"}
    counts = [report[name] for name in ("rows", "poison", "labels_withheld", "delayed_labels", "waiting_labels")]
    late = len(expected) - N
    assert counts == [N, 0, withheld.sum(), late, N - withheld.sum() - late]
    assert report["bytes"] == sum(len(line.split("\t")[1]) for line in lines)
    assert (report["topic"], report["label_topic"]) == ("ROWS", "LABELS")
    plain, _ = dry(tmp_path / "plain", *given)
    assert plain == [line.split("\t")[1] for line in lines]


def test_the_last_line_counts_delayed_labels_and_malformed_messages_separately(tmp_path: Path) -> None:
    path = str(tmp_path / "rows")
    done = run("sea:rows=600", "--label-delay", "100", "--dry-run", path, *TOPICS)
    assert done.stderr.endswith("0 delivery errors, 500 delayed labels to LABELS, 100 not due yet\n")
    assert run("sea:rows=600", "--label-delay", "100", "--dry-run", path).stderr.endswith(
        "500 delayed labels, 100 not due yet\n"
    )


def test_a_replay_that_stops_within_a_block_counts_what_it_sent() -> None:
    late = DelayedLabels("2", 1, None)
    messages = late.interleave(Messages(0, 6, [b"row"] * 6), np.array([1.0, np.nan, 1.0, 1.0, 1.0, 1.0]))
    block = EncodedBlock(messages, np.zeros(6, np.bool_), np.array([True, False, True, True, True, True]))
    sent = SentCounts()
    sent.add(block, 4)
    assert (sent.rows, sent.poison, sent.delayed_labels, sent.waiting_labels) == (4, 0, 1, 2)
    assert sent.bytes == 4 * 3 + len(b'{"id":0,"y":1}')


@pytest.mark.parametrize("delay", ["30", "geometric:50", "column:wait"])
@pytest.mark.parametrize("began", [0, 1, 333, 1100])
def test_a_resumed_replay_sends_the_labels_that_are_still_due(tmp_path: Path, delay: str, began: int) -> None:
    path = cases(tmp_path / "cases.csv", [str(row * row % 90) for row in range(N)])

    def sent(limit: int | None, resume: ReplayPosition | None = None) -> tuple[list[bytes], Report]:
        late = DelayedLabels(delay, 5, None)
        stream = open_stream(path)
        shuffled = Shuffled(stream if late.column is None else DelayColumn(stream, late.column), 5)
        out = tmp_path / "out"
        way = Delivery(resume=resume, dry_run=str(out), label_topic="LABELS")
        chosen = Selection(limit=limit, laps=2)
        work = Replay(
            shuffled, "ROWS", selection=chosen, delivery=way, label_dropper=LabelDropper(0.1, 5), delayed_labels=late
        )
        report = work.run("nobody", {})
        return out.read_bytes().splitlines(), report

    whole, report = sent(None)
    first, before = sent(began) if began else ([], None)
    kept = str(tmp_path / "position.json")
    ReplayPosition(kept, {}).save(began)
    second, after = sent(None, ReplayPosition(kept, {}))
    assert first + second == whole
    assert after.delayed_labels + (before.delayed_labels if before else 0) == report.delayed_labels
    assert after.waiting_labels == report.waiting_labels


def test_a_column_may_give_the_delays_and_is_then_no_feature(tmp_path: Path) -> None:
    waits = [row * 7 % 50 for row in range(N)]
    path = cases(tmp_path / "cases.csv", list(map(str, waits)))
    lines, report = dry(tmp_path / "rows", path, "--label-delay", "column:wait", "--named", *TOPICS)
    assert sent_values(lines) == in_order([row % 2 for row in range(N)], waits)
    events = [json.loads(line.split("\t")[1]) for line in lines if line.startswith("ROWS")]
    assert [event["x"] for event in events] == [{"v": row + 0.5} for row in range(N)]
    assert report["delayed_labels"] == sum(row + wait < N for row, wait in enumerate(waits))


def test_a_row_without_a_label_needs_no_delay(tmp_path: Path) -> None:
    path = tmp_path / "cases.csv"
    path.write_text("v,wait,y\n1,0,1\n2,,\n3,1,0\n4,0,1\n")
    lines, _ = dry(tmp_path / "rows", str(path), "--label-delay", "column:wait", *TOPICS)
    assert [row for topic, row in sent_values(lines) if topic == "LABELS"] == [0, 2, 3]


@pytest.mark.parametrize("wait", ["", "-1", "1.5", "inf", "2e12"])
def test_a_delay_that_is_no_number_of_rows_is_refused_in_one_sentence(tmp_path: Path, wait: str) -> None:
    path = cases(tmp_path / "cases.csv", ["0", wait])
    done = run(path, "--label-delay", "column:wait", "--dry-run", str(tmp_path / "rows"))
    assert done.exit_code == 2
    assert "row 1 has no usable delay in 'wait', a whole number of rows: " in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--label-topic", "LABELS"), "--label-topic needs --label-delay: "),
        (("--label-topic", "EVENTS", "--label-delay", "5"), "--label-topic EVENTS is the topic of the rows"),
        (("--label-delay", "column:x9"), "sea has no column 'x9' for --label-delay; columns: x1, x2, x3, y"),
        (("--label-delay", "column:y"), "--label-delay column:y needs a column other than the label"),
        (("--label-delay", "column:x1"), "row 0 has no usable delay in 'x1', a whole number of rows: "),
        (("--label-delay", "column:x1", "--key", "x1"), "sea has no column 'x1' for --key; columns: x2, x3, y"),
        (("--label-delay", "column:x1", "--inject", "missing:share=0.1"), "does not go with --inject"),
        (("--label-delay", "1", "--poison", "0.1"), "--label-delay does not go with --poison"),
        (("--label-delay", "1", "--format", "packed"), "--label-delay needs --format json"),
    ],
)
def test_conflicting_options_end_with_exit_code_2_and_one_sentence(
    arguments: tuple[str, ...], sentence: str, tmp_path: Path
) -> None:
    done = run("sea", *arguments, "--dry-run", str(tmp_path / "rows"))
    assert done.exit_code == 2, done.output
    assert sentence in done.stderr
    assert done.stdout == ""


def test_the_only_feature_cannot_be_the_column_of_delays(tmp_path: Path) -> None:
    path = tmp_path / "cases.csv"
    path.write_text("wait,y\n1,0\n")
    done = run(str(path), "--label-delay", "column:wait", "--dry-run", str(tmp_path / "rows"))
    assert done.exit_code == 2
    assert "others as features" in done.stderr
