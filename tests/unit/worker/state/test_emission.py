"""Whose predictions are written for which rows, as the records beside the snapshots say."""

from __future__ import annotations

import numpy as np
import pytest

from driftway.worker.settings.option_values import CHAMPION_ONLY, EVERY_MODEL
from driftway.worker.state.changelog.commit_record import CommitRecord
from driftway.worker.state.changelog.emission import Emission, Emissions
from driftway.worker.state.changelog.record_keys import emission_key, mark_key
from driftway.worker.state.changelog.snapshot_scan import SnapshotScan
from driftway.worker.state.stored_fields import Malformed


def test_without_records_only_the_champions_predictions_are_written() -> None:
    assert Emissions({}).at(0) == CHAMPION_ONLY
    assert Emissions({}).next_change(0) is None
    assert not Emissions({}).every_model(np.arange(5)).any()


def test_each_record_applies_from_its_offset_on() -> None:
    found = Emissions({20: CHAMPION_ONLY, 10: EVERY_MODEL, 30: EVERY_MODEL})
    rows = np.arange(40)
    every = [10 <= row < 20 or row >= 30 for row in rows.tolist()]
    assert found.every_model(rows).tolist() == every
    assert [found.at(row) == EVERY_MODEL for row in rows.tolist()] == every
    assert [found.next_change(row) for row in (0, 9, 10, 29, 30, 99)] == [10, 10, 20, 30, None, None]


@pytest.mark.parametrize("value", [None, b"", b"[]", b"{}", b'{"offset":1}', b'{"offset":-1,"emit":"all"}',
                                   b'{"offset":1,"emit":"some"}', b'{"offset":1,"emit":1}'])  # fmt: skip
def test_a_record_without_the_field_is_refused(value: bytes | None) -> None:
    with pytest.raises(Malformed):
        Emission.parse(value)


def test_records_are_read_back() -> None:
    assert Emission.parse(Emission(7, EVERY_MODEL).write()) == Emission(7, EVERY_MODEL)
    assert CommitRecord.parse(CommitRecord(7, emit=EVERY_MODEL).write()).emit == EVERY_MODEL
    assert b"emit" not in CommitRecord(7).write(), (
        "groups that never wrote others' predictions have the records of before"
    )
    with pytest.raises(Malformed, match="emit is some"):
        CommitRecord.parse(CommitRecord(7, emit="some").write())


def test_a_new_history_begins_without_the_records_of_the_previous_one() -> None:
    scan = SnapshotScan(3, 0, 99)
    scan.take(0, emission_key(3, 5), Emission(5, EVERY_MODEL).write())
    scan.take(1, emission_key(3, 6), b"?")
    scan.take(2, emission_key(33, 8), Emission(8, EVERY_MODEL).write())
    assert scan.emissions == {5: EVERY_MODEL}
    scan.take(3, mark_key(3), b"0")
    assert scan.emissions == {}
