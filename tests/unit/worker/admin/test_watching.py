"""Accuracy points and offsets as rows of a dashboard with a clock of its own; outcomes counted."""

from __future__ import annotations

import io
import json
from types import SimpleNamespace
from typing import Any

import pytest
from rich.console import Console

from driftway.worker.admin.watch.completeness import OutcomeCounter
from driftway.worker.admin.watch.dashboard import BLOCKS, Dashboard, DashboardRow, grouped, scale, sparkline
from driftway.worker.admin.watch.topic_tail import OF_ALARMS, read_prediction, read_rejection, readings
from driftway.worker.admin.watch.view import lines, silence, table
from driftway.worker.errors import Failure
from tests.support.clock import Clock


def point(offset: int, partition: int = 0, learner: str = "arow", **more: Any) -> dict[str, Any]:
    values = {"labels": offset + 1, "window": 100, "window_accuracy": 0.9, "accuracy": 0.8}
    return {"partition": partition, "offset": offset, "learner": learner, "t": 0, **values, **more}


def drawn(rows: list[DashboardRow], width: int) -> str:
    """Return the table as a terminal of `width` columns shows it."""
    console = Console(width=width, file=io.StringIO(), force_terminal=False, markup=False, emoji=False)
    console.print(table(rows, width))
    return console.file.getvalue()


@pytest.fixture
def clock() -> Clock:
    return Clock(1000.0)


@pytest.fixture
def board(clock: Clock) -> Dashboard:
    return Dashboard(clock)


def fake_message(value: bytes, *headers: tuple[str, bytes]) -> Any:
    position = {"topic": lambda: "E.g", "partition": lambda: 0, "offset": lambda: 4, "timestamp": lambda: (1, 5000)}
    return SimpleNamespace(value=lambda: value, headers=lambda: list(headers), **position)


def test_headers_passed_on_from_an_event_are_not_taken_for_an_offset() -> None:
    position = ("offset", b"9"), ("partition", b"1"), ("reason", b"not JSON")
    assert read_prediction(fake_message(b'{"partition":0,"offset":7}', *position))[:2] == (0, 7)
    assert read_rejection(fake_message(b'{"partition":0,"offset":7}', *position)) == (1, 9, "not-json")


@pytest.mark.parametrize(
    "of_label",
    [
        (("offset", b"9"), ("set-aside", b"label")),
        (("offset", b"900"), ("input-offset", b"9"), ("set-aside", b"label")),
        (("offset", b"900"), ("input-offset", b"9")),
        (("offset", b"900"), ("before", b"9")),
    ],
)
def test_a_label_set_aside_is_not_an_outcome_of_an_event(of_label: tuple[tuple[str, bytes], ...]) -> None:
    headers = ("reason", b"label is not a number"), ("partition", b"1"), *of_label
    assert read_rejection(fake_message(b"{}", *headers)) == (1, None, "label")


def test_the_refusal_of_a_record_that_is_no_rejection_names_it() -> None:
    message = SimpleNamespace(headers=lambda: None, topic=lambda: "E.g.rejected", partition=lambda: 0, offset=lambda: 4)
    with pytest.raises(Failure, match=r"E\.g\.rejected/0 at 4 is not a rejection"):
        read_rejection(message)


WRONG_POINTS = {
    "learner": (5, None, ["x"], "\x1b[31mx", "a\nb"),
    "partition": ("x", -1, 10**30, 1.5, None, True),
    "offset": ("x", -5, 1e300, None, [1]),
    "labels": ("x", -1), "window": ("x", None), "plan": ("x", 1.5),
    "drift": ("x", [{}], True, {"adwin": "x"}, {"adwin": 1e300}),
    "reliability": ("x", [1], [[1, 2]], [["x", 1, 1, 1]]),
}  # fmt: skip


@pytest.mark.parametrize(("name", "value"), [(name, one) for name, some in WRONG_POINTS.items() for one in some])
def test_the_refusal_of_a_record_that_is_no_accuracy_point_names_it(name: str, value: object) -> None:
    """Else it would end `watch` and `plot` in a traceback, and the page of a worker for good."""
    crafted = json.dumps(point(9) | {name: value}).encode()
    with pytest.raises(Failure, match=rf"^E\.g/0 at 4 is not an accuracy point: {name} is "):
        list(readings([fake_message(crafted)]))


@pytest.mark.parametrize("value", [b"[1]", b"", b"null", b"{}", b"\xff", b"[" * 50_000])
def test_the_refusal_of_a_record_that_is_no_object_names_it(value: bytes) -> None:
    with pytest.raises(Failure, match=r"^E\.g/0 at 4 is not an accuracy point: "):
        list(readings([fake_message(value)]))
    with pytest.raises(Failure, match=r"^E\.g/0 at 4 is not a drift alarm: "):
        list(readings([fake_message(value)], OF_ALARMS))


def test_fields_that_are_not_numbers_are_not_metrics() -> None:
    later = point(9, window_accuracy="high", kind="x", sure=True, more={"a": 1}, mae=0.5, mse=None)
    ((read, at),) = readings([fake_message(json.dumps(later).encode())])
    assert {name for name in later if name not in read} == {"window_accuracy", "kind", "sure", "more"}
    assert (read["mae"], read["mse"], at) == (0.5, None, 5.0)


@pytest.mark.parametrize(
    ("name", "value"),
    [("partition", "x"), ("offset", -1), ("offset", 1.5), ("probability", "x"), ("low", []), ("prediction", [1])],
)
def test_the_refusal_of_a_record_that_is_no_prediction_names_it(name: str, value: object) -> None:
    crafted = {"partition": 0, "offset": 7, "prediction": "A", name: value}
    with pytest.raises(Failure, match=rf"^cannot read the prediction in E\.g/0 at 4: {name} is "):
        read_prediction(fake_message(json.dumps(crafted).encode()))


@pytest.mark.parametrize("label", ["[/high]", "[red]", "\x1b[31mA"])
def test_control_characters_of_a_label_are_not_sent_to_the_terminal(board: Dashboard, label: str) -> None:
    board.add_point(point(99, learner="a:b=[/x]"))
    board.predict(0, 99, {"prediction": label, "probability": 0.5})
    for text in (drawn(board.rows(), 200), "\n".join(lines(board.rows()))):
        assert label.replace("\x1b", "?") + ": 50.0 %" in text
        assert "a:b=[/x]" in text
        assert "\x1b" not in text


def test_newest_point_of_each_learner_and_partition_makes_a_row(board: Dashboard) -> None:
    for offset in (99, 199):
        for partition in (1, 0):
            for learner in ("pa1", "arow"):
                board.add_point(point(offset, partition, learner, accuracy=offset / 1000))
    rows = board.rows()
    assert [(row.partition, row.learner) for row in rows] == [(0, "pa1"), (0, "arow"), (1, "pa1"), (1, "arow")]
    assert {row.point["accuracy"] for row in rows} == {0.199}
    assert {row.rows for row in rows} == {200}


def test_only_models_of_the_newest_plan_are_shown_the_champion_first(board: Dashboard) -> None:
    for learner in ("pa1", "arow", "dfop"):
        board.add_point(point(99, 0, learner))
        board.add_point(point(99, 1, learner))
    for learner in ("arow", "pa1"):
        board.add_point(point(199, 0, learner, plan=2))
    board.add_point(point(149, 0, "dfop"))
    shown = [(row.partition, row.learner) for row in board.rows()]
    assert shown == [(0, "arow"), (0, "pa1"), (1, "pa1"), (1, "arow"), (1, "dfop")]


def test_a_repeated_older_point_changes_nothing(board: Dashboard) -> None:
    board.add_point(point(199))
    board.add_point(point(99, accuracy=0.1))
    (row,) = board.rows()
    assert (row.rows, row.point["offset"], row.history) == (200, 199, (0.9,))


def test_lag_is_the_end_of_the_log_minus_the_offsets_with_an_outcome(board: Dashboard) -> None:
    board.add_point(point(99))
    assert board.rows()[0].lag is None
    board.ends({0: 150})
    assert board.rows()[0].lag == 50
    board.add_outcome(0, 149)
    assert (board.rows()[0].lag, board.rows()[0].rows) == (0, 150)
    board.add_outcome(0, 120)  # arrives late
    assert board.rows()[0].rows == 150


def test_rate_is_measured_on_the_clock_and_falls_to_zero_when_nothing_comes(board: Dashboard, clock: Clock) -> None:
    board.add_outcome(0, 0)
    assert board.rows()[0].rows_per_second is None
    for _ in range(40):
        clock.now += 0.25
        board.add_outcome(0, board.rows()[0].rows - 1 + 250)
    assert board.rows()[0].rows_per_second == pytest.approx(1000)
    clock.now += 2.5
    assert board.rows()[0].rows_per_second == pytest.approx(500)
    clock.now += 60
    assert board.rows()[0].rows_per_second == 0
    board.add_outcome(0, board.rows()[0].rows - 1 + 100)  # after a pause: the rate of the last seconds
    assert board.rows()[0].rows_per_second == pytest.approx(20)


def test_the_rate_of_earlier_points_follows_from_their_timestamps(board: Dashboard, clock: Clock) -> None:
    for i in range(11):
        board.add_point(point(100 * i + 99), written_at=clock.now - 5 + i * 0.5)
    assert board.rows()[0].rows_per_second == pytest.approx(200)


def test_predictions_without_a_point_make_a_row_without_learner(board: Dashboard) -> None:
    board.add_outcome(3, 9)
    board.ends({3: 10})
    (row,) = board.rows()
    assert (row.as_object()["learner"], row.rows, row.lag) == (None, 10, 0)


def test_the_newest_prediction_is_shown_with_its_confidence_beside_the_champion(board: Dashboard) -> None:
    for learner, figures in (("pa1", {"window_coverage": 0.912, "window_set_size": 1.25}), ("arow", {})):
        board.add_point({**point(99), "learner": learner, **figures})
    board.predict(0, 120, {"prediction": "UP", "probability": 0.75, "set": ["UP", "DOWN"]})
    board.predict(0, 110, {"prediction": "DOWN", "probability": 0.5, "set": []})
    champion, challenger = board.rows()
    assert champion.as_object()["newest_prediction"]["prediction"] == "UP"
    assert "newest_prediction" not in challenger.as_object()
    first, second = lines(board.rows())
    assert "coverage 91.2 %" in first
    assert "set size 1.25" in first
    assert "newest UP: 75.0 %, {UP, DOWN}" in first
    assert "newest" not in second
    assert "UP: 75.0 %, {UP, DOWN}" in drawn(board.rows(), 200)
    assert "UP: 75.0 %" not in drawn(board.rows(), 80)
    board.predict(0, 130, {"prediction": 0.123456, "low": None, "high": 2.5})
    assert "newest 0.1235: none to 2.5" in lines(board.rows())[0]


def test_rows_become_objects_and_lines(board: Dashboard) -> None:
    board.add_point(point(999, no_change_accuracy=0.5, majority_accuracy=None, kappa_temporal=0.75))
    board.ends({0: 1500})
    (row,) = board.rows()
    assert row.as_object() == {
        **point(999, no_change_accuracy=0.5, majority_accuracy=None, kappa_temporal=0.75),
        "offsets": 1000,
        "rows_per_second": None,
        "lag": 500,
        "rejected": {},
        "labels_set_aside": {},
        "drifts": {},
        "last_drift": None,
        "rows_since_drift": None,
    }
    (line,) = lines([row])
    for piece in ("offsets 1,000", "lag 500", "window 90.0 %", "no-change 50.0 %", "majority -", "kappa-temporal 0.75"):
        assert piece in line
    assert lines([]) == ["no accuracy points yet"]


def test_a_difference_between_clocks_is_shown(board: Dashboard) -> None:
    board.add_point(point(999, waiting=3))
    assert board.delayed_partitions == [0]
    board.clocks = {
        0: {"wrong_timestamps": 12, "furthest_ms": 1_800_000, "labels_waiting": 4, "labels_ahead_ms": 1_799_000}
    }
    rows = board.rows()
    assert rows[0].as_object()["clocks"] == board.clocks[0]
    assert lines(rows)[0] == (
        "clocks of partition 0: 12 timestamps ahead or behind, by up to 1,800 s; "
        "4 labels wait, the newest 1,799 s ahead of the events"
    )
    board.clocks = {0: {"labels_waiting": 1, "labels_ahead_ms": -600_000}}
    assert lines(board.rows())[0] == "clocks of partition 0: 1 label waits, the newest 600 s behind the events"
    board.clocks = {0: {"wrong_timestamps": 0, "furthest_ms": 0}}
    assert len(lines(board.rows())) == 1


def test_points_of_a_regression_have_their_own_line(board: Dashboard) -> None:
    errors = {"window_mse": 4.0, "mse": 5.0, "mae": 1.5, "r2": 0.25}
    board.add_point({"partition": 0, "offset": 9, "learner": "rls", "labels": 10, "window": 10, **errors})
    (row,) = board.rows()
    assert row.history == (4.0,)
    assert "window mse 4  mse 5  mae 1.5  r2 0.25" in lines([row])[0]


def test_sparkline_shows_a_dip_and_calls_noise_flat() -> None:
    dip, noise = (0.9, 0.9, 0.7, 0.9), (0.900, 0.901, 0.902)
    assert sparkline(dip, scale([dip])) == BLOCKS[-1] * 2 + BLOCKS[0] + BLOCKS[-1]
    assert len(grouped(tuple(i / 100 for i in range(95)), 24)) <= 24
    assert len(set(sparkline(noise, scale([noise])))) == 1
    assert sparkline((), scale([])) == ""


def test_sparklines_of_a_table_share_one_scale_that_is_shown(board: Dashboard) -> None:
    """Two learners at 60 % and at 90 % do not look alike."""
    for offset in range(0, 1000, 100):
        for learner, accuracy in (("good", 0.9), ("poor", 0.6)):
            board.add_point({"partition": 0, "offset": offset, "learner": learner, "window_accuracy": accuracy})
    text = drawn(board.rows(), 140)
    assert BLOCKS[-1] * 10 in text
    assert BLOCKS[0] * 10 in text
    assert "60.0 % to 90.0 %" in text


@pytest.mark.parametrize("width", [60, 80, 100, 140])
def test_no_number_is_cut_on_a_narrow_terminal(board: Dashboard, width: int) -> None:
    learner = "dfop:mu=0.001,rho=0.95"
    board.add_point(
        point(123_456_789, no_change_accuracy=0.5, majority_accuracy=0.25, kappa_temporal=0.75) | {"learner": learner}
    )
    board.ends({0: 987_654_321})
    text = drawn(board.rows(), width)
    assert max(map(len, text.splitlines())) <= width
    for number in ("123,456,790", "864,197,531", "90.0 %"):
        assert number in text, text
    assert "\u2026" not in text
    assert ("0.75" in text) is (width >= 140)


def test_rejections_and_a_silent_broker_are_reported(board: Dashboard) -> None:
    board.add_point(point(99))
    for kind in ("label", "not-json", "not-json"):
        board.reject(0, kind)
    (row,) = board.rows()
    assert row.as_object()["rejected"] == {"not-json": 2, "label": 1}
    text = lines([row], silence(12.3))
    assert text[0] == "rejected lately: not-json 2, label 1 (driftway rejected shows them)"
    assert text[1] == "the broker has not answered for 12 s; asking again"
    assert "rejected lately: not-json 2, label 1" in drawn([row], 80)


def test_the_last_drift_is_reported_by_partition(board: Dashboard) -> None:
    """The number of rows since it and the number of drifts; a repeated alarm counts once."""
    for partition in (0, 1):
        for learner in ("pa1", "arow"):
            board.add_point(point(1999, partition, learner))
    for detector, offset in (("ddm:drift=2", 700), ("adwin", 640), ("ddm:drift=2", 1300), ("ddm:drift=2", 700)):
        board.alarm({"detector": detector, "partition": 1, "offset": offset})
    rows = board.rows()
    fields = rows[2].as_object()
    assert fields["drifts"] == {"ddm:drift=2": 2, "adwin": 1}
    assert fields["last_drift"] == {"detector": "ddm:drift=2", "offset": 1300}
    assert fields["rows_since_drift"] == 699
    assert ["drift ddm 699 (3)" in line for line in lines(rows)] == [False, False, True, True]
    for width in (60, 80, 140):
        text = drawn(rows, width)
        assert text.count("ddm 699 (3)") == 1, text
        assert max(map(len, text.splitlines())) <= width
    assert "drift" not in drawn(rows[:2], 140)


def test_an_alarm_beyond_the_other_records_counts_as_rows(board: Dashboard) -> None:
    board.alarm({"detector": "adwin", "partition": 0, "offset": 41})
    (row,) = board.rows()
    assert (row.rows, row.rows_since_drift, row.learner) == (42, 0, "")


def test_the_outcome_counter_finds_gaps_duplicates_and_unexpected_offsets() -> None:
    ledger = OutcomeCounter()
    for offset in (0, 1, 1, 3, 5):
        ledger.count(0, offset, rejected=offset == 3)
    assert not ledger.complete({0: 5})
    (account,) = ledger.partition_counts({0: 5})
    assert (account.predicted, account.rejected) == (4, 1)
    assert (account.missing, account.repeated, account.beyond) == (2, 1, 1)
    assert not account.exact


def test_the_outcome_counter_is_exact_only_when_every_partition_is_complete() -> None:
    ledger = OutcomeCounter()
    for offset in range(10):
        ledger.count(1, offset)
    assert ledger.complete({0: 0, 1: 10})
    assert not ledger.complete({0: 1, 1: 10})
    assert [account.exact for account in ledger.partition_counts({0: 0, 1: 10})] == [True, True]
    assert [account.missing for account in ledger.partition_counts({0: 2, 1: 11})] == [2, 1]
