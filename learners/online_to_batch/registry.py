"""Registry of batch procedures by name; as for learners, listing the names compiles nothing."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from driftway.learners.engine.parameters import ParameterError

if TYPE_CHECKING:
    from driftway.learners.online_to_batch.procedure import Procedure

PROCEDURES: dict[str, str] = {
    "i": "driftway.learners.online_to_batch.algorithm_i:AlgorithmI",
    "ii": "driftway.learners.online_to_batch.algorithm_ii:AlgorithmII",
    "iii-weak": "driftway.learners.online_to_batch.algorithm_iii_weak:AlgorithmIIIWeak",
    "iii": "driftway.learners.online_to_batch.algorithm_iii:AlgorithmIII",
    "random-stopping": "driftway.learners.online_to_batch.random_stopping:RandomStopping",
    "longest-survival": "driftway.learners.online_to_batch.longest_survival:LongestSurvival",
    "average": "driftway.learners.online_to_batch.average:Average",
    "cutoff-average": "driftway.learners.online_to_batch.cutoff_average:CutoffAverage",
}


def find(name: str) -> type[Procedure]:
    """The class registered under `name`.

    Raises
    ------
    ParameterError
        The name is not in the registry.
    """
    if name not in PROCEDURES:
        raise ParameterError(f"no batch algorithm {name!r}; available: {', '.join(PROCEDURES)}")
    module, class_name = PROCEDURES[name].split(":")
    found: type[Procedure] = getattr(import_module(module), class_name)
    return found
