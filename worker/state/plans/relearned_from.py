"""From which rows the new models of a plan were relearned, according to the record of the plan's adoption."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from driftway.worker.state.delayed_labels.merge_order import MergePosition
from driftway.worker.state.stored_fields import Malformed, StoredFields
from driftway.worker.wire.events import Schema


@dataclass(frozen=True)
class RelearnedFrom:
    """The rows before a plan's adoption that its relearned models have learned.

    Parameters
    ----------
    models : tuple of str
        Their names.
    offset : int
        Input offset at which they began: the first that the log still held.
    records : int
        Number of records from there to the adoption.
    schema : Schema
        The schema of the partition's events, by which they were read.
    label : int or None
        Offset in the label topic of the first label that was merged with these rows, or of a later one than all that
        were merged before; None: no label topic.
    """

    models: tuple[str, ...]
    offset: int
    records: int
    schema: Schema
    label: int | None = None

    @property
    def begin(self) -> MergePosition:
        """The position before the first row."""
        return MergePosition(self.offset, self.label or 0)

    @property
    def summary(self) -> dict[str, Any]:
        """What the log says of it."""
        return {"relearned": ", ".join(self.models), "relearned_from": self.offset, "records": self.records}

    def as_dict(self) -> dict[str, Any]:
        """The fields as stored in the record about the adoption."""
        names = {} if self.schema.names is None else {"relearned_names": self.schema.names}
        width = {"relearned_features": self.schema.n_features}
        read = {"relearned_from": self.offset, "relearned_records": self.records}
        label = {} if self.label is None else {"relearned_label": self.label}
        return {"relearned_models": self.models, **read, **width, **names, **label}

    @classmethod
    def of_fields(cls, fields: StoredFields) -> RelearnedFrom | None:
        """Parse them; None: no model was relearned.

        Raises
        ------
        Malformed
            They are not such fields.
        """
        if not fields.has("relearned_from"):
            return None
        names = fields.texts("relearned_names") if fields.has("relearned_names") else None
        schema = Schema(fields.integer("relearned_features", at_least=1), names)
        if names is not None and len(names) != schema.n_features:
            raise Malformed(f"relearned_names has {len(names)} names, not {schema.n_features}")
        models, first = fields.texts("relearned_models"), fields.integer("relearned_from")
        label = fields.integer("relearned_label") if fields.has("relearned_label") else None
        return cls(models, first, fields.integer("relearned_records"), schema, label)
