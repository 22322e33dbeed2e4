"""Feature maps, and the learner around a learner that applies them."""

from typing import Any, ClassVar

import numpy as np

from driftway.learners.contract import Array, Learner, ParameterError, Parameters
from driftway.learners.engine.shared_fields import SharedFields
from driftway.learners.preprocessing.wrapper import Wrapper
from driftway.learners.spec import Spec

MOST_FEATURES = 1_000_000
"""Features that a map may make: of 100 features, polynomials of degree 5 would make 96 million."""

ROOM = 65_536
"""Numbers of a mapped batch that are held at a time: half a megabyte stays in the cache until it is learned."""


class FeatureMap:
    """A fixed function from rows to rows: what it makes of one never depends on another.

    A map learns nothing. Whatever it needs follows from its parameters and the number of features, so that a snapshot
    holds its parameters only.

    Parameters
    ----------
    n_features : int
        d, the length of the rows that come.
    **parameters
        The map's own, see its `Params`.

    Raises
    ------
    ParameterError
        Unknown or invalid parameter, or the mapped rows would have more than MOST_FEATURES features.
    """

    name: str
    Params: ClassVar[type[Parameters]]

    def __init__(self, n_features: int, **parameters: Any) -> None:
        self.n_features = n_features
        self.parameters: Any = type(self).Params.build(parameters)
        self.width = self.features()
        """d', the length of the rows that go."""
        if self.width > MOST_FEATURES:
            raise ParameterError(f"{self.width:,} features of {n_features:,} are more than {MOST_FEATURES:,}")
        self.prepare()

    @property
    def text(self) -> str:
        """Name and all parameters, those that were not given as well."""
        return Spec(self.name, tuple(self.parameters.as_dict().items())).text

    def features(self) -> int:
        """How many features it makes of `n_features`."""
        raise NotImplementedError

    def prepare(self) -> None:
        """Make the tables that the kernel reads. The default has none."""

    def apply(self, rows: Array, mapped: Array) -> None:
        """Write what the map makes of each row; finite whatever the row.

        Shapes: rows f8[n, n_features], mapped f8[n, width]; both C-contiguous.
        """
        raise NotImplementedError


class Mapped(Wrapper):
    """Any learner, fed with rows that one or several feature maps have made.

    Parameters
    ----------
    inner : Learner
        The learner behind, standardised or not, over the features that the last map makes. Its state becomes this
        one's; do not use it on its own afterwards.
    maps : tuple of FeatureMap
        At least one; each maps what the one before it has made.

    State
    -----
    the inner learner's own, and nothing else

    Cost
    ----
    The maps', beside the inner learner's over d' features; half a megabyte of room for each map.

    Raises
    ------
    ValueError
        The inner learner ignores features, or the widths of maps and learner do not follow one another.

    Source
    ------
    Huang, Online Learning, "Kernel approximation": f(x) is w z(x) with a linear learner behind z.
    docs/algorithms/kernel_methods.md#kernel-methods.
    """

    def __init__(self, inner: Learner, maps: tuple[FeatureMap, ...]) -> None:
        if not inner.uses_features:
            raise ValueError(f"{inner.name} ignores features; there is nothing to map")
        widths = [*(one.n_features for one in maps), inner.n_features]
        if not maps or widths[1:] != [one.width for one in maps]:
            raise ValueError("each map, and the learner, must take as many features as the map before it makes")
        self.maps = maps
        self.name, self.tasks = inner.name, inner.tasks
        self.link, self.multiclass_link = inner.link, inner.multiclass_link
        super().__init__((inner,), maps[0].n_features, inner.n_classes, inner.task)
        self.width = self.n_features
        self._block = max(1, ROOM // max(one.width for one in maps))
        self._rooms = [np.empty((self._block, one.width)) for one in maps]

    @property
    def sharing(self) -> SharedFields | None:
        return self.inner.sharing

    def identity(self) -> dict[str, Any]:
        # Under a key that every learner has: a learner without maps must refuse this snapshot, too.
        inner = self.inner.identity()
        behind = ", ".join(one.text for one in self.maps)
        return {**inner, "learner": f"{inner['learner']} behind {behind}", "n_features": self.n_features}

    def clone_empty(self) -> Learner:
        return Mapped(self.inner.clone_empty(), self.maps)

    def _run(self, rows: Array, y: Array, score: Array) -> None:
        # A block at a time, since a batch of mapped rows may be gigabytes; cutting it changes no bit.
        for start in range(0, len(rows), self._block):
            cut = slice(start, start + self._block)
            block = rows[cut]
            for one, room in zip(self.maps, self._rooms, strict=True):
                mapped = room[: len(block)]
                one.apply(block, mapped)
                block = mapped
            inner = self.inner
            inner._run(inner._prepare(block), y[cut], score[cut])  # noqa: SLF001 - a learner calls its inner learner's
