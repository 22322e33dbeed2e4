"""The format of events, for their readers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from driftway.worker.errors import UsageFailure
from driftway.worker.kafka.registry.parser import FORMS as REGISTERED
from driftway.worker.kafka.registry.parser import parser_of
from driftway.worker.wire.codec import FORMATS, JSON


@dataclass(frozen=True)
class EventFormat:
    """The format of events, which has no influence on what is learned.

    Parameters
    ----------
    name : str
        ``json``, ``packed``, or a format whose schemas are in a registry.
    registry : str or None
        URL of the schema registry; None for ``json`` and ``packed``.
    registry_properties : tuple of (str, str)
        Properties of its client.
    """

    name: str = JSON
    registry: str | None = None
    registry_properties: tuple[tuple[str, str], ...] = field(default=(), repr=False)

    def __post_init__(self) -> None:
        if self.name not in (*FORMATS, *REGISTERED):
            raise UsageFailure(f"format must be one of {', '.join((*FORMATS, *REGISTERED))}")
        if (self.registry is not None) != self.uses_registry:
            needs = "needs a schema registry: give --registry URL" if self.registry is None else "needs no --registry"
            raise UsageFailure(f"--format {self.name} {needs}")

    @property
    def uses_registry(self) -> bool:
        """Whether the schemas are in a registry."""
        return self.name in REGISTERED

    def loads(self) -> Callable[[bytes], Any] | None:
        """Return the parser of events whose schemas are in a registry; None for ``json`` and ``packed``."""
        if self.registry is None:
            return None
        return parser_of(self.name, self.registry, self.registry_properties)


JSON_FORMAT = EventFormat()
"""The format of JSON events."""
