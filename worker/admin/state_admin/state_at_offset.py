"""Back to any offset: the exact state that the rows before it left, rebuilt as a restore would.

A state is a function of the rows of its history. So the nearest snapshot of the present history at or before the
offset, and the rows between, give it bit for bit; where there is none before it, so do the rows from the history's
start. What a history began with is written nowhere: that its learners began empty is proven by going on to its first
snapshot, which must then hold the recomputed state.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import closing
from dataclasses import dataclass, replace

from driftway.worker.admin.merged_input import MergedInput
from driftway.worker.admin.state_admin.listing import History, Progress, StoredSnapshot, list_snapshots
from driftway.worker.admin.state_admin.source import GroupPartition, read_snapshot
from driftway.worker.errors import CannotRestore, Failure, UsageFailure
from driftway.worker.kafka.consumer_columns import BATCH_MESSAGES, records_of
from driftway.worker.kafka.deadline import Deadline
from driftway.worker.kafka.error_handling import translated_errors
from driftway.worker.kafka.log_reader.reader import ASK_SECONDS
from driftway.worker.kafka.log_reader.stream import MessageStream, reader_of
from driftway.worker.kafka.registry.event_format import JSON_FORMAT, EventFormat
from driftway.worker.kafka.registry.parser import FORMS as REGISTERED
from driftway.worker.kafka.registry.parser import MAGIC
from driftway.worker.settings import ModelSettings
from driftway.worker.state.changelog.snapshot_scan import read_partition
from driftway.worker.state.model import Model
from driftway.worker.state.snapshot import first_difference
from driftway.worker.wire.codec import JSON, PACKED
from driftway.worker.wire.decoder import Decoder
from driftway.worker.wire.events import Records

ProgressFactory = Callable[[str, int], Progress]
"""Given what is about to be done and how many records it takes, returns what is told of those that are done."""


def no_progress(_what: str, _total: int) -> Progress:
    """Show nothing."""
    return lambda _: None


@dataclass(frozen=True)
class RebuiltState:
    """A state that has been rebuilt.

    Parameters
    ----------
    model : Model
        Standing at `offset`.
    offset : int
        Rows before it have been learned.
    base : int or None
        The offset of the snapshot that it was rebuilt from; None: from the history's start.
    begin : int
        Where what was relearned begins.
    relearned : int
        Records that were read again.
    notes : tuple of str
        Snapshots that could not be used.
    """

    model: Model
    offset: int
    base: int | None
    begin: int
    relearned: int
    notes: tuple[str, ...] = ()

    @property
    def way(self) -> str:
        """How it was rebuilt, for a reader."""
        begin = "the history's start" if self.base is None else f"the snapshot at offset {self.base}"
        return f"{begin} and {self.relearned:,} records" if self.relearned else begin


def state_at(source: GroupPartition, offset: int | None, bars: ProgressFactory = no_progress) -> RebuiltState:
    """Rebuild a partition's state.

    Parameters
    ----------
    source : GroupPartition
        Which partition of which group, and the events' format.
    offset : int or None
        Where to; None: the snapshot that the committed offset points to, else the newest.
    bars : Bars
        Shows progress.

    Raises
    ------
    UsageFailure
        The log ends before the offset, or the events are of another format.
    CannotRestore
        The state cannot be had any more; the sentence says why.
    Failure, Unreachable
        The topics cannot be read.
    """
    listing = list_snapshots(source.settings, source.partition, source.end, bars("snapshots", source.end))
    history = listing.present(source.pointer)
    if offset is None:
        offset = _newest(source, history)
    if offset > source.high:
        raise UsageFailure(f"offset {offset} lies behind the end of {source}: its log ends at {source.high}")
    notes = ["a newer history has begun, of which nothing is committed yet"] if history.superseded else []
    older = sorted(
        (one for one in history.snapshots if one.state_offset <= offset),
        key=lambda one: (one.state_offset, one.place.first),
        reverse=True,
    )
    for one in older:
        if one.state_offset < min(source.low, offset):
            break
        try:
            file = read_snapshot(source, one.place)
            model = file.model(source.form)
        except UsageFailure:
            raise
        except Failure as error:
            notes.append(str(error))
            continue
        if file.saved.schema is None and model.settings.warm is not None:
            continue  # from before the first event: what the learners begin with is not in it
        relearned = advance(source, model, one.state_offset, offset, bars)
        return RebuiltState(model, offset, one.state_offset, one.state_offset, relearned, tuple(notes))
    return _from_start(source, history, offset, tuple(notes), bars)


def _newest(source: GroupPartition, history: History) -> int:
    """Where the newest committed snapshot stands."""
    if source.pointer is not None:
        return source.pointer.state_offset
    if not history.snapshots:
        raise CannotRestore(f"group {source.settings.group} has no snapshot of {source}")
    return max(one.state_offset for one in history.snapshots)


def _from_start(
    source: GroupPartition, history: History, offset: int, notes: tuple[str, ...], bars: ProgressFactory
) -> RebuiltState:
    """The state at an offset before the history's first snapshot that can be used."""
    began, usable = history.began, [one for one in history.snapshots if one.problem is None]
    first = min((one for one in usable if one.state_offset > offset), key=lambda one: one.state_offset, default=None)
    _require_start(source, history, offset, first, notes)
    if began is None or first is None:
        raise _refusal(source, offset, "no snapshot says what was learned", first, notes)
    file = read_snapshot(source, first.place)
    settings, given = file.settings(source.form), source.settings.model.warm
    if settings.warm is not None:
        if given is None or given.digest != settings.warm.digest:
            reason = f"its history began with model file {settings.warm.digest}, which --warm-start must name"
            raise _refusal(source, offset, reason, first, notes)
        settings = replace(settings, warm=replace(given, frozen=settings.warm.frozen))
    schema = file.saved.schema
    fixed = [schema.n_features] if schema is not None and schema.names is None else []
    for n_features in (None, *fixed):  # the workers may have had --features
        model = Model(replace(settings, n_features=n_features), source.partition)
        relearned = advance(source, model, began, offset, bars)
        there = model.save()
        advance(source, model, offset, first.state_offset, bars, began)
        if first_difference(file.saved, model.save()) is None:
            model.load(there)
            return RebuiltState(model, offset, None, began, relearned, notes)
    raise _refusal(source, offset, f"its learners did not begin empty at {began}, or left out rows", first, notes)


def _require_start(
    source: GroupPartition, history: History, offset: int, first: StoredSnapshot | None, notes: tuple[str, ...]
) -> None:
    """Refuse where the rows from the history's start to the offset are not all in the log."""
    began = history.began
    if began is not None and offset < began:
        reason = f"the present history of group {source.settings.group} began at {began}"
        raise _refusal(source, offset, reason, first, notes)
    older = [one.state_offset for one in history.snapshots if one.state_offset <= offset]
    reach = min(older, default=None) if began is None else began
    if reach is None:
        raise _refusal(source, offset, "the present history began with a state that was imported or kept", first, notes)
    if source.low > reach:
        reason = f"the log begins at {source.low}, and no snapshot stands in for the rows that are gone"
        raise _refusal(source, offset, reason, first, notes)


def _refusal(
    source: GroupPartition, offset: int, reason: str, first: StoredSnapshot | None, notes: tuple[str, ...]
) -> CannotRestore:
    earliest = "" if first is None else f"; the earliest that can be had is at {first.state_offset}"
    return CannotRestore(
        "; ".join([f"the state of {source} at offset {offset} cannot be had: {reason}{earliest}", *notes])
    )


def advance(
    source: GroupPartition,
    model: Model,
    first: int,
    end: int,
    bars: ProgressFactory = no_progress,
    base: int | None = None,
) -> int:
    """Let a model learn the rows from offset `first` to before `end`, in silence; return how many records there were.

    `base` is an offset up to there at which a snapshot stands, or the history has begun; None: `first` is one.

    Raises
    ------
    UsageFailure
        The events are of another format than they are read in.
    Failure, Unreachable
        They cannot be read.
    """
    if first >= end:
        return 0
    done, usable = 0, False
    progress = bars("rows", end - first)
    if model.exchange is not None:
        model.exchange.replay(_exchange_records(source), first)
    with translated_errors(source.settings), closing(rows(source, model.settings, first, end, base)) as found:
        for records in found:
            outputs = model.advance(records, emit=False)
            usable = usable or outputs.rows > 0
            if not usable:
                require_form(model.settings, records)
            done += len(records)
            progress(len(records))
    return done


def _exchange_records(source: GroupPartition) -> list[bytes | None]:
    """What the partition's learners took in of others, as far as it is in the topic of shares."""
    topic, deadline = source.settings.topics.shares, Deadline(ASK_SECONDS)
    with translated_errors(source.settings), closing(reader_of(source.settings)) as reader:
        return [value for _, value in read_partition(reader, topic, source.partition, deadline)]


def rows(
    source: GroupPartition, settings: ModelSettings, first: int, end: int, base: int | None = None
) -> Generator[Records, None, None]:
    """What the workers have taken from offset `first` to before `end`; `base` as in `advance`."""
    if source.labels:
        reading = replace(source.settings, model=settings)
        begin = first if base is None else base
        with MergedInput(reading, source.labels, source.partition, begin, end, first) as both:
            yield from iter(both.take, None)
        return
    with MessageStream(source.settings, source.settings.input, source.partition, end, first) as stream:
        while messages := stream.peek(BATCH_MESSAGES):
            stream.drop(len(messages))
            yield records_of(source.partition, messages, settings.reads_headers)


def require_form(settings: ModelSettings, records: Records) -> None:
    """Where nothing could be read: the format may be wrong, and the state would be, too, without a word.

    Raises
    ------
    UsageFailure
        In another format, some of these are events, or all may be.
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
        raise UsageFailure(f"the events are of a format whose schemas a registry keeps, not {JSON}: give {choice}")
    else:
        others = []
    for other in others:
        decoder = Decoder(settings.target, None, other.name, events=settings.events, loads=other.loads())
        if len(decoder.decode(records)):
            raise UsageFailure(
                f"the events are of format {other.name}, not {settings.form}: give --format {other.name}"
            )


def framed(records: Records) -> bool:
    """Whether all values begin as those do whose schemas a registry keeps: no JSON does."""
    values = [value for value in records.values if value]
    return bool(values) and all(value[0] == MAGIC for value in values)
