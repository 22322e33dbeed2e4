"""Two groups on one input: each has its own outputs, and no group can write to those of another."""

from __future__ import annotations

import numpy as np
import pytest

from driftway.worker.state.changelog.record_keys import CLAIM_PREFIX
from driftway.worker.wire.codec import encode_events, read_json
from tests.support.kafka import create_topic, produce, read_all, unique
from tests.support.process import Driftway, Finished, driftway

pytestmark = pytest.mark.broker

ROWS = 600


@pytest.fixture(scope="module")
def filled(kafka: str) -> str:
    rng = np.random.default_rng(4)
    X = rng.normal(size=(ROWS, 3))
    topic = create_topic(kafka, unique("events"), 2)
    for partition in range(2):
        produce(kafka, topic, encode_events(X, (X[:, 0] > 0).astype(float), 0), partition)
    return topic


def worker(kafka: str, topic: str, group: str, *more: str) -> Finished:
    return driftway("worker", "--input", topic, "--group", group, "--bootstrap", kafka, "--stop-at-end", *more)


def offsets(kafka: str, name: str) -> list[tuple[int, int]]:
    predictions = (read_json(record.value or b"") for record in read_all(kafka, name))
    return sorted((one["partition"], one["offset"]) for one in predictions)


EVERY = sorted((partition, offset) for partition in range(2) for offset in range(ROWS))


def test_two_groups_at_once_and_a_third_later_have_separate_outputs(kafka: str, filled: str) -> None:
    groups = [unique("one"), unique("two"), unique("three")]
    common = ("--input", filled, "--bootstrap", kafka, "--stop-at-end", "--accuracy-every", "100")
    with (
        Driftway("worker", "--group", groups[0], "--learner", "pa1", *common) as one,
        Driftway("worker", "--group", groups[1], "--learner", "arow", *common) as two,
    ):
        assert (one.wait(60), two.wait(60)) == (0, 0), one.summary() + two.summary()
    assert worker(kafka, filled, groups[2], "--learner", "pa1", "--accuracy-every", "100").code == 0
    for group, learner in zip(groups, ("pa1", "arow", "pa1"), strict=True):
        assert offsets(kafka, f"{filled}.{group}.predictions") == EVERY
        points = [read_json(record.value or b"") for record in read_all(kafka, f"{filled}.{group}.accuracy")]
        assert {(point["group"], point["learner"]) for point in points} == {(group, learner)}
        assert len(points) == 2 * ROWS // 100
        options = ("--group", group, "--learner", learner, "--accuracy-every", "100", "--bootstrap", kafka)
        audited = driftway("audit", "--input", filled, *options)
        assert audited.code == 0, audited
    for command in (("watch", "--once"), ("audit",), ("models", "show"), ("snapshot", "list")):
        done = driftway(*command, "--input", filled, "--bootstrap", kafka)
        assert done.code == 2
        assert "choose one with --group" in done.stderr
        assert all(group in done.stderr for group in groups)
    done = driftway("watch", "--input", filled, "--group", groups[1], "--bootstrap", kafka, "--once", "--json")
    assert done.code == 0, done
    assert {row["learner"] for row in read_json(done.stdout.encode())} == {"arow"}


def test_a_single_group_need_not_be_named_unless_outputs_have_other_names(kafka: str) -> None:
    topic, group, prefix = create_topic(kafka, unique("only"), 1), unique("group"), unique("prefix")
    place = "--input", topic, "--bootstrap", kafka
    commands = (
        ("audit",), ("models", "show"), ("models", "history"), ("snapshot", "list"),
        ("snapshot", "show", "--partition", "0"), ("explain", "--partition", "0", "--offset", "1"),
        ("evaluate", "--topic", topic, "--learner", "arow", "--bootstrap", kafka),
    )  # fmt: skip
    produce(kafka, topic, encode_events(np.eye(3), np.array([0.0, 1.0, 0.0]), 0), 0)
    assert "no worker has run" in driftway("audit", *place).stderr
    assert worker(kafka, topic, group, "--learner", "pa1").code == 0
    for command in commands:
        more = () if command[0] == "evaluate" else place
        done, named = (driftway(*command, *more, *also) for also in ((), ("--group", group)))
        assert done.code == 0, done
        assert command[0] == "evaluate" or done == named
    refused = driftway("audit", *place, "--output-prefix", prefix)
    assert (refused.code, refused.stderr) == (
        2, "driftway: --output-prefix does not tell the group: give --group, too\n"
    )  # fmt: skip
    assert "Missing option '--group'" in driftway("snapshot", "import", "f", "--partition", "0", *place).stderr


def test_the_digest_of_an_accuracy_point_depends_only_on_its_learner(kafka: str, filled: str) -> None:
    """It is equal for the same learner, whatever runs with it; different for another learner."""
    digests = []
    for more in (("pa1",), ("pa1", "arow"), ("pa1:C=2",)):
        group = unique("group")
        chosen = [word for learner in more for word in ("--learner", learner)]
        assert worker(kafka, filled, group, *chosen).code == 0
        points = [read_json(record.value or b"") for record in read_all(kafka, f"{filled}.{group}.accuracy")]
        digests.append({point["learner"]: point["model_digest"] for point in points})
    assert digests[0]["pa1"] == digests[1]["pa1"]
    assert len({digests[0]["pa1"], digests[1]["arow"], digests[2]["pa1:C=2"]}) == 3


def test_outputs_of_a_group_are_refused_to_other_groups(kafka: str, filled: str) -> None:
    prefix, owner = unique("mine"), unique("owner")
    assert worker(kafka, filled, owner, "--output-prefix", prefix).code == 0
    before = read_all(kafka, f"{prefix}.snapshots")
    other = create_topic(kafka, unique("other"), 2)
    for topic, group in ((filled, unique("rival")), (other, owner)):
        refused = worker(kafka, topic, group, "--output-prefix", prefix)
        assert refused.code == 2
        assert refused.stderr.splitlines()[-1] == (
            f"driftway: outputs {prefix}.* belong to group {owner}, which works on {filled}: choose others with "
            "--output-prefix PREFIX"
        )
    assert read_all(kafka, f"{prefix}.snapshots") == before, "the refused groups wrote nothing"
    assert [record.key[: len(CLAIM_PREFIX)] for record in before if record.key].count(CLAIM_PREFIX) == 1
    assert worker(kafka, filled, owner, "--output-prefix", prefix).code == 0
    assert offsets(kafka, f"{prefix}.predictions") == EVERY
    audited = driftway("audit", "--input", filled, "--group", owner, "--output-prefix", prefix, "--bootstrap", kafka)
    assert audited.code == 0, audited


def test_topics_of_other_programs_are_not_used_as_outputs(kafka: str, filled: str) -> None:
    prefix = unique("theirs")
    for name in ("predictions", "accuracy", "rejected", "snapshots"):
        create_topic(kafka, f"{prefix}.{name}", 2)
    produce(kafka, f"{prefix}.snapshots", [b"?"], keys=[b"their.key"])
    refused = worker(kafka, filled, unique("group"), "--output-prefix", prefix)
    assert refused.code == 2
    assert f"topic {prefix}.snapshots does not name its group" in refused.stderr


def test_invalid_names_of_outputs_are_refused(kafka: str, filled: str) -> None:
    for prefix, words in (("a b", "topic names have letters"), (filled.rpartition(".")[0] or "x" * 240, "at most")):
        refused = worker(kafka, filled, unique("group"), "--output-prefix", prefix)
        assert refused.code == 2
        assert words in refused.stderr
    loop = create_topic(kafka, unique("round") + ".predictions")
    refused = worker(kafka, loop, unique("group"), "--output-prefix", loop.removesuffix(".predictions"))
    assert f"one of the outputs would be the input, {loop}" in refused.stderr
