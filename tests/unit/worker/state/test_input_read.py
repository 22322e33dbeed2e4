"""What a state has read of its input: stored and parsed, and compared with what is read again."""

from __future__ import annotations

from typing import Any

import pytest

from driftway.worker.state import snapshot
from driftway.worker.state.changelog.commit_record import CommitRecord
from driftway.worker.state.changelog.input_count import InputCount, RecordsDiffer, TopicRecreated, require_topics
from driftway.worker.state.changelog.new_topic import NewTopic
from driftway.worker.state.changelog.snapshot_pointer import AT_LEAST_ONCE_SUFFIX, Pointer
from driftway.worker.state.input_read import NOTHING_KNOWN, InputRead
from driftway.worker.state.model import Model
from tests.unit.worker.rows import model_settings

READS = [InputRead(0, 40, "MsOKmXRvQDizz15mW_lP-w", "lD0ctvYnRT-PpAL-DOaXjw"), InputRead(7, 0, "a"), InputRead(7, 3)]


@pytest.mark.parametrize("read", [*READS, InputRead(topic="a"), InputRead(7, 3, epoch=0), NOTHING_KNOWN])
def test_the_value_is_read_as_it_was_written(read: InputRead) -> None:
    assert InputRead.from_dict(read.as_dict()) == read
    record = CommitRecord(700, 500, Pointer(12, 3, 600), input_read=read)
    assert CommitRecord.read(record.write()) == record
    model = Model(model_settings(), 3)
    header = snapshot.read_snapshot_header(snapshot.write(model, model.save(), 5, read=read))
    assert header is not None
    assert header.read == read


@pytest.mark.parametrize("epochs", [(None, 3, None), (3,), (1, 3, 2)])
def test_the_highest_leader_epoch_is_kept(epochs: tuple[int | None, ...]) -> None:
    count = InputCount()
    count.restart(InputRead(7, 3), None, 0)
    for epoch in epochs:
        count.seen(epoch)
    assert count.read == InputRead(7, 3, epoch=3)


@pytest.mark.parametrize("epoch", ["3", None, True, 1.5])
def test_an_epoch_that_is_not_a_number_is_unknown(epoch: Any) -> None:
    assert InputRead.from_dict({"since": 7, "records": 3, "epoch": epoch}) == InputRead(7, 3)


@pytest.mark.parametrize("read", READS)
def test_the_value_is_read_from_metadata_as_it_was_written(read: InputRead) -> None:
    pointer = Pointer(12, 3, 600)
    text = pointer.text() + AT_LEAST_ONCE_SUFFIX + read.metadata()
    assert Pointer.parse(text) == pointer
    assert InputRead.parse(text.partition(AT_LEAST_ONCE_SUFFIX)[2]) == read


@pytest.mark.parametrize("text", ["", ":", ":a:1::", ":1:2:a b:", ":99999999999999999999999:1::", ":1:2::\n"])
def test_other_metadata_gives_no_value(text: str) -> None:
    assert InputRead.parse(text) == NOTHING_KNOWN


@pytest.mark.parametrize("plain", [None, 3, [], {"since": "0"}, {"since": True, "records": 1}, {"topic": 3}])
def test_other_values_give_no_value(plain: Any) -> None:
    assert InputRead.from_dict(plain) == NOTHING_KNOWN


def test_records_of_earlier_versions_are_read() -> None:
    assert CommitRecord.read(b'{"offset":5,"previous":3,"pointer":"driftway1:1:1:3","outputs":{}}') == CommitRecord(
        5, 3, Pointer(1, 1, 3), set_aside_from=5
    )
    assert Pointer.parse("driftway1:12:3:600:plain") == Pointer.parse("driftway1:12:3:600") == Pointer(12, 3, 600)


@pytest.mark.parametrize("value", [None, b"", b"3", b"{}", b'{"topic":"a","ends":{"x":null}}'])
def test_an_unreadable_record_of_a_new_topic_is_ignored(value: bytes | None) -> None:
    assert NewTopic.read(value) is None
    assert NewTopic.read(NewTopic("a", {"x": 3}).write()) == NewTopic("a", {"x": 3})


def test_a_different_topic_id_is_detected_only_if_both_are_known() -> None:
    read = InputRead(0, 5, "a", "b")
    for ids in ((None, None), ("a", "b"), ("a", None)):
        require_topics(read, *ids)
        require_topics(NOTHING_KNOWN, *ids)
    for ids, word in ((("c", "b"), "input"), (("a", "c"), "label")):
        with pytest.raises(TopicRecreated, match=f"the {word} topic was deleted and recreated"):
            require_topics(read, *ids)


@pytest.mark.parametrize("found", [9, 11])
def test_a_different_count_is_refused_once_all_has_been_read_again(found: int) -> None:
    count = InputCount()
    count.restart(InputRead(0, 4), InputRead(0, 10), 20)
    count.add(2, 15)
    assert count.waiting
    with pytest.raises(RecordsDiffer, match="the committed state stands for 10 records since offset 0"):
        count.add(found - 6, 20)
    assert not count.waiting
    assert count.gap is not None
    assert count.gap.missing == 10 - found


@pytest.mark.parametrize(
    ("read", "expected"),
    [(InputRead(0, 4), InputRead(0, 10)), (InputRead(0, 4), None), (InputRead(0, 4), InputRead(3, 1)),
     (InputRead(0, 4), NOTHING_KNOWN)],
)  # fmt: skip
def test_an_equal_count_and_counts_from_other_offsets_are_accepted(read: InputRead, expected: InputRead | None) -> None:
    count = InputCount()
    count.restart(read, expected, 20)
    count.add(6, 20)
    assert not count.waiting
    assert count.gap is None
    assert count.read.records == 10
