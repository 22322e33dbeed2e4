"""How long a SIGKILLed worker's partitions stand still: `python -m tests.bench.takeover`.

A million rows are learned, live traffic goes on, the worker is killed; another one of the group takes over.
Printed: seconds from the heir's assignment to its first new prediction that a read_committed reader sees, for
each partition, and the rows that the restore had to relearn.
"""

from __future__ import annotations

import argparse
import json
import time
from typing import Any

from tests.support.audit import Auditor
from tests.support.kafka import await_until, create_topic, unique
from tests.support.process import Driftway, driftway
from worker.broker import provide

PARTITIONS = 2


def main() -> None:
    """Measure once and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--learner", default="dfop:mu=0.01")
    given = parser.parse_args()
    with provide("local") as kafka:
        topic, group = unique("events"), unique("group")
        create_topic(kafka, topic, PARTITIONS)
        for name in ("predictions", "accuracy", "rejected"):
            create_topic(kafka, f"{topic}.{name}", PARTITIONS)
        stream = f"hyperplane_staged:d=8,rows={given.rows + 60_000}"
        to = ("--to", topic, "--bootstrap", kafka, "--quiet")
        driftway("replay", stream, *to, "--limit", str(given.rows))
        work = (
            "worker", "--input", topic, "--group", group, "--bootstrap", kafka, "--learner", given.learner,
            "--log-format", "json", "-X", "session.timeout.ms=3000", "-X", "heartbeat.interval.ms=500",
        )  # fmt: skip
        with Auditor(kafka, topic) as auditor, Driftway(*work) as victim:
            await_until(lambda: auditor.seen >= given.rows, 120, "the past is learned")
            with (
                Driftway("replay", stream, *to, "--skip", str(given.rows), "--rate", "2000"),
                Driftway(*work) as heir,
            ):
                heir.await_text('"running"')
                await_until(lambda: auditor.seen >= given.rows + 4000, 60, "live traffic")
                before = dict(auditor.last)
                owned = set(_events(heir, "assigned")[-1]["partitions"])
                victim.kill()
                await_until(lambda: len(_events(heir, "assigned")) >= 2, 60, "the heir is assigned everything")
                assigned = _events(heir, "assigned")[-1]["time"]
                await_until(lambda: all(auditor.last[p] > before[p] + 4000 for p in before), 60, "it predicts")
                wall = time.time() - time.monotonic()
                arrivals = dict(auditor.arrivals)
                for partition in sorted(before.keys() - owned):
                    first = min(t + wall for (p, _), t in arrivals.items() if p == partition and t + wall > assigned)
                    print(f"partition {partition}: {first - assigned:.2f} s from assignment to first new prediction")
                for event in _events(heir, "restored")[-PARTITIONS:]:
                    print(f"partition {event['partition']}: {event['committed'] - event['position']} rows relearned")
        assert not auditor.complaints, auditor.complaints[:3]


def _events(worker: Driftway, what: str) -> list[dict[str, Any]]:
    events = [json.loads(line) for line in worker.stderr.splitlines() if line.startswith("{")]
    return [event for event in events if event["event"] == what]


if __name__ == "__main__":
    main()
