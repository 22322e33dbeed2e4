"""Find the last commits' outputs that readers cannot see, at a restore, and write them again before anything new.

A commit is one transaction in several logs, each of which gets its own end marker. A transaction coordinator that
restarts with incomplete state may commit the offset, the snapshot and the commit record, and abort the predictions
(docs/decisions/0018). So a restore looks for the records that the last commit claims to have written; missing ones are
computed again from the rows, and written.

After an unclean leader election, only the log of snapshots may have lost the last commit records. Then outputs of rows
after the last record are visible: these are not written again, and only missing ones are.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from confluent_kafka import Consumer

from driftway.worker.kafka.deadline import Deadline
from driftway.worker.kafka.interface import OffsetRange
from driftway.worker.kafka.log_reader.reader import watermarks
from driftway.worker.kafka.log_reader.topic_facts import compacted_topics
from driftway.worker.kafka.log_reader.visibility import are_visible
from driftway.worker.kafka.topics import Topics
from driftway.worker.settings.option_values import EVERY_MODEL
from driftway.worker.state.changelog.commit_record import CommitRecord
from driftway.worker.state.changelog.emission import Emission, Emissions
from driftway.worker.state.changelog.output_keys import Key, OutputKeys
from driftway.worker.state.changelog.snapshot_scan import commit_records
from driftway.worker.state.outputs import ChallengerPredictions, Outputs
from driftway.worker.stream.task.restoring.last_commit import LastCommit
from driftway.worker.stream.task.restoring.restore_context import RestoreContext
from driftway.worker.wire.codec import read_json
from driftway.worker.wire.headers import chosen_headers


@dataclass(frozen=True)
class MissingOutputs:
    """Outputs to write again.

    Parameters
    ----------
    since, until : int
        Input offsets; outputs of rows from `since` to before `until` are missing.
    present : mapping
        Topic with missing outputs -> keys of those that are there nevertheless. Other topics miss nothing.
    unrecorded_from : int or None
        Input offset from which on outputs are visible whose commit records are gone; None if all have one.
    emissions : Emissions
        Whose predictions were written for which rows.
    unrecorded : tuple of Emission
        Those of them that only the outputs show.
    """

    since: int
    until: int
    present: Mapping[str, Collection[Key]] = field(default_factory=dict)
    unrecorded_from: int | None = None
    emissions: Emissions = field(default_factory=lambda: Emissions({}))
    unrecorded: tuple[Emission, ...] = ()

    def with_emissions(self, recorded: Mapping[int, str], topics: Topics) -> MissingOutputs:
        """Return the same with what is `recorded` of whose predictions were written, by input offset.

        Outputs whose commit records are gone may have been written by workers that had another `--emit`.
        """
        first, known = self.unrecorded_from, Emissions(recorded)
        seen = self.present.get(topics.challengers, ())
        if first is None or known.at(first) == EVERY_MODEL or not any(offset >= first for offset, _ in seen):
            return replace(self, emissions=known)
        found = Emission(first, EVERY_MODEL)
        return replace(self, emissions=Emissions({**recorded, first: EVERY_MODEL}), unrecorded=(found,))

    def reason(self, topics: Topics) -> str:
        """Say what is wrong."""
        if self.unrecorded_from is None:
            lost = ", ".join(self.present)
            return f"what the commits from offset {self.since} to {self.until} wrote to {lost} is missing"
        seen = ", ".join(topic for topic, keys in self.present.items() if keys)
        return (
            f"{topics.snapshots} has lost the commits from offset {self.unrecorded_from} to {self.until}, whose "
            f"outputs are in {seen}: its log was cut, as by an unclean election of a leader"
        )

    @property
    def what(self) -> str:
        """Say what is written."""
        return "the missing outputs again" if self.unrecorded_from is None else "only what is missing among them"

    def select(self, outputs: Outputs, topics: Topics) -> Outputs:
        """Return what must be written of `outputs`, all of rows before `until`."""
        selected = Outputs(outputs.next_offset)
        if (present := self.present.get(topics.predictions)) is not None:
            kept = np.array([(offset, None) not in present for offset in outputs.offsets.tolist()], np.bool_)
            selected.offsets = outputs.offsets[kept]
            selected.predictions, selected.keys = outputs.predictions.chosen(kept), outputs.keys.chosen(kept)
            selected.headers = chosen_headers(outputs.headers, kept)
        if (present := self.present.get(topics.challengers)) is not None:
            selected.challengers = [self._lacking(one, present) for one in outputs.challengers]
        if (present := self.present.get(topics.accuracy)) is not None:
            selected.points = [(key, value) for key, value in outputs.points if (_offset(value), key) not in present]
        if (present := self.present.get(topics.alarms)) is not None:
            selected.alarms = [alarm for alarm in outputs.alarms if (alarm.offset, alarm.key) not in present]
        if (present := self.present.get(topics.rejected)) is not None:
            selected.rejected = [bad for bad in outputs.rejected if bad.answered_offset not in present]
        return selected

    def _lacking(self, predictions: ChallengerPredictions, present: Collection[Key]) -> ChallengerPredictions:
        """Return those of the challengers' predictions that were to be written and are not present."""
        absent = np.array([key not in present for key in predictions.identities()], np.bool_)
        return predictions.chosen(absent & self.emissions.every_model(predictions.offsets))


def find_missing_outputs(context: RestoreContext, last: LastCommit) -> MissingOutputs | None:
    """Return outputs to write again; None if all are visible, or without a commit record.

    The last commits' outputs may be hidden; or they are there, and those commits' records are gone.

    Raises
    ------
    KafkaException, TimedOut
        The broker did not deliver in time.
    """
    if context.transactions is None or not last.in_transaction or last.record is None:
        return None
    settings, readers = context.settings, (context.reader, context.uncommitted_reader)

    def is_compacted(topic: str) -> bool:
        return bool(compacted_topics(settings.bootstrap, settings.passthrough, [topic]))

    check = OutputCheck(context.topics, context.partition, readers, context.deadline, context.ended, is_compacted)
    return check.find_missing(last.record, suspected=(last.offset or 0) > last.record.offset)


class OutputCheck:
    """Checks the outputs of a partition's last commits.

    Parameters
    ----------
    topics : Topics
        The group's; topics that are no longer there, such as alarms without detectors, are not checked.
    partition : int
        The partition's number.
    readers : tuple
        A read_committed and a read_uncommitted reader.
    deadline : Deadline
        For all calls together.
    ended : mapping
        Topic -> first record of a hanging transaction that was aborted. The commit that wrote it may be an old one.
    is_compacted : callable
        Whether compaction may have removed records of a topic.
    """

    def __init__(
        self,
        topics: Topics,
        partition: int,
        readers: tuple[Consumer, Consumer],
        deadline: Deadline,
        ended: Mapping[str, int],
        is_compacted: Callable[[str], bool],
    ) -> None:
        self._topics, self._partition, self._deadline = topics, partition, deadline
        self._reader, self._uncommitted_reader = readers
        self._is_compacted = is_compacted
        self._outputs = OutputKeys(self._reader, topics, partition, deadline)
        self._ended = {topic: first for topic, first in ended.items() if topic != topics.snapshots}

    def find_missing(self, newest: CommitRecord, suspected: bool) -> MissingOutputs | None:
        """Return what is missing; None if nothing is.

        Commits are checked backwards, to a complete one and past those whose outputs may have been aborted here. Where
        compaction has removed earlier commit records, the outputs that are left say what is missing. Then outputs are
        searched that belong to later rows: what their commits wrote is completed.

        Parameters
        ----------
        newest : CommitRecord
            The last commit.
        suspected : bool
            Whether the group's offset is beyond it.

        Raises
        ------
        KafkaException, TimedOut
            The broker did not deliver in time.
        """
        since, present = newest.offset, dict[str, set[Key]]()
        checked, repaired, unseen, complete = list[CommitRecord](), 0, dict(self._ended), False
        for record in self._commits_back(newest):
            hidden = self._hidden_topics(record)
            complete = not hidden and bool(record.outputs)  # one that wrote nothing, as at a clean stop, proves nothing
            if complete and not unseen:
                break
            checked.append(record)
            for topic, span in record.outputs.items():
                if span.first <= unseen.get(topic, -1):
                    del unseen[topic]
            if hidden:
                since, repaired = record.offset if record.previous is None else record.previous, len(checked)
                present |= {topic: set() for topic in hidden}
        later, until = self._outputs.later(newest, suspected), newest.offset
        for topic, keys in later.items():
            present[topic] = present.get(topic, set()) | keys
            until = max(until, *(offset + 1 for offset, _ in keys)) if keys else until
        for record in checked[:repaired]:  # a topic that lost one commit's outputs may have another's
            for topic in present.keys() & record.outputs.keys():
                span = record.outputs[topic]
                present[topic] |= self._outputs.read(topic, span.first, span.last + 1)
        if not complete and repaired and checked[repaired - 1].previous:
            least = self._least_known(checked[repaired - 1])
            if least < since:
                since, present = least, {one: keys | self._outputs.ending(one, least) for one, keys in present.items()}
        if not present:
            return None
        return MissingOutputs(since, until, present, newest.offset if later else None)

    def _least_known(self, record: CommitRecord) -> int:
        """Return the input offset up to which outputs are there in the topics in which those of a commit are hidden.

        What a topic has lost begins behind its last record before that commit's, whatever that commit's own offset is.
        """
        last = [self._outputs.last_before(topic, record.outputs[topic].first) for topic in self._hidden_topics(record)]
        return min(last, default=record.offset)

    def _commits_back(self, newest: CommitRecord) -> Iterator[CommitRecord]:
        """Yield commits from the newest backwards, as long as the log holds the one directly before."""
        found, depth = [newest], 0
        while depth < len(found) and (depth == 0 or found[depth].offset == found[depth - 1].previous):
            yield found[depth]
            depth += 1
            if depth == len(found):
                least = 2 * depth  # one may stand there twice, see `hanging_transactions`
                found = commit_records(self._reader, self._topics.snapshots, self._partition, self._deadline, least)
                found = [record for i, record in enumerate(found) if i == 0 or record != found[i - 1]]

    def _hidden_topics(self, record: CommitRecord) -> list[str]:
        """Return topics in which the commit's first or last output is hidden."""
        written = self._topics.outputs()
        return [topic for topic, span in record.outputs.items() if topic in written and self._is_hidden(topic, span)]

    def _is_hidden(self, topic: str, span: OffsetRange) -> bool:
        """Whether records were aborted or truncated; those removed by retention or compaction do not count."""
        low, end = watermarks(self._reader, topic, self._partition, self._deadline)
        ends = [offset for offset in (span.first, span.last) if offset >= low]
        if any(offset >= end for offset in ends):
            return True
        committed = are_visible(self._reader, topic, self._partition, ends, self._deadline)
        if all(committed):
            return False
        there = are_visible(self._uncommitted_reader, topic, self._partition, ends, self._deadline)
        if any(seen and not given for seen, given in zip(there, committed, strict=True)):
            return True
        return not self._is_compacted(topic)  # a marker stands there now, behind records that were cut off


def _offset(point: bytes) -> int:
    return int(read_json(point)["offset"])
