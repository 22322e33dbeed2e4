"""The registry of all drift detectors by name; a new detector adds one line here."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from driftway.learners.engine.suggestion import did_you_mean

if TYPE_CHECKING:
    from driftway.learners.drift.detector import Detector

DETECTORS: dict[str, str] = {
    "ddm": "driftway.learners.drift.ddm:DDM",
    "eddm": "driftway.learners.drift.eddm:EDDM",
    "page_hinkley": "driftway.learners.drift.page_hinkley:PageHinkley",
    "adwin": "driftway.learners.drift.adwin:ADWIN",
    "hddm_a": "driftway.learners.drift.hddm_a:HDDMA",
    "hddm_w": "driftway.learners.drift.hddm_w:HDDMW",
    "kswin": "driftway.learners.drift.kswin:KSWIN",
}


class UnknownDetector(ValueError):
    """No detector has that name; the message suggests the closest one."""


def find(name: str) -> type[Detector]:
    """Return the class registered under `name`.

    Raises
    ------
    UnknownDetector
        The name is not in the registry.
    """
    if name not in DETECTORS:
        hint = did_you_mean(name, DETECTORS, f"available: {', '.join(DETECTORS)}")
        raise UnknownDetector(f"no detector {name!r}; {hint}")
    module, class_name = DETECTORS[name].split(":")
    found: type[Detector] = getattr(import_module(module), class_name)
    return found


def create(name: str, **parameters: Any) -> Detector:
    """Create a detector.

    Raises
    ------
    UnknownDetector, ParameterError
        No such detector, or a parameter is not valid.
    """
    return find(name)(**parameters)
