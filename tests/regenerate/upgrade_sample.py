"""`python -m tests.regenerate.upgrade_sample`: write what the next version must be able to continue.

A worker of this version learns a topic and is killed between two snapshots. Its topics, its committed offsets, and the
scores that it would have written for the rest of the rows go to tests/broker/upgrades, as does a model file. Run it
once for each release, and keep the files of those before.
"""

from __future__ import annotations

from pathlib import Path

from driftway import __version__
from driftway.workbench.broker import LocalKafka
from tests.support import stored_topics
from tests.support.fault_scenario import DETECTORS, OUTPUTS, FaultScenario
from tests.support.kafka import await_until, committed_offset
from tests.support.process import Driftway, driftway

FOLDER = Path(__file__).resolve().parents[1] / "broker" / "upgrades"
PARTITIONS, LEARNED, ROWS = 2, 400, 600
"""Partitions, and for each the rows that the old version learns, and all."""
CHALLENGERS = ("--learner", "arow")
TOPICS = (*OUTPUTS, "alarms", "snapshots")


def new_scenario(bootstrap: str) -> FaultScenario:
    """Rows and worker of the sample; topics are created."""
    return FaultScenario(
        bootstrap, PARTITIONS, ROWS, seed=47, detectors=DETECTORS, topic="upgrade-events", group="upgrade-group"
    )


def main() -> None:
    """Write the files of this version."""
    with LocalKafka() as kafka:
        scenario = new_scenario(kafka.bootstrap)
        with scenario.auditor() as auditor, Driftway(*scenario.worker(*CHALLENGERS)) as worker:
            worker.await_text("running")
            scenario.fill(0, LEARNED)
            await_until(lambda: auditor.seen >= PARTITIONS * LEARNED, 60, "all rows predicted")
            await_until(lambda: _committed(scenario) == [LEARNED] * PARTITIONS, 60, "all rows committed")
            worker.kill()
        known = stored_topics.topic_id(scenario.bootstrap, scenario.topic)
        names = {"": scenario.topic} | {name: f"{scenario.prefix}.{name}" for name in TOPICS}
        committed = [committed_offset(scenario.bootstrap, scenario.group, scenario.topic, p) for p in range(PARTITIONS)]
        FOLDER.mkdir(exist_ok=True)
        model = FOLDER / f"{__version__}.driftway"
        exported = driftway(
            "snapshot", "export", *scenario.options, "--partition", "0", "--out", str(model),
        )  # fmt: skip
        assert exported.code == 0, exported
        content = {
            "version": __version__,
            "topics": {
                name: stored_topics.stored_records(scenario.bootstrap, topic, known) for name, topic in names.items()
            },
            "committed": [[offset, text.replace(known, stored_topics.NO_ID)] for offset, text in committed],
            "later": [[event.decode() for event in scenario.events[p][LEARNED:]] for p in range(PARTITIONS)],
            "scores": [[*place, score.hex()] for place, score in sorted(scenario.expected.items())],
        }
    place = FOLDER / f"{__version__}.json.gz"
    stored_topics.write(place, content)
    print(f"{place.name}: {place.stat().st_size / 1e3:.0f} kB, {model.name}: {model.stat().st_size / 1e3:.0f} kB")


def _committed(scenario: FaultScenario) -> list[int]:
    return [committed_offset(scenario.bootstrap, scenario.group, scenario.topic, p)[0] for p in range(PARTITIONS)]


if __name__ == "__main__":
    main()
