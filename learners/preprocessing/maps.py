"""The registry of feature maps by name, and the construction of learners with maps.

Names map to ``module:Class``, as in `driftway.learners.registry`, so that importing this module compiles nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

from driftway.learners.engine.parameters import ParameterError
from driftway.learners.spec import Spec

if TYPE_CHECKING:
    from driftway.learners.learner import Learner
    from driftway.learners.preprocessing.feature_map import FeatureMap

MAPS: dict[str, str] = {
    "polynomial": "driftway.learners.preprocessing.polynomial:Polynomial",
    "fourier": "driftway.learners.preprocessing.fourier:Fourier",
    "hashing": "driftway.learners.preprocessing.hashing:Hashing",
}


def find(name: str) -> type[FeatureMap]:
    """Return the class of the map `name`.

    Raises
    ------
    ParameterError
        There is no such map.
    """
    if name not in MAPS:
        raise ParameterError(f"no feature map {name!r}; available: {', '.join(MAPS)}")
    module, class_name = MAPS[name].split(":")
    found: type[FeatureMap] = getattr(import_module(module), class_name)
    return found


def create_maps(specs: Sequence[Spec], n_features: int) -> tuple[FeatureMap, ...]:
    """Create maps, the first for `n_features`, each other one for the output of the previous one.

    Raises
    ------
    ParameterError
        A name or a parameter is not valid, or a map would have too many features; the message names the map.
    """
    made: list[FeatureMap] = []
    for spec in specs:
        given: dict[str, Any] = dict(spec.parameters)
        try:
            made.append(find(spec.name)(made[-1].width if made else n_features, **given))
        except ParameterError as error:
            raise ParameterError(f"map {spec.text}: {error}") from None
    return tuple(made)


def create_mapped(
    spec: Spec,
    maps: Sequence[Spec],
    n_features: int,
    n_classes: int = 2,
    task: str = "classification",
    standardize: bool = False,
) -> Learner:
    """Create a learner behind feature maps: the maps in order, then the standardiser, then the learner.

    Parameters
    ----------
    spec : Spec
        The learner.
    maps : sequence of Spec
        Feature maps by name; without any, or if the learner ignores features, this is `Spec.create`.
    n_features, n_classes, task, standardize
        As in `Spec.create`; n_features is that before the maps.

    Raises
    ------
    UnknownLearner, ParameterError
        A name, or a parameter, is not valid.
    """
    made = create_maps(maps, n_features)
    learner = spec.create(made[-1].width if made else n_features, n_classes, task, standardize)
    if not made:
        return learner
    if not learner.uses_features:
        return spec.create(n_features, n_classes, task, standardize)
    from driftway.learners.preprocessing.feature_map import Mapped

    return Mapped(learner, made)
