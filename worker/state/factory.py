"""What a model is made of, once the number of its features is known."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from driftway.learners.engine.parameters import ParameterError
from driftway.learners.learner import Learner
from driftway.learners.preprocessing.maps import create_mapped
from driftway.learners.spec import Spec
from driftway.worker.errors import Failure
from driftway.worker.settings import ModelSettings
from driftway.worker.wire.events import Schema
from driftway.worker.wire.schema.feature import LAST, MEAN

if TYPE_CHECKING:
    from driftway.learners.preprocessing.imputation import Imputer


def make_imputer(settings: ModelSettings, schema: Schema) -> Imputer | None:
    """What puts something in the place of missing values; None where none may be missing."""
    asked = settings.filling(schema)
    if asked is None:
        return None
    from driftway.learners.preprocessing import imputation

    kinds = {MEAN: imputation.MEAN, LAST: imputation.LAST}
    policies, watched = asked
    made = imputation.Imputer([(kinds.get(one.word, imputation.CONSTANT), one.value) for one in policies], watched)
    if settings.warm is not None and settings.warm.filling:
        made.state.memory[:] = np.frombuffer(settings.warm.filling, np.uint8)
    return made


def make_learner(spec: Spec, settings: ModelSettings, d: int) -> Learner:
    """A learner over `d` features, behind the maps and the standardiser.

    Raises
    ------
    Failure
        A parameter, valid by itself, does not fit that many features: the first event has just told how many.
    """
    target = settings.target
    try:
        return create_mapped(spec, settings.maps, d, target.n_classes, target.task, settings.standardize)
    except ParameterError as error:
        raise Failure(f"learner {spec.text} over {d} features: {error}") from None


@contextlib.contextmanager
def allocating(what: str, n_features: int) -> Iterator[None]:
    """Turn a refused allocation of a learner's state into a sentence.

    Raises
    ------
    Failure
        There is not so much memory, or the state has more bytes than an array can.
    """
    try:
        yield
    except ParameterError:
        raise
    except (MemoryError, OverflowError, ValueError) as error:
        raise Failure(f"the state of {what} over {n_features} features cannot be allocated: {error}") from None
