"""Every batch procedure by name; as for learners, listing the names compiles nothing."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from learners.parameters import ParameterError

if TYPE_CHECKING:
    from learners.batch.procedure import Procedure

PROCEDURES: dict[str, str] = {
    "i": "learners.batch.algorithm_i:AlgorithmI",
    "ii": "learners.batch.algorithm_ii:AlgorithmII",
    "iii-weak": "learners.batch.algorithm_iii_weak:AlgorithmIIIWeak",
    "iii": "learners.batch.algorithm_iii:AlgorithmIII",
    "random-stopping": "learners.batch.random_stopping:RandomStopping",
    "longest-survival": "learners.batch.longest_survival:LongestSurvival",
    "average": "learners.batch.average:Average",
    "cutoff-average": "learners.batch.cutoff_average:CutoffAverage",
}


def find(name: str) -> type[Procedure]:
    """The class registered under `name`.

    Raises
    ------
    ParameterError
        Not in the registry.
    """
    if name not in PROCEDURES:
        raise ParameterError(f"no batch algorithm {name!r}; there is: {', '.join(PROCEDURES)}")
    module, class_name = PROCEDURES[name].split(":")
    found: type[Procedure] = getattr(import_module(module), class_name)
    return found
