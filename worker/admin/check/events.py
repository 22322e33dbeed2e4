"""Whether the worker can use the present events and labels."""

from __future__ import annotations

from collections.abc import Iterator

from driftway.worker.admin.check.commands import Commands
from driftway.worker.admin.check.finding import ERROR, OK, SKIPPED, WARNING, Finding, failed
from driftway.worker.admin.check.sample import Decoded, LabelMatches, Sample
from driftway.worker.errors import Failure, UsageFailure, duration, plural
from driftway.worker.settings import WorkerSettings
from driftway.worker.wire.registered.framing import REGISTERED_OUTPUTS
from driftway.worker.wire.rejections import LABEL, format_counts
from driftway.worker.wire.schema.schema import USUAL_TIME

GROUP = "events"
AHEAD_MS, FAR_AHEAD_MS = 5_000, 3_600_000
"""How far a record may be ahead of this machine's clock; and the default of `message.timestamp.after.max.ms`: records
that are further ahead of the broker's clock are refused, and a worker stamps its outputs by its own."""

WRONG_SHARE = 10
"""One wrong timestamp in so many is harmless: a worker corrects single ones (docs/decisions/0040)."""


def check_registry(settings: WorkerSettings, commands: Commands) -> Iterator[Finding]:
    """Ask the schema registry, if there is one, for a schema, or whether it takes that of the predictions."""
    model, known = settings.model, True
    writes = model.output_form in REGISTERED_OUTPUTS
    if model.registry is None and not writes:
        return
    from driftway.worker.kafka.registry.outputs import OutputSchema, OutputSchemas, subject_of
    from driftway.worker.kafka.registry.schemas import Unusable
    from driftway.worker.stream.startup import required_registry

    predictions = settings.topics.predictions
    try:
        registry = OutputSchemas(required_registry(model), dict(model.registry_properties))
        if writes:
            known = registry.would_take(predictions, OutputSchema.of(model.output_form, model.target))
        else:
            registry.by_id(1)
    except Unusable:
        pass
    except Failure as error:
        command = "pip install 'driftway[registry]'" if "additional packages" in str(error) else ""
        yield failed(GROUP, "schema registry", error, command or commands.worker("--registry", "URL"))
        return
    if not known:
        sentence = f"{subject_of(predictions)} has a schema with which that of the predictions is not compatible"
        command = commands.worker("--output-prefix", "PREFIX")
        yield Finding(GROUP, "schema registry", ERROR, sentence, command, UsageFailure.exit_code)
        return
    yield Finding(GROUP, "schema registry", OK, "it answers")


def check_events(sample: Sample, settings: WorkerSettings, commands: Commands, new: bool) -> Iterator[Finding]:
    """Judge the sampled events.

    Parameters
    ----------
    sample, settings, commands
        The sample, the worker's settings, and how to mend.
    new : bool
        Whether the group has committed nothing: then it stops if none of its first events can be used.
    """
    events, name = sample.events, settings.input
    if not events.records:
        yield Finding(GROUP, "sample", SKIPPED, f"{name} holds no events yet")
        return
    yield _rejections(events, settings, commands, new)
    yield from _times(events, settings, commands)
    yield from _ids(events, settings, commands)
    yield from _labels(sample, settings, commands)
    if settings.label_topic:
        yield _label_records(sample.labels, settings, commands)
    yield from _matches(sample.matches, commands)


def _rejections(events: Decoded, settings: WorkerSettings, commands: Commands, new: bool) -> Finding:
    check, share = "sample", f"{events.rejected_share:.1%} of {plural(events.records, 'event')}"
    if not events.rejected:
        d = f"read {plural(events.records, 'event')} of {settings.input}, and none would be rejected"
        return Finding(GROUP, check, OK, d)
    sentence = f"{share} would be rejected ({format_counts(events.rejected)}), the first at {events.example}"
    command, limit = commands.infer_schema(settings.input), settings.model.max_rejected
    if new and events.rejected.total() == events.records:
        expected = f"; expected {settings.model.usage_example}"
        return Finding(GROUP, check, ERROR, sentence + expected, command)
    if limit is not None and events.rejected_share > limit.max_rejected / limit.window:
        return Finding(GROUP, check, ERROR, f"{sentence}; --max-rejected {limit.text} stops the worker", command)
    return Finding(GROUP, check, WARNING, sentence, command)


def _times(events: Decoded, settings: WorkerSettings, commands: Commands) -> Iterator[Finding]:
    """The events' own times, if the options name a field."""
    schema, usable = settings.model.events, events.records - events.rejected.total() - events.labels
    if schema is None or schema.time == USUAL_TIME or not usable or events.timed:
        return
    sentence = (
        f"{schema.time} is a time in none of {usable:,} events, so their predictions have none, and ages count to the "
        "records' timestamps: expected ISO 8601 text, or a number and its unit"
    )
    yield Finding(GROUP, "times", WARNING, sentence, commands.infer_schema(settings.input))


def _ids(events: Decoded, settings: WorkerSettings, commands: Commands) -> Iterator[Finding]:
    """The ids of events that wait for their labels."""
    model, usable = settings.model, events.records - events.rejected.total() - events.labels
    if model.wait is None or usable <= 0 or events.identified:
        return
    field = "id" if model.events is None else str(model.events.id)
    sentence = f"none of {plural(usable, 'event')} has the id {field}, so none waits for its label (--label-wait)"
    command = commands.infer_schema(settings.input) if model.events is None else commands.worker("--id", "FIELD")
    yield Finding(GROUP, "ids of events", WARNING, f"{sentence}: name another field", command)


def _labels(sample: Sample, settings: WorkerSettings, commands: Commands) -> Iterator[Finding]:
    """Labels that come with the events."""
    events, check, expected = sample.events, "labels", settings.model.target.expected()
    usable = events.records - events.rejected.total() - events.labels
    if wrong := events.set_aside[LABEL]:
        sentence = f"labels of {wrong:,} of {plural(events.records, 'event')} cannot be used: expected {expected}"
        sentence += "" if events.rejected else f", the first at {events.example}"
        command = commands.infer_schema(settings.input)
        yield Finding(GROUP, check, WARNING, sentence, command)
    elif usable and not events.labelled and settings.model.wait is None and not settings.model.frozen:
        schema = settings.model.events
        field = "a label" if schema is None else f"a label in {schema.label}"
        sentence = (
            f"no event has {field}, so nothing would be learned: if labels come later, say how long events wait for "
            "them; otherwise name the right field with --label"
        )
        yield Finding(GROUP, check, WARNING, sentence, commands.worker("--label-wait", "7d/50000"))
    elif (
        usable
        and not settings.label_topic
        and settings.model.wait is not None
        and not (events.labels or events.labelled)
    ):
        sentence = f"--label-wait {settings.model.wait}, but there is no label among {plural(events.records, 'record')}"
        command = commands.worker("--label-topic", "TOPIC")
        yield Finding(GROUP, check, WARNING, f"{sentence}: if labels have a topic of their own, name it", command)
    elif usable:
        yield Finding(
            GROUP,
            check,
            OK,
            f"{events.labelled:,} of {plural(usable, 'usable event')} have a label, {events.labels:,} come later",
        )


def _label_records(labels: Decoded, settings: WorkerSettings, commands: Commands) -> Finding:
    """Labels of their own topic."""
    check, name = "label topic", settings.label_topic
    if not labels.records:
        return Finding(GROUP, check, SKIPPED, f"{name} holds no labels yet")
    if labels.unstamped:
        sentence = f"{labels.unstamped:,} of {plural(labels.records, 'label')} of {name} have no timestamp"
        command = commands.set_topic(name, {"message.timestamp.type": "LogAppendTime"})
        return Finding(GROUP, check, WARNING, f"{sentence}, by which they are merged with the events", command)
    bad = labels.rejected + labels.set_aside
    if not bad:
        return Finding(GROUP, check, OK, f"read {plural(labels.records, 'label')} of {name}, and all can be used")
    sentence = f"{bad.total() / labels.records:.1%} of {plural(labels.records, 'label')} of {name} cannot be used "
    sentence += f"({format_counts(bad)}), the first at {labels.example}"
    return Finding(GROUP, check, WARNING, sentence, commands.infer_schema(name))


def _matches(found: LabelMatches, commands: Commands) -> Iterator[Finding]:
    """Labels that the worker would set aside, because it looks for their events by another id or in one partition."""
    labels = found.here + found.elsewhere + found.unlike
    if found.elsewhere:
        sentence = (
            f"{found.elsewhere:,} of {plural(labels, 'label')} are in another partition than their event, where no "
            f"event is waiting for them: the first is {found.example}"
        )
        yield Finding(GROUP, "partitions of labels", WARNING, sentence, commands.set_partitioner())
    elif found.unlike:
        sentence = (
            f'{found.unlike:,} of {plural(labels, "label")} have the id of their event in another type, as "7" for 7, '
            f"and would be set aside: the first is {found.example}"
        )
        yield Finding(GROUP, "ids of labels", WARNING, sentence, commands.note("write the id as the events have it"))
    elif (wrong := max(found.early, found.late)) > found.here // WRONG_SHARE:
        why = "before that of their event, so they would be taken before it and set aside"
        if found.late > found.early:
            why = f"more than {duration(found.longest_ms)} after that of their event, which would not wait so long"
        sentence = f"{wrong:,} of {plural(labels, 'label')} have a timestamp {why}: {found.mistimed}"
        command = commands.note("write timestamps in ms since 1970, by the clock of the events' producer")
        yield Finding(GROUP, "times of labels", WARNING, sentence, command)
    elif labels:
        yield Finding(
            GROUP,
            "ids of labels",
            OK,
            f"{plural(labels, 'label has', 'labels have')} the id of an event in the same partition",
        )


def check_clock(sample: Sample, now_ms: int) -> Finding:
    """Judge the newest timestamps against this machine's clock, `now_ms` in ms since 1970."""
    check, found = "clock", max((sample.events, sample.labels), key=lambda one: one.newest_ms)
    if not found.records:
        return Finding(
            GROUP,
            check,
            SKIPPED,
            "there is no record with a timestamp that could be compared with this machine's clock",
        )
    ahead = found.newest_ms - now_ms
    if ahead > AHEAD_MS:
        sentence = (
            f"{found.newest_at} is {ahead / 1000:,.0f} s ahead of this machine's clock: one of the two clocks is wrong"
        )
        if ahead > FAR_AHEAD_MS:
            sentence += ", and the worker's outputs may be too old, or the events too new, for delayed labels to meet"
        return Finding(GROUP, check, WARNING, sentence, "chronyc makestep  # on the machine whose clock is wrong")
    return Finding(GROUP, check, OK, "no record that was read is ahead of this machine's clock")
