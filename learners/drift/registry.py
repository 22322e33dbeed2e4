"""Every drift detector by name: the one place to look, and the one line to add."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

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
    """No detector has that name; the message names the nearest one."""


def find(name: str) -> type[Detector]:
    """The class registered under `name`.

    Raises
    ------
    UnknownDetector
        Not in the registry.
    """
    if name not in DETECTORS:
        from difflib import get_close_matches

        near = get_close_matches(name, DETECTORS, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"there is: {', '.join(DETECTORS)}"
        raise UnknownDetector(f"no detector {name!r}; {hint}")
    module, class_name = DETECTORS[name].split(":")
    found: type[Detector] = getattr(import_module(module), class_name)
    return found


def create(name: str, **parameters: Any) -> Detector:
    """A detector that has seen nothing.

    Raises
    ------
    UnknownDetector, ParameterError
        No such detector, or a parameter is not valid.
    """
    return find(name)(**parameters)
