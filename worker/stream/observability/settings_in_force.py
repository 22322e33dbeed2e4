"""The settings that a worker starts with, as its log has them: without anything that may be secret."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from driftway.worker.kafka.client_config import redact, without_userinfo

SECRETIVE = "registry_properties"
"""Properties of which only the names are logged."""


def settings_in_force(given: Mapping[str, Any], passthrough: Mapping[str, Any]) -> dict[str, Any]:
    """Return option -> value, with those of the client's properties that are set, from whatever source.

    Parameters
    ----------
    given : mapping
        Name of an option's parameter -> its value.
    passthrough : mapping
        Client properties, those of files included.
    """
    found: dict[str, Any] = {}
    for name, value in given.items():
        if name == "properties":
            found[name] = [redact(f"{key}={one}") for key, one in passthrough.items()]
        elif name == SECRETIVE:
            found[name] = [_name(one) for one in value]
        elif value is None or isinstance(value, bool | int | float):
            found[name] = value
        elif isinstance(value, str) or not isinstance(value, Iterable):
            found[name] = without_userinfo(str(value))
        else:
            found[name] = [without_userinfo(str(one)) for one in value]
    return found


def _name(pair: Any) -> str:
    return f"{pair[0] if isinstance(pair, tuple) else str(pair).partition('=')[0]}=***"
