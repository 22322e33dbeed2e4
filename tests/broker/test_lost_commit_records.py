"""The snapshot log has lost commit records, but other logs still have what those commits wrote; or the reverse.

This happens after an unclean leader election (`tests/fault/test_unclean_election.py`); here the logs are forged.
"""

from __future__ import annotations

import pytest

from driftway.worker.kafka.interface import OffsetRange
from driftway.worker.state.changelog.commit_record import CommitRecord
from driftway.worker.state.outputs import Outputs
from tests.broker.test_log_decides import (
    SECONDS,
    Forger,
    cut_out,
    outputs_of,
    require_audited,
    require_in_order,
    without,
)
from tests.broker.test_policies import (
    EVERY_COMMIT,
    commit,
    delete_before,
    last_commit,
    learn,
    learned,
    predicted,
    refused,
    require_same,
)
from tests.support.fault_scenario import FaultScenario
from tests.support.kafka import committed_offset
from tests.support.selection import slow_but


def write_unrecorded(scenario: FaultScenario, outputs: Outputs) -> dict[str, OffsetRange]:
    """Commit outputs without a commit record."""
    forger = Forger(scenario)
    forger.write_outputs(outputs)
    spans = forger.flush()
    forger.producer.commit_transaction(SECONDS)
    return spans


def without_points(scenario: FaultScenario, first: int, end: int) -> Outputs:
    """The outputs of these rows, without their accuracy points."""
    outputs = outputs_of(scenario, first, end)
    return without(outputs, Outputs(0, points=outputs.points))


def require_all_once(scenario: FaultScenario) -> None:
    """Require one prediction for each of 1,000 rows, in order, and a successful audit."""
    require_same(scenario, once=range(1000))
    require_in_order(scenario)
    require_audited(scenario)


@pytest.mark.parametrize("offset", slow_but([500], [500, 600]), ids=["offset-lost-too", "offset-kept"])
def test_visible_outputs_without_a_commit_record_are_not_written_again(kafka: str, offset: int) -> None:
    scenario = learned(kafka)
    scenario.fill(500, 800)
    write_unrecorded(scenario, outputs_of(scenario, 500, 600))
    if offset != 500:
        commit(scenario, offset, committed_offset(kafka, scenario.group, scenario.topic)[1])
    log = learn(scenario, 800, 1000)
    assert "has lost the commits from offset 500 to 600" in log
    require_all_once(scenario)


def test_unrecorded_outputs_with_gaps_are_completed(kafka: str) -> None:
    """The accuracy points and the predictions of the second half are missing."""
    scenario = learned(kafka)
    scenario.fill(500, 600)
    write_unrecorded(scenario, without_points(scenario, 500, 550))
    learn(scenario, 0, 0)  # the log ends with the last unrecorded row
    learn(scenario, 600, 1000)
    require_all_once(scenario)


def test_unrecorded_outputs_that_cannot_be_recomputed_are_refused_without_the_option(kafka: str) -> None:
    scenario = learned(kafka)
    scenario.fill(500, 800)
    write_unrecorded(scenario, outputs_of(scenario, 500, 600))
    delete_before(scenario, scenario.topic, 520)
    sentence = refused(scenario)
    assert f"{scenario.prefix}.snapshots has lost the commits from offset 500 to 600" in sentence
    assert "reset starts with an empty learner at 600" in sentence
    learn(scenario, 800, 1000, "--on-restore-failure", "reset")
    assert {offset: len(scores) for (_, offset), scores in predicted(scenario).items()} == dict.fromkeys(range(1000), 1)


def test_outputs_lost_before_the_oldest_commit_record_are_detected(kafka: str) -> None:
    """Compaction has removed the record of a commit whose outputs are lost too."""
    scenario = FaultScenario(kafka, partitions=1, rows=1000)
    learn(scenario, 0, 500, *EVERY_COMMIT)
    scenario.fill(500, 800)
    forger = Forger(scenario)
    forger.write_outputs(outputs_of(scenario, 500, 600))
    forger.flush()
    forger.abort()
    cut_out(scenario, 600, 700)
    log = learn(scenario, 800, 1000)
    assert "writing the missing outputs again" in log
    require_all_once(scenario)


def test_a_transaction_marker_at_the_offset_of_an_output_does_not_count_as_output(kafka: str) -> None:
    """After a cut, a marker may have the offset of a commit's only record; no reader sees it."""
    scenario = learned(kafka)
    scenario.fill(500, 800)
    predictions = f"{scenario.prefix}.predictions"
    forger = Forger(scenario)
    forger.write_outputs(without_points(scenario, 500, 501))
    marker = forger.flush()[predictions].last + 1
    forger.abort()
    Forger(scenario).commit(
        CommitRecord(501, 500, last_commit(scenario)[1], {predictions: OffsetRange(marker, marker, 1)})
    )
    learn(scenario, 800, 1000)
    require_all_once(scenario)
