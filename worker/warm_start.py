"""Start learners from a trained model file instead of empty."""

from __future__ import annotations

from dataclasses import dataclass, field

from driftway.worker.errors import Failure, plural
from driftway.worker.wire.events import Schema

WARM, FROZEN = "warm", "frozen"
"""What stands before the name of a model that began with a model file: it learns on, or only predicts."""


@dataclass(frozen=True)
class WarmStart:
    """A model file's champion, from whose state every partition starts.

    Parameters
    ----------
    name : str
        The file's name as the user gave it, for messages.
    digest : str
        The file's digest in hexadecimal; part of the model's identity.
    frozen : bool
        The champion only predicts.
    schema : Schema or None
        The features that it expects.
    state : bytes
        The learner's complete state. Empty if only a snapshot's header is known: such a model must load a snapshot
        before it is used.
    filling : bytes
        The state that fills in missing values, likewise; empty if there is none.
    calibration : bytes
        The state of the calibrator behind the learner, likewise.
    """

    name: str = field(compare=False)
    digest: str
    frozen: bool = False
    schema: Schema | None = None
    state: bytes = field(default=b"", repr=False)
    filling: bytes = field(default=b"", repr=False)
    calibration: bytes = field(default=b"", repr=False)

    @property
    def start(self) -> str:
        """Whether the model learns on: WARM, or FROZEN."""
        return FROZEN if self.frozen else WARM

    def display_name(self, text: str) -> str:
        """The model's name in outputs: its spec, with `warm:` or `frozen:` in front."""
        return f"{self.start}:{text}"

    def admit(self, found: Schema, what: str) -> Schema:
        """Return the schema to use for `what`, whose features are `found`: the file's if both have names, else `found`.

        Features of a list have no names; they are taken as the file's features in the same order.

        Raises
        ------
        Failure
            The number of features or their names differ, or only `found` has names.
        """
        ours = self.schema
        if ours is None:
            return found
        if found.n_features != ours.n_features:
            raise Failure(
                f"{what} has {plural(found.n_features, 'feature')}, model file {self.name} takes {ours.n_features}"
            )
        if found.names is None:
            return found
        if ours.names is None:
            raise Failure(f"{what} names its features, model file {self.name} knows them by their order only")
        if set(found.names) != set(ours.names):
            lacks, extra = min(set(ours.names) - set(found.names)), min(set(found.names) - set(ours.names))
            raise Failure(f"{what} has the feature {extra!r} instead of {lacks!r}, which model file {self.name} takes")
        return ours
