"""The state at any offset equals that of a run stopped there, also after export and import; explanations agree.

One group reads one input of two partitions in two runs of its worker; all tests use the resulting log.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result
from confluent_kafka import KafkaException, TopicPartition

from driftway import cli
from driftway.worker.admin.state_admin.listing import StoredSnapshot, list_snapshots
from driftway.worker.admin.state_admin.source import GroupPartition, find_partitions, settings_for
from driftway.worker.admin.state_admin.state_at_offset import state_at
from driftway.worker.kafka.deadline import Deadline
from driftway.worker.kafka.error_handling import ErrorAction, classify
from driftway.worker.state import model_file
from driftway.worker.state.changelog.record_keys import chunk_key, mark_key
from driftway.worker.state.changelog.snapshot_pointer import Pointer
from driftway.worker.state.model import Model, SavedState
from driftway.worker.state.outputs import Outputs
from driftway.worker.stream.task.committing.exactly_once import ExactlyOnceCheckpoint
from driftway.worker.wire.codec import encode_events
from driftway.worker.wire.columns import ListColumn
from tests.support.audit import bits, placed_score
from tests.support.kafka import admin, committed_offset, create_topic, produce, read_all, unique
from tests.support.process import Driftway
from tests.support.process import driftway as run
from tests.unit.worker.rows import drifting, model_settings, records

ROWS, FIRST = 1000, 400
"""Rows per partition, and those learned by the first run."""
LEARNERS = ("dfop:mu=0.01", "perceptron")
OPTIONS = ("--learner", LEARNERS[0], "--learner", LEARNERS[1], "--accuracy-every", "100", "--metric-window", "200")
NAMES = ("demand", "price", "transfer", "weekday")
MODEL = model_settings(*LEARNERS, accuracy_every=100, window=200)


@dataclass
class LearnedInput:
    """An input learned by a group, with snapshots at FIRST and ROWS."""

    bootstrap: str
    topic: str
    group: str
    values: dict[int, list[bytes]]

    @property
    def prefix(self) -> str:
        """Common prefix of the names of the group's outputs."""
        return f"{self.topic}.{self.group}"

    def source(self, partition: int = 0, group: str | None = None) -> GroupPartition:
        (found,) = find_partitions(settings_for(self.bootstrap, self.topic, group or self.group, {}), partition)
        return found

    def call(self, *arguments: str, group: str | None = None) -> Result:
        place = ("--bootstrap", self.bootstrap, "--input", self.topic, "--group", group or self.group)
        return CliRunner().invoke(cli.main, [*arguments, *place])

    def sentence(self, *arguments: str, group: str | None = None, code: int) -> str:
        found = self.call(*arguments, group=group)
        assert found.exit_code == code, (found.output, found.exception)
        return found.stderr.splitlines()[-1]

    def worker(self, group: str, *more: str) -> tuple[str, ...]:
        return (
            "worker", "--input", self.topic, "--group", group, "--bootstrap", self.bootstrap,
            *OPTIONS, "--snapshot-rows", "1", *more,
        )  # fmt: skip

    def offline(self, offset: int, partition: int = 0, first: int = 0) -> SavedState:
        """State of a plain model after rows `first` to `offset` - 1."""
        model = Model(MODEL, partition)
        if offset > first:
            model.advance(records(self.values[partition][first:offset], first, partition))
        return model.save()


@pytest.fixture(scope="module")
def learned_input(kafka: str) -> LearnedInput:
    made = LearnedInput(kafka, create_topic(kafka, unique("travel"), 2), unique("group"), {})
    for partition in (0, 1):
        X, y = drifting(ROWS, seed=partition)
        values = list(encode_events(X, y, 0, NAMES))
        for bad in (0, 1, 57, 399, 400, 733):
            values[bad] = b'{"x":{}}'
        made.values[partition] = values
    for first, last in ((0, FIRST), (FIRST, ROWS)):
        for partition, values in made.values.items():
            produce(kafka, made.topic, values[first:last], partition)
        ended = run(*made.worker(made.group, "--stop-at-end"))
        assert ended.code == 0, ended
    return made


def same(found: SavedState, expected: SavedState) -> bool:
    parts = [part.tobytes() for part in found.parts] == [part.tobytes() for part in expected.parts]
    return parts and (found.rows, found.schema) == (expected.rows, expected.schema)


def emitted(bootstrap: str, prefix: str) -> dict[tuple[int, int], bytes]:
    """(partition, offset) -> bits of its score in the predictions topic; each must be predicted once."""
    found: dict[tuple[int, int], bytes] = {}
    for record in read_all(bootstrap, f"{prefix}.predictions"):
        place, score = placed_score(record.value or b"")
        assert place not in found
        found[place] = bits(score)
    return found


def test_the_state_at_any_offset_equals_that_of_a_run_stopped_there(learned_input: LearnedInput) -> None:
    source = learned_input.source()
    written = {
        one.state_offset
        for one in list_snapshots(source.settings, 0, source.end).found
        if isinstance(one, StoredSnapshot)
    }
    assert written >= {FIRST, ROWS}
    drawn = np.random.default_rng(8).integers(0, ROWS + 1, 20).tolist()
    for offset in (0, 1, 2, 3, FIRST - 1, FIRST, FIRST + 1, ROWS, *drawn):
        arrival = state_at(source, offset)
        assert same(arrival.model.save(), learned_input.offline(offset)), offset
        assert arrival.base == max((one for one in written if one <= offset), default=None)


def test_list_shows_the_snapshots_and_the_committed_one(learned_input: LearnedInput) -> None:
    shown = json.loads(learned_input.call("snapshot", "list", "--json").stdout)
    assert [part["partition"] for part in shown["partitions"]] == [0, 1]
    for part in shown["partitions"]:
        found = part["found"]
        assert [(one["offset"], one["committed"]) for one in found][-1] == (ROWS, True)
        assert {one["offset"] for one in found} >= {FIRST, ROWS}
        assert found[-1]["rows"] == ROWS - 6
        assert found[-1]["learners"] == list(LEARNERS)
        assert part["committed"] == ROWS
    table = learned_input.call("snapshot", "list", "--partition", "1").stdout
    assert f"{learned_input.topic}/1: committed up to offset {ROWS}, the log holds 0 to {ROWS}" in table
    assert "<- committed" in table


def test_explain_adds_up_to_the_emitted_score(learned_input: LearnedInput) -> None:
    scores = emitted(learned_input.bootstrap, learned_input.prefix)
    for offset in (2, 58, 333, FIRST + 1, 999):
        explanation = json.loads(
            learned_input.call("explain", "--partition", "0", "--offset", str(offset), "--json").stdout
        )
        assert explanation["emitted"]["verdict"] == "same"
        assert bits(explanation["score"]) == scores[0, offset]
        assert {feature["name"] for feature in explanation["features"]} == set(NAMES)
        parts = [feature["contribution"] for feature in explanation["features"]]
        assert [abs(part) for part in parts] == sorted(map(abs, parts), reverse=True)
        assert abs(explanation["remainder"]) < 1e-12
    shown = learned_input.call("explain", "--partition", "0", "--offset", "999").stdout
    assert "the score is the emitted one, bit for bit" in shown


def test_explain_refuses_invalid_requests_with_the_reason(learned_input: LearnedInput) -> None:
    explain = ("explain", "--partition", "0", "--offset")
    assert "its log holds 0 to 1000" in learned_input.sentence(*explain, "1000", code=2)
    assert "was rejected: x lacks demand, price, transfer and 1 more" in learned_input.sentence(*explain, "733", code=1)
    assert "is not one of 0, 1" in learned_input.sentence(*explain, "7", "--class", "2", code=2)
    assert "leave --class out" in learned_input.sentence(*explain, "7", "--class", "0", code=2)
    assert "give --format json" in learned_input.sentence(*explain, "700", "--format", "packed", code=2)
    other = unique("group")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("driftway.worker.admin.explain.scores_for", lambda *_: [0.5])
        assert "emitted were [0.5]" in learned_input.sentence(*explain, "7", code=1)
        patch.setattr("driftway.worker.admin.explain.scores_for", lambda *_: None)
        assert "its prediction is not in its topic (any more)" in learned_input.call(*explain, "7").stdout
    assert f"no worker of group {other} has run" in learned_input.sentence(*explain, "7", group=other, code=2)


def test_an_exported_file_continues_in_another_group_with_the_same_bits(
    learned_input: LearnedInput, tmp_path: Path
) -> None:
    """The file has partition 1's state at an offset without a snapshot; rows follow in partition 0 of another input."""
    at, path = 617, str(tmp_path / "at.driftway")
    exported = learned_input.call("snapshot", "export", "--partition", "1", "--at", str(at), "--out", path)
    assert exported.exit_code == 0, exported.output
    file = model_file.load(path)
    assert (file.offset, file.partition) == (at, 1)
    assert (file.origin or {})["group"] == learned_input.group
    assert same(file.saved, learned_input.offline(at, 1))
    moved = LearnedInput(
        learned_input.bootstrap, create_topic(learned_input.bootstrap, unique("moved")), unique("group"), {}
    )
    produce(learned_input.bootstrap, moved.topic, learned_input.values[1][600:])
    begin = at - 600
    placed = "snapshot", "import", path, "--partition", "0", "--at"
    assert "other than printable ASCII" in moved.sentence(*placed, str(begin), group="größe", code=2)
    import_done = moved.call(*placed, str(begin))
    assert import_done.exit_code == 0, import_done.output
    offset, metadata = committed_offset(learned_input.bootstrap, moved.group, moved.topic)
    pointer = Pointer.parse(metadata)
    assert (offset, pointer and pointer.state_offset) == (begin, begin)
    with Driftway(*moved.worker(moved.group, "--commit-interval", "0.05")) as worker:
        worker.await_condition(
            lambda: committed_offset(learned_input.bootstrap, moved.group, moved.topic)[0] == 400, "read"
        )
        refused = moved.sentence("snapshot", "import", path, "--partition", "0", "--at", "0", code=1)
        assert f"group {moved.group} has 1 member: stop its workers before the import" in refused
        worker.terminate()
        assert worker.wait() == 0, worker.summary()
    found = emitted(moved.bootstrap, moved.prefix)
    assert {offset + 600 for _, offset in found} == set(range(at, ROWS)) - {733}
    original = emitted(learned_input.bootstrap, learned_input.prefix)
    assert all(scores == original[1, offset + 600] for (_, offset), scores in found.items())
    assert same(state_at(moved.source(), None).model.save(), learned_input.offline(ROWS, 1))
    assert same(state_at(moved.source(), 200).model.save(), learned_input.offline(800, 1))
    refused = moved.sentence("snapshot", "show", "--partition", "0", "--at", str(begin - 1), code=4)
    assert f"a state that was imported or kept; the earliest available one is at {begin}" in refused
    assert "a new history began with a state that was imported or kept" in moved.call("snapshot", "list").stdout
    audit = moved.call("audit", *OPTIONS)
    assert audit.exit_code == 0, audit.output
    assert f"offsets before {begin} cannot be checked; the snapshot at" in audit.output


@pytest.mark.slow
def test_a_group_whose_offset_an_import_has_moved_passes_the_audit(learned_input: LearnedInput, tmp_path: Path) -> None:
    """Its outputs have the same offsets twice: those from before the import belong to an abandoned history."""
    path, back = str(tmp_path / "back.driftway"), 150
    moved = LearnedInput(
        learned_input.bootstrap, create_topic(learned_input.bootstrap, unique("back")), unique("group"), {}
    )
    produce(learned_input.bootstrap, moved.topic, learned_input.values[0][:450])
    assert run(*moved.worker(moved.group, "--stop-at-end")).code == 0
    assert moved.call("snapshot", "export", "--partition", "0", "--at", str(back), "--out", path).exit_code == 0
    for _ in range(2):
        import_done = moved.call("snapshot", "import", path, "--partition", "0", "--at", str(back))
        assert import_done.exit_code == 0, import_done.output
        assert run(*moved.worker(moved.group, "--stop-at-end")).code == 0
        audit = moved.call("audit", *OPTIONS)
        assert audit.exit_code == 0, audit.output
        assert f"offsets before {back} cannot be checked, since a new history began; the snapshot at" in audit.output
    produce(learned_input.bootstrap, moved.topic, learned_input.values[0][450:500])
    assert moved.call("snapshot", "import", path, "--partition", "0", "--at", "470").exit_code == 0  # this skips rows
    assert run(*moved.worker(moved.group, "--stop-at-end")).code == 0
    audit = moved.call("audit", *OPTIONS)
    assert audit.exit_code == 0, audit.output
    assert "offsets before 470 cannot be checked, since a new history began; the snapshot at" in audit.output
    produce(learned_input.bootstrap, f"{moved.prefix}.predictions", [b'{"offset":480}'])
    assert "surplus prediction" in moved.sentence("audit", *OPTIONS, code=1)


def test_an_import_that_does_not_fit_is_refused(learned_input: LearnedInput, tmp_path: Path) -> None:
    path = str(tmp_path / "other.driftway")
    model = Model(replace(MODEL, window=300), 0)
    model.advance(records(learned_input.values[0][:50], 0, 0))
    model_file.save(path, model_file.pack(model, model.save(), 50))
    plant = ("snapshot", "import", path, "--partition", "0", "--at")
    assert "offset 1001 is not in" in learned_input.sentence(*plant, "1001", code=2)
    assert "has window 300, group" in learned_input.sentence(*plant, "1000", code=1)
    listed = Model(MODEL, 0)
    listed.advance(records(list(encode_events(*drifting(20), 0)), 0, 0))
    model_file.save(path, model_file.pack(listed, listed.save(), 20))
    assert "learns from 4 features without names, group" in learned_input.sentence(*plant, "1000", code=1)
    assert "there is no partition 2" in learned_input.sentence(*plant[:3], "--partition", "2", "--at", "0", code=2)
    assert committed_offset(learned_input.bootstrap, learned_input.group, learned_input.topic)[0] == ROWS, (
        "nothing was changed"
    )
    other = unique("group")
    assert learned_input.call(*plant, "1000", group=other).exit_code == 0
    model_file.save(path, model_file.pack(model, model.save(), 50))
    assert learned_input.call(*plant, "999", "--force", group=other).exit_code == 0
    assert committed_offset(learned_input.bootstrap, other, learned_input.topic)[0] == 999
    assert same(state_at(learned_input.source(0, other), None).model.save(), model.save())


def test_an_import_fences_remaining_workers_and_can_be_fenced_itself(
    learned_input: LearnedInput, tmp_path: Path
) -> None:
    path, group = str(tmp_path / "0.driftway"), unique("group")
    assert learned_input.call("snapshot", "export", "--partition", "0", "--out", path).exit_code == 0
    settings = learned_input.source().settings
    create_topic(learned_input.bootstrap, f"{learned_input.topic}.{group}.predictions", 2)
    zombie = ExactlyOnceCheckpoint(replace(settings, group=group), 0)
    zombie.acquire(Deadline(30))
    zombie.produce(Outputs(5, predictions=ListColumn([b"of a dead worker"]), keys=ListColumn([None])))
    plant = ("snapshot", "import", path, "--partition", "0", "--at", "5")
    assert learned_input.call(*plant, group=group).exit_code == 0
    with pytest.raises(KafkaException) as fenced:
        zombie.sender.commit_transaction(30)
    assert classify(fenced.value.args[0]) is ErrorAction.FENCED
    zombie.close_producer()
    late = ExactlyOnceCheckpoint(replace(settings, group=group), 0)
    calls = iter([lambda: None, lambda: late.acquire(Deadline(30))])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("driftway.worker.admin.state_admin.import_state.require_no_members", lambda _: next(calls)())
        refused = learned_input.sentence(*plant[:-1], "6", group=group, code=3)
    late.close_producer()
    assert f"another worker of group {group} has taken over meanwhile" in refused
    assert committed_offset(learned_input.bootstrap, group, learned_input.topic)[0] == 5


def crafted_history(learned_input: LearnedInput, saved_from: int, began: int = 0) -> str:
    """A group whose history mark is `began`, but whose snapshot at 300 was learned from `saved_from` on."""
    group = unique("group")
    topic = create_topic(learned_input.bootstrap, f"{learned_input.topic}.{group}.snapshots", 2)
    model = Model(MODEL, 0)
    model.load(learned_input.offline(300, 0, saved_from))
    blob = model_file.pack(model, model.save(), 300)
    produce(learned_input.bootstrap, topic, [b"%d" % began, blob], keys=[mark_key(0), chunk_key(0, 0)])
    return group


def test_a_history_that_did_not_begin_empty_is_detected(learned_input: LearnedInput) -> None:
    show = ("snapshot", "show", "--partition", "0", "--at")
    true, false, late = (
        crafted_history(learned_input, 0),
        crafted_history(learned_input, 10),
        crafted_history(learned_input, 100, 100),
    )
    assert same(state_at(learned_input.source(0, true), 200).model.save(), learned_input.offline(200))
    refused = learned_input.sentence(*show, "200", group=false, code=4)
    assert "its learners did not start empty at 0, or skipped rows; the earliest available one is at 300" in refused
    assert same(state_at(learned_input.source(0, late), 200).model.save(), learned_input.offline(200, 0, 100))
    refused = learned_input.sentence(*show, "99", group=late, code=4)
    assert f"the present history of group {late} began at 100; the earliest available one is at 300" in refused


def test_a_history_that_began_with_a_model_file_needs_the_file(learned_input: LearnedInput, tmp_path: Path) -> None:
    path, group = str(tmp_path / "warm.driftway"), unique("group")
    assert learned_input.call("snapshot", "export", "--partition", "1", "--out", path).exit_code == 0
    warm = model_file.load(path).warm_start(frozen=True)
    model = Model(replace(MODEL, warm=warm), 0)
    model.advance(records(learned_input.values[0][:200], 0, 0))
    expected = model.save()
    model.advance(records(learned_input.values[0][200:300], 200, 0))
    topic = create_topic(learned_input.bootstrap, f"{learned_input.topic}.{group}.snapshots", 2)
    produce(learned_input.bootstrap, topic, [model_file.pack(model, model.save(), 300)], keys=[chunk_key(0, 0)])
    refused = learned_input.sentence("snapshot", "show", "--partition", "0", "--at", "200", group=group, code=4)
    assert f"its history began with model file {warm.digest}, which --warm-start must name" in refused
    out = str(tmp_path / "out.driftway")
    way = ("--partition", "0", "--at", "200", "--warm-start", path, "--out", out)
    assert learned_input.call("snapshot", "export", *way, group=group).exit_code == 0
    assert same(model_file.load(out).saved, expected)
    explained = learned_input.call("explain", "--partition", "0", "--offset", "2", "--warm-start", path, group=group)
    assert explained.output.startswith("frozen:dfop:mu=0.01 predicted")
    assert "the group has not predicted it yet" in explained.output


def test_states_after_damage_and_retention_are_recomputed_or_refused(learned_input: LearnedInput) -> None:
    """This must be the last test of the file, as it deletes rows of partition 1."""
    blob = model_file.pack(Model(MODEL, 1), learned_input.offline(ROWS, 1), ROWS)
    topic = learned_input.source(1).settings.topics.snapshots
    produce(learned_input.bootstrap, topic, [blob[:-1] + b"?"], 1, keys=[chunk_key(1, 0)])
    arrival = state_at(learned_input.source(1), ROWS)
    assert same(arrival.model.save(), learned_input.offline(ROWS, 1))
    (note,) = arrival.notes
    assert note.endswith("cannot be used: the snapshot is damaged: its checksum does not match")
    client = admin(learned_input.bootstrap)
    for future in client.delete_records([TopicPartition(learned_input.topic, 1, 500)]).values():
        future.result(timeout=30)
    assert same(state_at(learned_input.source(1), FIRST).model.save(), learned_input.offline(FIRST, 1)), "needs no row"
    show = ("snapshot", "show", "--partition", "1", "--at")
    for offset in ("399", "450", "700"):
        refused = learned_input.sentence(*show, offset, code=4)
        assert "the log begins at 500, and no snapshot covers the rows that are gone" in refused
    assert "is past the end" in learned_input.sentence(*show, "1001", code=2)
    assert "its log holds 500 to 1000" in learned_input.sentence("explain", "--partition", "1", "--offset", "3", code=2)
