"""Check that topics keep records as long as the worker needs them: for a restore, and until labels arrive."""

from __future__ import annotations

from collections.abc import Iterator

from driftway.worker.admin.check.commands import Commands
from driftway.worker.admin.check.facts import ClusterState, TopicFacts
from driftway.worker.admin.check.finding import OK, WARNING, Finding
from driftway.worker.errors import DAY_MS, duration
from driftway.worker.kafka.cluster import CLEANUP, RETENTION_MS
from driftway.worker.settings import WorkerSettings

GROUP = "retention"
RETENTION_BYTES = "retention.bytes"
SLOW_SNAPSHOTS = 10
"""Large states are written up to so many times more rarely than --snapshot-interval."""
AWAY_MS = DAY_MS
"""How long all workers may be stopped, as over a night or a day at the weekend, before rows that they have not read are
deleted."""
FOREVER = -1


def _needed(settings: WorkerSettings) -> tuple[int, str]:
    """How long the input has to keep its records, in ms, and why else not.

    A restore reads again what came after the newest snapshot. With a time in --label-wait, whoever reads the log again
    (`replay`, `audit`, a new group) needs the events of all labels that are still to come.
    """
    needed, wait = AWAY_MS + int(1000 * SLOW_SNAPSHOTS * settings.snapshot_interval), settings.model.wait
    if wait is not None and wait.millis > needed:
        return wait.millis, "which is less than events wait for their labels (--label-wait)"
    return needed, "so workers that were stopped for a day could not go on: rows that they need again would be deleted"


def check_retention(
    state: ClusterState, settings: WorkerSettings, commands: Commands, event_bytes: float | None
) -> Iterator[Finding]:
    """Judge the retention of the input and of the label topic.

    Parameters
    ----------
    state, settings, commands
        The cluster, the worker's settings, and how to mend.
    event_bytes : float or None
        Mean size of an event; None if none was read.
    """
    source = state.topics.get(settings.input)
    if source is None or source.config is None:
        return
    found = [*_input(source, settings, commands, event_bytes), *_labels(source, state, settings, commands)]
    yield from found
    if not found:
        yield Finding(GROUP, "input", OK, f"{source.name} keeps records for {_kept(source)}")


def _kept(topic: TopicFacts) -> str:
    kept = _millis(topic)
    return "ever" if kept == FOREVER else duration(kept)


def _millis(topic: TopicFacts) -> int:
    """How long a topic keeps records, in ms; FOREVER, also where only compaction removes any."""
    return FOREVER if "delete" not in (topic.config or {}).get(CLEANUP, "delete") else topic.number(RETENTION_MS)


def _input(
    source: TopicFacts, settings: WorkerSettings, commands: Commands, event_bytes: float | None
) -> Iterator[Finding]:
    kept, (needed, why) = _millis(source), _needed(settings)
    if kept != FOREVER and kept < needed:
        sentence = f"{source.name} keeps records for {duration(kept)} only, {why}"
        yield Finding(
            GROUP, "input", WARNING, sentence, commands.set_topic(source.name, {RETENTION_MS: str(2 * needed)})
        )
    limit = source.number(RETENTION_BYTES)
    if event_bytes is not None and limit != FOREVER and limit < 2 * settings.snapshot_rows * event_bytes:
        rows, wanted = int(limit / max(event_bytes, 1.0)), int(10 * settings.snapshot_rows * event_bytes)
        sentence = (
            f"{source.name} keeps {limit:,} bytes of a partition, about {rows:,} events; a restore reads up to "
            f"{settings.snapshot_rows:,} again (--snapshot-rows)"
        )
        yield Finding(
            GROUP, "input size", WARNING, sentence, commands.set_topic(source.name, {RETENTION_BYTES: str(wanted)})
        )


def _labels(source: TopicFacts, state: ClusterState, settings: WorkerSettings, commands: Commands) -> Iterator[Finding]:
    labels = state.topics.get(settings.label_topic)
    if labels is None or labels.config is None:
        return
    events, kept = _millis(source), _millis(labels)
    events = FOREVER if events == FOREVER else max(events, _needed(settings)[0])
    if kept != FOREVER and (events == FOREVER or kept < events):
        sentence = (
            f"{labels.name} keeps labels for {duration(kept)}, {source.name} its events for {_kept(source)}: if events "
            "are read again whose labels were deleted, nothing is learned from them"
        )
        command = commands.set_topic(labels.name, {RETENTION_MS: str(events)})
        yield Finding(GROUP, "label topic", WARNING, sentence, command)
