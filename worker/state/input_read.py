"""What a state has read of its input: how many records, and from which topics. Leaf module.

Each commit and each snapshot contains this. If a restore reads another number of records, its state differs: some
records were compacted away, deleted or rewritten. Another topic id means that the topic was deleted and recreated, so
its offsets are those of other records.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any

METADATA = re.compile(r":([0-9]{1,19}):([0-9]{1,19}):([\w-]{0,64}):([\w-]{0,64})", re.ASCII)


@dataclass(frozen=True)
class InputRead:
    """What a state has read of its input.

    Parameters
    ----------
    since : int or None
        Input offset from which records are counted: where the state's history began, or where a version that did not
        count left off; None: not known.
    records : int
        Number of records read from there on: events, and labels of the label topic.
    topic, labels : str or None
        Ids of the input and of the label topic; None: not known, or no such topic.
    epoch : int or None
        Highest leader epoch of the input's records; None: not known. Each election begins a higher one, so a record
        that was written over one of these has a higher epoch than they.
    """

    since: int | None = None
    records: int = 0
    topic: str | None = None
    labels: str | None = None
    epoch: int | None = None

    def plus(self, records: int) -> InputRead:
        """Return what has been read after `records` more."""
        return replace(self, records=self.records + records)

    def seen(self, epoch: int | None) -> InputRead:
        """Return what has been read after a record of this leader epoch; None if that is not known."""
        if epoch is None or (self.epoch is not None and epoch <= self.epoch):
            return self
        return replace(self, epoch=epoch)

    def missing(self, expected: InputRead | None) -> int:
        """Return how many records fewer than `expected` were read; 0 if the two are not counted from one offset."""
        if expected is None or self.since is None or self.since != expected.since:
            return 0
        return expected.records - self.records

    def recreated(self, topic: str | None, labels: str | None = None) -> str | None:
        """Say which of the input and the label topic has another id than the one that is known; None if none has."""
        for name, before, now in (("input", self.topic, topic), ("label", self.labels, labels)):
            if before is not None and now is not None and before != now:
                return f"the {name} topic was deleted and recreated: its id was {before}, now it is {now}"
        return None

    def as_dict(self) -> dict[str, Any]:
        """Convert to JSON values."""
        fields = {"since": self.since, "records": self.records, "topic": self.topic, "labels": self.labels}
        fields["epoch"] = self.epoch
        return {name: value for name, value in fields.items() if value is not None}

    @classmethod
    def from_dict(cls, plain: Any) -> InputRead:
        """Parse a result of `as_dict`; of anything else, nothing is known."""
        if not isinstance(plain, dict):
            return cls()
        since, records, topic, labels = (plain.get(name) for name in ("since", "records", "topic", "labels"))
        ids, epoch = [one if isinstance(one, str) else None for one in (topic, labels)], plain.get("epoch")
        known = cls(None, 0, ids[0], ids[1])
        if type(since) is int and type(records) is int:
            known = replace(known, since=since, records=records)
        return known.seen(epoch if type(epoch) is int else None)

    def metadata(self) -> str:
        """The end of a committed offset's metadata, where there is no commit record."""
        return "" if self.since is None else f":{self.since}:{self.records}:{self.topic or ''}:{self.labels or ''}"

    @classmethod
    def parse(cls, text: str) -> InputRead:
        """Parse a result of `metadata`; of anything else, nothing is known."""
        found = METADATA.fullmatch(text)
        if found is None:
            return cls()
        since, records, topic, labels = found.groups()
        return cls(int(since), int(records), topic or None, labels or None)


NOTHING_KNOWN = InputRead()
"""The value for a commit or a snapshot that an earlier version wrote."""
