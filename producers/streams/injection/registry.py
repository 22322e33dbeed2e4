"""The kinds of injection by name. A literal table: nothing is imported before a kind is used."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from driftway.producers.streams.injection.injection_kind import InjectionKind

KINDS: dict[str, tuple[str, str]] = {
    "sudden": ("driftway.producers.streams.injection.sudden:KIND", "a second stream takes over at a row"),
    "gradual": (
        "driftway.producers.streams.injection.gradual:KIND",
        "a second stream takes over gradually, with increasing probability",
    ),
    "incremental": (
        "driftway.producers.streams.injection.incremental:KIND",
        "rows move gradually from one stream to a second",
    ),
    "recurring": ("driftway.producers.streams.injection.recurring:KIND", "two streams take turns"),
    "label_noise": ("driftway.producers.streams.injection.label_noise:KIND", "a share of the labels is wrong"),
    "label_flip": ("driftway.producers.streams.injection.label_flip:KIND", "every label changes its class"),
    "missing": ("driftway.producers.streams.injection.missing:KIND", "a share of the features is missing"),
    "imbalance": ("driftway.producers.streams.injection.imbalance:KIND", "a class becomes rarer or more frequent"),
    "virtual": ("driftway.producers.streams.injection.virtual:KIND", "features move, the labelling rule does not"),
}
"""name -> (module:attribute, one line)."""


def find_kind(name: str) -> InjectionKind:
    """The kind called `name`, which must be in `KINDS`."""
    module, attribute = KINDS[name][0].split(":")
    kind: InjectionKind = getattr(import_module(module), attribute)
    return kind
