"""Rebuild the exact state at any offset, as a restore would.

A state is a function of the rows of its history. So it is rebuilt bit for bit from the nearest snapshot of the present
history at or before the offset and the rows between, or, if there is none, from all rows since the history's start.
What a history started with is not recorded. That its learners started empty is verified by replaying further, to its
first snapshot, which must equal the recomputed state.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace

from driftway.worker.admin.input_records import CountedState, require_records, require_same_topics
from driftway.worker.admin.merged_input import MergedInput
from driftway.worker.admin.state_admin.listing import History, Progress, StoredSnapshot, list_snapshots
from driftway.worker.admin.state_admin.source import GroupPartition, read_snapshot
from driftway.worker.errors import CannotRestore, Failure, UsageFailure, plural
from driftway.worker.kafka.consumer_columns import BATCH_MESSAGES, records_of
from driftway.worker.kafka.deadline import Deadline
from driftway.worker.kafka.error_handling import translated_errors
from driftway.worker.kafka.log_reader.reader import ASK_SECONDS
from driftway.worker.kafka.log_reader.stream import MessageStream, reader_of
from driftway.worker.kafka.registry.event_format import JSON_FORMAT, EventFormat
from driftway.worker.kafka.registry.parser import FORMS as REGISTERED
from driftway.worker.settings import ModelSettings
from driftway.worker.state.changelog.snapshot_scan import read_partition
from driftway.worker.state.input_read import InputRead
from driftway.worker.state.model import Model
from driftway.worker.state.plans.model_plan import FIRST, PlanAdoption
from driftway.worker.state.plans.plan_run import PlanRun
from driftway.worker.state.plans.plan_topic import known_plans, with_state
from driftway.worker.state.snapshot import first_difference
from driftway.worker.stream.relearning.from_log import followed_by, relearn
from driftway.worker.wire.codec import JSON, PACKED
from driftway.worker.wire.decoder import Decoder
from driftway.worker.wire.events import Records
from driftway.worker.wire.registered.framing import MAGIC

ProgressFactory = Callable[[str, int], Progress]
"""Given the name of a step and its number of records, returns a callable for the records done."""


def no_progress(_what: str, _total: int) -> Progress:
    """Show nothing."""
    return lambda _: None


@dataclass(frozen=True)
class RebuiltState:
    """A rebuilt state.

    Parameters
    ----------
    model : Model
        The model, standing at `offset`.
    offset : int
        All rows before it have been learned.
    base : int or None
        Input offset of the snapshot that it was rebuilt from; None: rebuilt from the history's start.
    begin : int
        First offset that was replayed.
    relearned : int
        Number of records replayed.
    notes : tuple of str
        Why some snapshots could not be used, and whether a newer history has begun.
    """

    model: Model
    offset: int
    base: int | None
    begin: int
    relearned: int
    notes: tuple[str, ...] = ()

    @property
    def origin(self) -> str:
        """Description of how it was rebuilt."""
        begin = "the history's start" if self.base is None else f"the snapshot at offset {self.base}"
        return f"{begin} and {plural(self.relearned, 'record')}" if self.relearned else begin


def state_at(source: GroupPartition, offset: int | None, bars: ProgressFactory = no_progress) -> RebuiltState:
    """Rebuild a partition's state.

    Parameters
    ----------
    source : GroupPartition
        The group's partition, and the format of its events.
    offset : int or None
        Offset of the state; None: that of the snapshot that the committed offset points to, else of the newest.
    bars : ProgressFactory
        Shows progress.

    Raises
    ------
    UsageFailure
        The log ends before the offset, or the events are of another format.
    CannotRestore
        The state cannot be rebuilt any more; the message says why.
    Failure, Unreachable
        The topics cannot be read.
    """
    listing = list_snapshots(source.settings, source.partition, source.end, bars("snapshots", source.end))
    history = listing.present(source.pointer)
    if offset is None:
        offset = _newest(source, history)
    if offset > source.high:
        raise UsageFailure(f"offset {offset} is past the end of {source}: its log ends at {source.high}")
    notes = ["a newer history has begun, but has committed nothing yet"] if history.superseded else []
    older = sorted(
        (one for one in history.snapshots if one.state_offset <= offset),
        key=lambda one: (one.state_offset, one.pointer.first),
        reverse=True,
    )
    for one in older:
        if one.state_offset < min(source.low, offset):
            break
        try:
            file = read_snapshot(source, one.pointer)
            model = file.model(source.form)
        except UsageFailure:
            raise
        except Failure as error:
            notes.append(str(error))
            continue
        if file.saved.schema is None and model.settings.warm is not None:
            continue  # written before the first event, so it lacks the learners' warm start
        _require_records(source, model, history, CountedState(one.state_offset, one.read), offset)
        model, relearned = advance(source, model, one.state_offset, offset, bars, adoptions=history.adoptions)
        return RebuiltState(model, offset, one.state_offset, one.state_offset, relearned, tuple(notes))
    return _from_start(source, history, offset, tuple(notes), bars)


def _require_records(source: GroupPartition, model: Model, history: History, begin: CountedState, offset: int) -> None:
    """Refuse to rebuild the state at an offset from that at `begin` if the log no longer holds all records between.

    They are counted up to the nearest state behind the offset whose count is known, else before it.
    """
    states = [CountedState(one.state_offset, one.read) for one in history.snapshots if one.problem is None]
    if offset == begin.offset:
        return
    require_same_topics(source.settings, source.labels, [source.last.read])
    since = begin.read.since
    behind = (state for state in (*states, source.last) if state.offset > begin.offset and state.read.since == since)
    known = [] if since is None else sorted(behind, key=lambda state: state.offset)
    end = next((state for state in known if state.offset >= offset), known[-1] if known else None)
    if end is None:
        return
    settings = replace(source.settings, model=model.settings)
    try:
        require_records(settings, source.partition, source.labels, [begin, end])
    except CannotRestore as error:
        raise CannotRestore(f"the state of {source} at offset {offset} cannot be rebuilt: {error}") from None


def _newest(source: GroupPartition, history: History) -> int:
    """Input offset of the newest committed snapshot."""
    if source.pointer is not None:
        return source.pointer.state_offset
    if not history.snapshots:
        raise CannotRestore(f"group {source.settings.group} has no snapshot of {source}")
    return max(one.state_offset for one in history.snapshots)


def _from_start(
    source: GroupPartition, history: History, offset: int, notes: tuple[str, ...], bars: ProgressFactory
) -> RebuiltState:
    """Rebuild the state at an offset before the history's first usable snapshot."""
    began, usable = history.began, [one for one in history.snapshots if one.problem is None]
    first = min((one for one in usable if one.state_offset > offset), key=lambda one: one.state_offset, default=None)
    require_start(source, history, offset, first, notes)
    if began is None or first is None:
        raise _refusal(source, offset, "no snapshot describes its learners", first, notes)
    file = read_snapshot(source, first.pointer)
    settings, given = file.settings(source.form), source.settings.model.warm
    if file.plan is not None:
        with translated_errors(source.settings), closing(reader_of(source.settings)) as reader:
            plans = known_plans(reader, source.settings, Deadline(ASK_SECONDS), lambda _: None)
        if not plans or plans[0].number != FIRST:
            reason = "its models were changed before its first snapshot, and the earlier models are not known"
            raise _refusal(source, offset, reason, first, notes)
        settings = plans[0].applied_to(settings)
    if settings.warm is not None:
        if given is None or given.digest != settings.warm.digest:
            reason = f"its history began with model file {settings.warm.digest}, which --warm-start must name"
            raise _refusal(source, offset, reason, first, notes)
        settings = replace(settings, warm=replace(given, frozen=settings.warm.frozen))
    known = file.model(source.form)
    _require_records(source, known, history, CountedState(began, InputRead(began)), first.state_offset)
    schema = file.saved.schema
    fixed = [schema.n_features] if schema is not None and schema.names is None else []

    def learned(n_features: int | None, end: int) -> tuple[Model, int]:
        model = Model(replace(settings, n_features=n_features), source.partition)
        model.continue_as(known.form)
        return advance(source, model, began, end, bars, adoptions=history.adoptions)

    for n_features in (None, *fixed):  # the workers may have had --features
        model, _ = learned(n_features, first.state_offset)
        if first_difference(file.saved, model.save()) is None:
            model, relearned = learned(n_features, offset)
            return RebuiltState(model, offset, None, began, relearned, notes)
    raise _refusal(source, offset, f"its learners did not start empty at {began}, or skipped rows", first, notes)


def require_start(
    source: GroupPartition, history: History, offset: int, first: StoredSnapshot | None, notes: tuple[str, ...]
) -> None:
    """Refuse if the log does not hold all rows from the history's start to the offset."""
    began = history.began
    if began is not None and offset < began:
        reason = f"the present history of group {source.settings.group} began at {began}"
        raise _refusal(source, offset, reason, first, notes)
    older = [one.state_offset for one in history.snapshots if one.state_offset <= offset]
    reach = min(older, default=None) if began is None else began
    if reach is None:
        raise _refusal(source, offset, "the present history began with a state that was imported or kept", first, notes)
    if source.low > reach:
        reason = f"the log begins at {source.low}, and no snapshot covers the rows that are gone"
        raise _refusal(source, offset, reason, first, notes)


def _refusal(
    source: GroupPartition, offset: int, reason: str, first: StoredSnapshot | None, notes: tuple[str, ...]
) -> CannotRestore:
    earliest = "" if first is None else f"; the earliest available one is at {first.state_offset}"
    return CannotRestore(
        "; ".join([f"the state of {source} at offset {offset} cannot be rebuilt: {reason}{earliest}", *notes])
    )


def advance(
    source: GroupPartition,
    model: Model,
    first: int,
    end: int,
    bars: ProgressFactory = no_progress,
    base: int | None = None,
    adoptions: Sequence[PlanAdoption] = (),
) -> tuple[Model, int]:
    """Make a model learn the rows from offset `first` up to, but excluding, `end`.

    Parameters
    ----------
    source, model, first, end, bars
        The partition, the model at `first`, and where progress is shown.
    base : int or None
        An offset at or before `first` where a snapshot stands or the history begins; None: `first` itself.
    adoptions : sequence of PlanAdoption
        Where the history adopted plans, in the order of their numbers.

    Returns
    -------
    tuple
        The model at `end`, which is another one if a plan was adopted, and the number of records.

    Raises
    ------
    UsageFailure
        The events are of another format than the one they are read in.
    CannotRestore
        Models were relearned where a plan was adopted, and the log no longer holds their rows.
    Failure, Unreachable
        The events cannot be read.
    """
    run = plan_run(source, model, adoptions)
    done, usable = 0, False
    progress = bars("rows", end - first) if first < end else no_progress("rows", 0)
    with closing(replayed(source, run, first, end, base, progress)) as pieces:
        for part in pieces:
            usable = run.model.advance(part, emit=False).rows > 0 or usable
            if not usable:
                require_form(model.settings, part)
            done += len(part)
    return run.model, done


def plan_run(source: GroupPartition, model: Model, adoptions: Sequence[PlanAdoption]) -> PlanRun[Model]:
    """Return a run of a group's models, which adopt plans as its workers do.

    States of files come from the topic of plans, and what was relearned is so once more.
    """
    given, begun = source.settings.model.warm, model.settings.warm
    if given is not None and begun is not None and given.digest == begun.digest:  # a snapshot has no more of the file
        model.settings = replace(model.settings, warm=replace(given, frozen=begun.frozen))

    def follow(model: Model, adoption: PlanAdoption) -> Model:
        complete = with_state(adoption, source.settings)
        if adoption.relearned is None:
            return followed_by(model, complete, None)
        reading = replace(source.settings, model=model.settings, label_topic=source.labels)
        return followed_by(model, complete, relearn(reading, model, adoption))

    return PlanRun(model, source.partition, adoptions, follow)


def replayed(
    source: GroupPartition, run: PlanRun[Model], first: int, end: int, base: int | None, progress: Progress
) -> Generator[Records, None, None]:
    """Yield the rows from offset `first` up to, but excluding, `end`, cut where `run` adopts plans.

    The caller makes `run.model` learn each piece before it asks for the next one. `base` is as in `advance`.

    Raises
    ------
    Failure, Unreachable
        The rows cannot be read.
    """
    model = run.model
    model.decoder.set_aside_from = source.set_aside_from
    if first < end:
        if model.exchange is not None:
            model.exchange.replay(_exchange_records(source), first)
        with translated_errors(source.settings), closing(rows(source, model.settings, first, end, base)) as batches:
            for batch in batches:
                yield from run.pieces(batch)
                progress(len(batch))
    run.adopt(end)


def _exchange_records(source: GroupPartition) -> list[bytes | None]:
    """The partition's exchange records, as far as the exchange topic still holds them."""
    topic, deadline = source.settings.topics.shares, Deadline(ASK_SECONDS)
    with translated_errors(source.settings), closing(reader_of(source.settings)) as reader:
        return [value for _, value in read_partition(reader, topic, source.partition, deadline)]


def rows(
    source: GroupPartition, settings: ModelSettings, first: int, end: int, base: int | None = None
) -> Generator[Records, None, None]:
    """The records that the workers took from offset `first` up to, but excluding, `end`; `base` as in `advance`."""
    if source.labels:
        reading = replace(source.settings, model=settings)
        begin = first if base is None else base
        with MergedInput(reading, source.labels, source.partition, begin, end, first) as merged:
            yield from iter(merged.take, None)
        return
    with MessageStream(source.settings, source.settings.input, source.partition, end, first) as stream:
        while messages := stream.peek(BATCH_MESSAGES):
            stream.drop(len(messages))
            yield records_of(source.partition, messages, settings.reads_headers)


def require_form(settings: ModelSettings, records: Records) -> None:
    """Check records without any usable event for a wrong format, which would silently give a wrong state.

    Raises
    ------
    UsageFailure
        Some of the records can be decoded in another format, or all may be of a format that needs a registry.
    """
    if settings.events is None:
        others = [EventFormat(JSON if settings.form == PACKED else PACKED)]
    elif settings.event_format.uses_registry:
        others = [
            JSON_FORMAT,
            *(replace(settings.event_format, name=name) for name in REGISTERED if name != settings.form),
        ]
    elif framed(records):
        choice = f"one of --format {', '.join(REGISTERED)}, and --registry"
        raise UsageFailure(f"the events are in a format with a schema registry, not {JSON}: give {choice}")
    else:
        others = []
    for other in others:
        decoder = Decoder(settings.target, None, other.name, events=settings.events, loads=other.loads())
        if len(decoder.decode(records)):
            raise UsageFailure(
                f"the events are in format {other.name}, not {settings.form}: give --format {other.name}"
            )


def framed(records: Records) -> bool:
    """Whether all values begin with the magic byte of the schema registry's formats, as no JSON does."""
    values = [value for value in records.values if value]
    return bool(values) and all(value[0] == MAGIC for value in values)
