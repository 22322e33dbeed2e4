"""In what two identities differ, in words: those of two stored states, or of one and the options.

An identity is what `ModelSettings.identity` returns, as JSON has it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from driftway.worker.errors import plural
from driftway.worker.wire.events import Schema

PLANNED = "learners", "window", "accuracy_every", "detectors", "coverage"
"""Keys of an identity that a plan can change."""
BEHIND = " behind "
"""Separates a learner's spec from the feature maps in front of it, which a plan cannot change."""
MAX_NAMED = 8
"""Entries of a list that are named."""


def in_words(key: str, one: Any, other: Any) -> tuple[str, str, str]:
    """Return the name and both values of a setting in which two identities differ; None stands for one without it.

    A stored identity may have any values.
    """
    ours, theirs = (schema if isinstance(schema, Mapping) else {} for schema in (one, other))
    part = next((name for name in {**ours, **theirs} if ours.get(name) != theirs.get(name)), None)
    if part is not None:  # of the schema of events
        key = f"{key} {part}"
        one = ours.get(part, "the default") if ours else one
        other = theirs.get(part, "the default") if theirs else other
    return key, _value_in_words(one, other), _value_in_words(other, one)


def is_plannable(key: str, one: Any, other: Any) -> bool:
    """Whether a plan can change a setting from one value to another."""
    return key in PLANNED and BEHIND not in f"{one}{other}"


def features_in_words(schema: Schema | None) -> str:
    """Return the features of a state in words."""
    if schema is None:
        return "no event yet"
    if schema.names is None:
        return plural(schema.n_features, "feature without a name", "features without names")
    return f"{plural(schema.n_features, 'feature')} named {_listed(schema.names)}"


def _value_in_words(value: Any, other: Any) -> str:
    """Return a value in words; of a long list, only what the `other` one lacks."""
    if value is None or value == []:
        return "none"
    if isinstance(value, bool):
        return "on" if value else "off"
    if not isinstance(value, list):
        return str(value)
    known = other if isinstance(other, list) else []
    lacking = [one for one in value if one not in known] if len(value) > MAX_NAMED else []
    return _listed([str(one) for one in lacking or value])


def _listed(names: Any) -> str:
    """Return names as a sentence has them, the first of many."""
    words = [*names[:MAX_NAMED], *["others"] * (len(names) > MAX_NAMED)]
    return " and ".join(filter(None, (", ".join(words[:-1]), words[-1])))
