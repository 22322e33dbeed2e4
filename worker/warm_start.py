"""Beginning in a trained state instead of an empty one."""

from __future__ import annotations

from dataclasses import dataclass, field

from driftway.worker.errors import Failure
from driftway.worker.wire.events import Schema


@dataclass(frozen=True)
class WarmStart:
    """A model file's champion, in whose state every partition begins.

    Parameters
    ----------
    name : str
        The file as it was named, for sentences.
    digest : str
        The file's, in hexadecimal; part of what is learned.
    frozen : bool
        The champion only predicts.
    schema : Schema or None
        The features that it takes.
    state : bytes
        Its learner's whole memory. Empty where only a snapshot's header is known: such a model must be given a
        snapshot's state before it is used.
    filling : bytes
        What it knows of its columns to put in the place of missing values, likewise; empty: nothing.
    """

    name: str = field(compare=False)
    digest: str
    frozen: bool = False
    schema: Schema | None = None
    state: bytes = field(default=b"", repr=False)
    filling: bytes = field(default=b"", repr=False)

    def display_name(self, text: str) -> str:
        """The champion's name in outputs: its spec, with `warm:` or `frozen:` in front."""
        return f"frozen:{text}" if self.frozen else f"warm:{text}"

    def admit(self, found: Schema, what: str) -> Schema:
        """The schema to go by where `what` has the features `found`: the file's, if it knows names.

        A list has no names: its features are taken for the file's, in their order.

        Raises
        ------
        Failure
            Another number of features, or other names.
        """
        ours = self.schema
        if ours is None:
            return found
        if found.n_features != ours.n_features:
            raise Failure(f"{what} has {found.n_features} features, model file {self.name} takes {ours.n_features}")
        if found.names is None:
            return found
        if ours.names is None:
            raise Failure(f"{what} names its features, model file {self.name} knows them by their order only")
        if set(found.names) != set(ours.names):
            lacks, extra = min(set(ours.names) - set(found.names)), min(set(found.names) - set(ours.names))
            raise Failure(f"{what} has the feature {extra!r} instead of {lacks!r}, which model file {self.name} takes")
        return ours
