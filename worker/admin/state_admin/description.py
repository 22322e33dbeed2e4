"""The content of a state: every array of every learner, by feature where an array has one number per feature."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from driftway.learners.engine.state import Fields
from driftway.learners.learner import Learner
from driftway.learners.spec import Spec
from driftway.worker.errors import Failure
from driftway.worker.settings import ModelSettings
from driftway.worker.state.factory import make_learner
from driftway.worker.state.model import Model

INTERCEPT = "(intercept)"
"""Name of the last column of a learner with an intercept; no feature of an event has such a name by accident."""


def describe(model: Model, offset: int) -> dict[str, Any]:
    """Describe a model that stands at an input offset; arrays are numpy views of its state."""
    settings, names = model.settings, list(model.columns)
    points, classes = model.latest_points(), settings.target.class_json()
    identity = {key: value for key, value in model.identity().items() if key not in ("learners", "states")}
    return {
        "offset": offset,
        "partition": model.partition,
        "rows": model.rows,
        **identity,
        "maps": [spec.text for spec in settings.maps],
        "features": names if model.schema is not None else None,
        "learners": [
            {"learner": name, **_parts(learner, *_names(spec, settings, names), classes), "metrics": points[name]}
            for name, spec, learner in zip(settings.names, settings.specs, model.learners, strict=False)
        ],
    }


def _names(spec: Spec, settings: ModelSettings, names: list[str]) -> tuple[list[str], Fields]:
    """The names of a learner's features, and the arrays that it has with another number of features.

    With feature maps there are no names, because the numbers belong to mapped features.
    """
    if settings.maps:
        return [], {}
    for d in {2, 3, 6, len(names) + 1} - {len(names)}:  # some learners need pairs of features, or triplets
        with suppress(Failure, ValueError):
            return names, make_learner(spec, settings, d).state.fields
    return names, {}


def _parts(learner: Learner, names: list[str], of_others: Fields, classes: list[str]) -> dict[str, Any]:
    """A learner's parameters, and its arrays sorted by shape.

    `counters` has the arrays of length 1; `by_feature` those of length d, or d + 1 with the intercept, and those with
    one such row per class, unless the learner has the same with another d (`of_others`); `arrays` all others.
    """
    identity, d = learner.identity(), len(names)
    counters: dict[str, Any] = {}
    by_feature: dict[str, NDArray[Any]] = {}
    arrays: dict[str, dict[str, Any]] = {}
    for name in learner.state:
        array = learner.state[name]
        if array.shape == (1,):
            counters[name] = array[0].item()
        elif not names or array.shape == of_others.get(name, ("", ()))[1]:
            arrays[name] = {"shape": list(array.shape), **_summary(array), "values": array}
        elif array.shape in ((d,), (d + 1,)):
            by_feature[name] = array
        elif array.shape in ((len(classes), d), (len(classes), d + 1)) and len(set(array.shape)) > 1:
            by_feature.update({f"{name}[{word}]": array[k] for k, word in enumerate(classes)})
        else:
            arrays[name] = {"shape": list(array.shape), **_summary(array), "values": array}
    longest = max((len(array) for array in by_feature.values()), default=0)
    return {
        "parameters": identity["parameters"],
        "state_bytes": learner.state.nbytes,
        **({"experts": learner.experts()} if learner.mixes else {}),
        "counters": counters,
        "rows": [*names, INTERCEPT][:longest],
        "by_feature": by_feature,
        "arrays": arrays,
    }


def _summary(array: NDArray[Any]) -> dict[str, Any]:
    """Minimum, maximum and mean, and how many numbers are not 0."""
    if array.size == 0:
        return {"least": None, "largest": None, "mean": None, "nonzero": 0}
    return {
        "least": array.min().item(),
        "largest": array.max().item(),
        "mean": float(array.mean(dtype=np.float64)),
        "nonzero": int(np.count_nonzero(array)),
    }
