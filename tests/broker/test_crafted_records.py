"""Crafted records in the snapshot topic lead to one sentence and exit code 4, in the worker and in its readers."""

from __future__ import annotations

import json

import pytest

from driftway.worker.state import snapshot
from driftway.worker.state.changelog import record_keys
from driftway.worker.wire.codec import read_json, write_json
from tests.broker.test_policies import CANNOT_RESTORE, learned
from tests.support.fault_scenario import FaultScenario
from tests.support.kafka import create_topic, produce, read_all
from tests.support.process import Finished, driftway
from tests.support.selection import slow_but

DEEP = b"[" * 10_000 + b"]" * 10_000
CLAIM = b'{"group":"g","input":"E","partitions":"x"}'
POSITIONS = {
    "no JSON": b"\xff\xfe",
    "deep": DEEP,
    "float offset": b'{"offset":1e300,"previous":null,"pointer":null,"outputs":{}}',
    "huge output": b'{"offset":500,"previous":0,"pointer":null,"outputs":{"P":[0,99999999999999999999999,5]}}',
    "5,000 digits": b'{"offset":%s,"previous":null,"pointer":null,"outputs":{}}' % (b"9" * 5000),
}


def require_message(done: Finished, code: int, words: str) -> None:
    """Require one sentence with these words, and the code."""
    assert "Traceback" not in done.stderr, done
    assert (done.code, words in done.stderr.splitlines()[-1]) == (code, True), done


def of(scenario: FaultScenario, *command: str) -> Finished:
    return driftway(*command, *scenario.options)


def put(scenario: FaultScenario, key: bytes, value: bytes) -> None:
    produce(scenario.bootstrap, f"{scenario.prefix}.snapshots", [value], keys=[key])


@pytest.mark.parametrize(
    "value",
    slow_but([DEEP], [b"{not json", b"[1]", CLAIM, DEEP]),
    ids=["no JSON", "no object", "no number", "deep"],
)
def test_an_unreadable_ownership_record_is_refused(kafka: str, value: bytes) -> None:
    scenario = FaultScenario(kafka, partitions=1, rows=10)
    create_topic(kafka, f"{scenario.prefix}.snapshots", 1, cleanup_policy="compact")
    put(scenario, record_keys.claim_key(scenario.group, scenario.topic), value)
    done = driftway(*scenario.worker("--stop-at-end"))
    require_message(
        done, CANNOT_RESTORE, f"the claim to the outputs at {scenario.prefix}.snapshots/0@0 cannot be read: "
    )
    assert done.stderr.splitlines()[-1].endswith("choose other outputs with --output-prefix PREFIX")


def test_an_unreadable_commit_record_is_refused(kafka: str) -> None:
    """Each is appended after the others: the newest one counts."""
    scenario = learned(kafka)
    before = read_all(kafka, f"{scenario.prefix}.predictions")
    for value in POSITIONS.values():
        put(scenario, b"0.position", value)
        require_message(
            driftway(*scenario.worker("--stop-at-end")),
            CANNOT_RESTORE,
            f"the commit record at {scenario.prefix}.snapshots",
        )
        for command in (
            ("snapshot", "list"),
            ("snapshot", "show", "--partition", "0"),
            ("explain", "--partition", "0", "--offset", "3"),
        ):
            require_message(of(scenario, *command), CANNOT_RESTORE, f"the commit record at {scenario.prefix}.snapshots")
    assert len(read_all(kafka, f"{scenario.prefix}.predictions")) == len(before)
    ended = driftway(*scenario.worker("--stop-at-end", "--on-restore-failure", "replay"))
    assert ended.code == 0, ended
    assert len(read_all(kafka, f"{scenario.prefix}.predictions")) == len(before), "no event was predicted twice"


@pytest.mark.parametrize("n_features", slow_but([10**7], ["x", 10**7]))
def test_a_snapshot_with_an_invalid_header_is_refused(kafka: str, n_features: object) -> None:
    scenario = learned(kafka)
    records = read_all(kafka, f"{scenario.prefix}.snapshots")
    blob = next(r.value for r in reversed(records) if r.key == b"0.0") or b""
    position = read_json(next(r.value for r in reversed(records) if r.key == b"0.position") or b"")
    header, state = snapshot._header(blob)
    header["schema"]["n_features"] = n_features
    text = json.dumps(header).encode()
    body = snapshot.MAGIC + len(text).to_bytes(4, "little") + text + blob[state : -snapshot.DIGEST_BYTES]
    put(scenario, b"0.0", body + snapshot._digest(body))
    place = max(r.offset for r in read_all(kafka, f"{scenario.prefix}.snapshots") if r.key == b"0.0")
    put(scenario, b"0.position", write_json({**position, "pointer": f"driftway1:{place}:1:{header['offset']}"}))
    require_message(driftway(*scenario.worker("--stop-at-end")), CANNOT_RESTORE, "--on-restore-failure replay")
    assert "Traceback" not in of(scenario, "snapshot", "list").stderr


@pytest.mark.parametrize(
    "value",
    slow_but([DEEP], [b"9" * 5000, b"99999999999999999999", b"[]", DEEP]),
    ids=["5,000 digits", "20 digits", "no number", "deep"],
)
def test_an_unreadable_history_mark_counts_as_one_without_an_offset(kafka: str, value: bytes) -> None:
    scenario = learned(kafka)
    put(scenario, b"0.history", value)
    ended = driftway(*scenario.worker("--stop-at-end"))
    assert (ended.code, "Traceback" in ended.stderr) == (0, False), ended
    listed = of(scenario, "snapshot", "list")
    assert (listed.code, "Traceback" in listed.stderr) == (0, False), listed
