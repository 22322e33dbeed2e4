"""From a committed offset back to a model: who owned the partition last decides nothing, the log decides all.

1. Acquire (`exactly_once`): fence the last owner, so that nothing can be committed behind our back.
2. Read the last commit (`last_commit`), once everything that was written until then is decided: what it says of itself
   in the partition's own log. The group's coordinator is asked for the committed offset C too. Where it names another
   one, although a worker committed it, it is asked again for a while; then the log counts.
3. See that the outputs of that commit are there (`output_repair`); what is missing is written again.
4. Bring a model to C (`restore_plan`): load the snapshot that the pointer names, at S <= C, or keep the state in
   memory, if that stands at C.
5. Find what goes in beside the events from S on (`side_inputs`): other partitions' models, and labels.
6. The loop then reads S..C once more, learning without emitting; from C on it emits.

A damaged snapshot is an accident: an older one of the same history, or the log itself where it still reaches back
to its first row, gives the same bits, and the restore says so in its note. Anything else (another learner, an offset
committed by hand, rows that retention has taken) is somebody's decision: it is refused (exit 4), naming the option
that chooses otherwise; a restore never turns into a cold start by itself.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from driftway.worker.kafka.deadline import Deadline
from driftway.worker.kafka.log_reader.reader import watermarks
from driftway.worker.kafka.log_reader.visibility import first_visible
from driftway.worker.settings import LATEST, WorkerSettings
from driftway.worker.state.changelog.snapshot_scan import mark_new_history
from driftway.worker.state.model import Model
from driftway.worker.state.snapshot import CLAIM_PARTITION
from driftway.worker.stream.task.checkpoint import Checkpoint
from driftway.worker.stream.task.last_commit import read_last_commit
from driftway.worker.stream.task.output_repair import find_missing_outputs
from driftway.worker.stream.task.restore_context import RestoreContext, restore_context
from driftway.worker.stream.task.restore_plan import RestorePlan, RestoreResult
from driftway.worker.stream.task.side_inputs import with_labels, with_rounds


def restore(
    settings: WorkerSettings,
    partition: int,
    checkpoint: Checkpoint,
    make_model: Callable[[], Model],
    deadline: Deadline,
    in_memory_offset: int | None = None,
) -> RestoreResult:
    """Acquire the partition and rebuild its model; blocks, so it runs beside the loop.

    Parameters
    ----------
    settings, partition, checkpoint
        Whose.
    make_model : callable
        Makes an empty one.
    deadline : Deadline
        For all of it; extended while records come.
    in_memory_offset : int or None
        The committed offset of which the task has the state in memory; None: of none.

    Raises
    ------
    CannotRestore
        A policy refuses.
    KafkaException, TaskError
        To be judged by `driftway.worker.kafka.error_handling`.
    """
    checkpoint.acquire(deadline)
    with restore_context(settings, partition, checkpoint, make_model, deadline) as context:
        last = read_last_commit(context)
        plan = RestorePlan.of(context, last)
        missing = find_missing_outputs(context, last)
        found = plan.choose(missing, in_memory_offset)
        if settings.topics.shared:
            found = with_rounds(found, plan)
        if found.history_start is not None:
            _begin_history(context, found)
        if settings.label_topic:
            found = with_labels(found, plan)
        return replace(
            found, start=first_visible(context.reader, settings.input, partition, found.position, deadline)[0]
        )


def _begin_history(context: RestoreContext, found: RestoreResult) -> None:
    """Mark that older snapshots are of another history; an empty topic says by itself that this one began at 0.

    One with a claim in it is as good as empty. What began at the log's end is marked always: the end moves on.
    """
    settings, partition = context.settings, context.partition
    low, high = watermarks(context.reader, settings.topics.snapshots, partition, context.deadline)
    if found.history_start != 0 or settings.start == LATEST or high - low > (partition == CLAIM_PARTITION):
        start = None if found.keeps_learned else found.history_start
        mark_new_history(settings, partition, start, context.deadline)
