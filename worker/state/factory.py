"""Creates the parts of a model once its number of features is known."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import numpy as np

from driftway.learners.engine.parameters import ParameterError
from driftway.learners.engine.state import LargerThanSaved, require_room
from driftway.learners.learner import Learner
from driftway.learners.preprocessing.maps import create_mapped
from driftway.learners.spec import Spec
from driftway.worker.errors import Failure, plural
from driftway.worker.settings import ModelSettings
from driftway.worker.wire.decoder import Decoder
from driftway.worker.wire.events import Schema, Target
from driftway.worker.wire.schema.feature import LAST, MEAN, REJECT, indicator_of

if TYPE_CHECKING:
    from driftway.learners.preprocessing.imputation import Imputer


def make_decoder(settings: ModelSettings, admit: Callable[[Schema], Schema]) -> Decoder:
    """Create the decoder of a partition's records; `admit` as in `Decoder`."""
    return Decoder(
        settings.target,
        settings.shape,
        settings.form,
        admit,
        lenient=settings.missing.word != REJECT,
        late=settings.wait is not None,
        events=settings.events,
        loads=settings.loads(),
    )


def make_imputer(settings: ModelSettings, schema: Schema) -> Imputer | None:
    """Create the imputer that fills in missing values; None if no value may be missing."""
    filling = settings.filling(schema)
    if filling is None:
        return None
    from driftway.learners.preprocessing import imputation

    kinds = {MEAN: imputation.MEAN, LAST: imputation.LAST}
    policies, watched = filling
    require_room(8 * len(policies))  # before lists of so many: a stored schema may name any number of columns
    imputer = imputation.Imputer([(kinds.get(one.word, imputation.CONSTANT), one.value) for one in policies], watched)
    if settings.warm is not None and settings.warm.filling:
        imputer.state.memory[:] = np.frombuffer(settings.warm.filling, np.uint8)
    return imputer


def column_names(settings: ModelSettings, schema: Schema, imputed: bool) -> tuple[str, ...]:
    """Names of the learners' input columns, in order; `imputed`: whether an imputer adds its indicators."""
    names = schema.names or tuple(f"x[{j}]" for j in range(schema.n_features))
    if not imputed:
        return names
    if settings.events is not None:
        return (*names, *settings.events.indicator_names)
    return (*names, *(map(indicator_of, names) if settings.indicators else ()))


def make_learner(spec: Spec, settings: ModelSettings, d: int) -> Learner:
    """Create a learner over `d` features, behind the feature maps and the standardiser.

    Raises
    ------
    Failure
        A parameter, valid by itself, does not fit `d`, which may be known only since the first event.
    """
    target = settings.target
    try:
        return create_mapped(spec, settings.maps, d, target.n_classes, target.task, settings.standardize)
    except ParameterError as error:
        raise Failure(f"learner {spec.text} over {plural(d, 'feature')}: {error}") from None


def shares(spec: Spec, target: Target) -> bool:
    """Whether partitions that share exchange models of such a learner."""
    like = target.n_classes, target.task
    return spec.create(spec.min_features(*like), *like).sharing is not None


BACK = "the version that wrote it can go on from it"
"""What helps where a state is from a version in which it was another."""


@contextlib.contextmanager
def allocating(what: str, n_features: int) -> Iterator[None]:
    """Turn a failed allocation of a learner's state into a `Failure`.

    Raises
    ------
    Failure
        There is not enough memory, the state has more bytes than an array can have, or more than were saved.
    """
    try:
        yield
    except ParameterError:
        raise
    except LargerThanSaved as error:
        raise Failure(
            f"the state of {what} over {plural(n_features, 'feature')} is another in this version: {error}; {BACK}"
        ) from None
    except (MemoryError, OverflowError, ValueError) as error:
        raise Failure(
            f"the state of {what} over {plural(n_features, 'feature')} cannot be allocated: {error}"
        ) from None
