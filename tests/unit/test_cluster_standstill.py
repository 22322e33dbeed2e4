"""What the bench of a cluster's faults counts: silences of each partition, rows seen twice or never."""

from __future__ import annotations

import time

import pytest

from driftway.worker.errors import UsageFailure
from tests.bench.output_reader import SeenRows
from tests.bench.restarted_workers import RestartedWorkers
from tests.bench.standstill_page import count_table, draw, silence_table, together
from tests.support.kafka import await_until

RESULT = {
    "rows": 1200,
    "counts": {
        "input": {"twice": 0, "never": 0, "restarts": 0},
        "driftway": {"twice": 0, "never": 0, "restarts": 0},
        "peer": {"twice": 3, "never": 4, "restarts": 1},
    },
    "rounds": [
        {"fault": "kill", "leaders": 9.0, "silences": {"input": 9.5, "driftway": 10.0, "peer": 20.0}},
        {"fault": "kill", "leaders": 11.0, "silences": {"input": 10.5, "driftway": 14.0, "peer": 12.0}},
        {"fault": "restart", "leaders": None, "silences": {"input": 0.5, "driftway": 1.0, "peer": 0.7}},
    ],
}


def seen(partitions: int, *rows: tuple[int, float]) -> SeenRows:
    found = SeenRows(partitions)
    for row, at in rows:
        found.see(row, (0, row), at)
    return found


def test_a_silence_is_that_of_one_partition() -> None:
    found = seen(2, (0, 0.0), (1, 0.0), (2, 1.0), (4, 2.0), (6, 3.0), (3, 3.0))
    assert found.longest_silence(0.0, 3.5) == 3.0


def test_a_silence_that_continues_counts_up_to_now_and_an_earlier_one_from_the_window_on() -> None:
    found = seen(1, (0, 0.0), (1, 6.0))
    assert found.longest_silence(2.0, 13.0) == 7.0
    assert found.longest_silence(2.0, 9.0) == 4.0


def test_a_partition_that_was_never_seen_is_silent_all_the_time() -> None:
    found = seen(2, (0, 1.0))
    assert found.longest_silence(0.0, 5.0) == 5.0
    assert not found.seen_since(0.0)


def test_a_row_at_two_places_was_written_twice_and_one_read_again_was_not() -> None:
    found = seen(1, (0, 0.0), (0, 1.0), (1, 1.0))
    assert found.repeated == []
    found.see(1, (1, 7), 2.0)
    assert found.repeated == [1]
    assert found.missing(4) == 2


def test_a_row_that_the_input_has_twice_has_two_predictions() -> None:
    written, once, twice, thrice = (seen(1, (0, 0.0), (1, 0.0)) for _ in range(4))
    for found, times in ((written, 1), (twice, 1), (thrice, 2)):
        for i in range(times):
            found.see(1, (0, 10 + i), 1.0)
    assert [found.beyond(written) for found in (once, twice, thrice)] == [(0, 1), (0, 0), (1, 0)]


def test_rows_beyond_those_sent_replace_none_that_is_missing() -> None:
    assert seen(1, (0, 0.0), (9, 1.0)).missing(2) == 1


def test_the_tables_have_every_round_and_the_median() -> None:
    lines = silence_table(RESULT).splitlines()
    assert lines[0] == "| fault | leaders | input | driftway | peer |"
    assert lines[2].endswith("| **12.0** (10.0, 14.0) | **16.0** (20.0, 12.0) |")
    assert lines[3] == "| restart | – | **0.5** (0.5) | **1.0** (1.0) | **0.7** (0.7) |"
    assert count_table(RESULT).splitlines()[-1] == "| peer | 1,200 | 3 | 4 | 1 |"


def test_runs_are_put_together() -> None:
    both = together([RESULT, {**RESULT, "rows": 800}])
    assert silence_table(both).splitlines()[2].endswith("| **16.0** (20.0, 12.0, 20.0, 12.0) |")
    assert count_table(both).splitlines()[-1] == "| peer | 2,000 | 6 | 8 | 2 |"


def test_the_picture_is_drawn(tmp_path) -> None:
    pytest.importorskip("matplotlib")
    path = tmp_path / "found.png"
    draw({"one": RESULT, "other": RESULT}, str(path))
    assert path.read_bytes().startswith(b"\x89PNG")
    with pytest.raises(UsageFailure):
        draw({"one": RESULT}, str(tmp_path / "found.txt"))


def test_a_process_that_ends_is_counted_and_started_again_with_its_environment(tmp_path) -> None:
    started = tmp_path / "started"
    script = f'echo "$WORD" >> {started}; exit 3'
    with RestartedWorkers("short", [["sh", "-c", script]], [{"WORD": "hello"}]) as kept:
        await_until(lambda: started.exists() and len(started.read_text().split()) >= 2, 20.0, "started twice")
    assert set(started.read_text().split()) == {"hello"}
    assert kept.ended[0] == 3
    count = len(started.read_text().split())
    time.sleep(1.5)  # not waiting for a condition: nothing may be started any more
    assert len(started.read_text().split()) == count
