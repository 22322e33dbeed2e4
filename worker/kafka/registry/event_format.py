"""How events are written, as their readers are told."""

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
    """How events are written: no part of what is learned.

    Parameters
    ----------
    name : str
        Of the format, ``json``, ``packed``, or one whose schemas a registry keeps.
    registry : str or None
        Address of that schema registry, which the other two do not need.
    registry_properties : tuple of (str, str)
        Of its client.
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
        """Whether a registry keeps the schemas."""
        return self.name in REGISTERED

    def loads(self) -> Callable[[bytes], Any] | None:
        """What reads events whose schemas a registry keeps; None: they are JSON, or packed."""
        if self.registry is None:
            return None
        return parser_of(self.name, self.registry, self.registry_properties)


JSON_FORMAT = EventFormat()
"""Of events in JSON."""
