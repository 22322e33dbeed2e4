"""Online learners for streams that drift: pure numerics, no Kafka, no files, no clock.

>>> learner = learners.create("dfop", n_features=8, mu=1e-3)
>>> learner.predict_then_update(X, y, score)
>>> blob = learner.snapshot()

Importing this package compiles nothing; a kernel is compiled (or read from cache) when it first runs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from driftway.learners.engine.parameters import ParameterError
from driftway.learners.registry import LEARNERS, UnknownLearner
from driftway.learners.spec import Spec

if TYPE_CHECKING:
    from driftway.learners.learner import Learner

__all__ = ["LEARNERS", "ParameterError", "Spec", "UnknownLearner", "create"]


def create(
    name: str,
    n_features: int,
    n_classes: int = 2,
    task: str = "classification",
    standardize: bool = False,
    **parameters: Any,
) -> Learner:
    """Create a learner by its registry name.

    Parameters
    ----------
    name : str
        A name of `learners.LEARNERS`.
    n_features, n_classes, task
        Shape of the problem, see `driftway.learners.learner.Learner`.
    standardize : bool
        Put the online standardiser in front (its statistics are part of the snapshot).
    **parameters
        The learner's hyper-parameters.

    Raises
    ------
    UnknownLearner, ParameterError
        The name, or a parameter, is not valid.
    """
    return Spec(name, tuple(parameters.items())).create(n_features, n_classes, task, standardize)
