"""From which rows the new models of a plan were relearned, as the record of the plan's place says."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from driftway.worker.state.stored_fields import Malformed, StoredFields
from driftway.worker.wire.events import Schema


@dataclass(frozen=True)
class RelearnedFrom:
    """The rows before a plan's place that its relearned models have learned.

    Parameters
    ----------
    models : tuple of str
        Their names.
    offset : int
        Input offset at which they began: the first that the log still held.
    records : int
        Number of records from there to the place.
    schema : Schema
        The schema of the partition's events, by which they were read.
    """

    models: tuple[str, ...]
    offset: int
    records: int
    schema: Schema

    @property
    def summary(self) -> dict[str, Any]:
        """What the log says of it."""
        return {"relearned": ", ".join(self.models), "relearned_from": self.offset, "records": self.records}

    def as_dict(self) -> dict[str, Any]:
        """The fields as stored in the record about the place."""
        names = {} if self.schema.names is None else {"relearned_names": self.schema.names}
        width = {"relearned_features": self.schema.n_features}
        read = {"relearned_from": self.offset, "relearned_records": self.records}
        return {"relearned_models": self.models, **read, **width, **names}

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
        schema = Schema(fields.integer("relearned_features", least=1), names)
        if names is not None and len(names) != schema.n_features:
            raise Malformed(f"relearned_names has {len(names)} names, not {schema.n_features}")
        models = fields.texts("relearned_models")
        return cls(models, fields.integer("relearned_from"), fields.integer("relearned_records"), schema)
