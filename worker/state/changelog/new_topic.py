"""The record that says where outputs start again: the input topic was recreated, or somebody set the committed offset.

Then two records in the outputs may have the same input offset, or some offsets have none. The recorded ends of the
outputs' logs say where the present outputs begin.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from driftway.worker.state.stored_fields import Malformed, StoredFields, whole_number
from driftway.worker.wire.codec import write_json


@dataclass(frozen=True)
class NewTopic:
    """Where a partition continued in a topic that was recreated.

    Parameters
    ----------
    topic : str or None
        Id of the new input topic.
    ends : mapping
        Output topic -> end of the partition's log when the new topic began.
    """

    topic: str | None
    ends: Mapping[str, int] = field(default_factory=dict)

    def write(self) -> bytes:
        """The record's value."""
        return write_json({"topic": self.topic, "ends": dict(self.ends)})

    @classmethod
    def read(cls, value: bytes | None) -> NewTopic | None:
        """Parse a record's value; None if it cannot be read."""
        try:
            fields = StoredFields.parse(value, "it")
            ends = {topic: whole_number(end, topic) for topic, end in fields.object("ends").plain.items()}
            return cls(fields.text("topic") if fields.has("topic") else None, ends)
        except Malformed:
            return None
