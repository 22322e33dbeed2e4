"""Feature maps, and the wrapper of a learner that applies them."""

from typing import Any, ClassVar

import numpy as np

from driftway.learners.contract import Array, Learner, ParameterError, Parameters
from driftway.learners.engine.shared_fields import SharedFields
from driftway.learners.preprocessing.wrapper import Wrapper
from driftway.learners.spec import Spec

MAX_FEATURES = 1_000_000
"""Limit of a map's output features: polynomials of degree 5 of 100 features would be 96 million."""

ROOM = 65_536
"""Numbers per block of a mapped batch: half a megabyte stays in the CPU cache until it is learned."""


class FeatureMap:
    """A fixed function from rows to rows; the output for a row does not depend on other rows.

    A map learns nothing. Everything it needs follows from its parameters and the number of features, so that a snapshot
    contains only its parameters.

    Parameters
    ----------
    n_features : int
        d, the length of the input rows.
    **parameters
        The map's parameters, see its `Params`.

    Raises
    ------
    ParameterError
        Unknown or invalid parameter, or the mapped rows would have more than MAX_FEATURES features.
    """

    name: str
    Params: ClassVar[type[Parameters]]

    def __init__(self, n_features: int, **parameters: Any) -> None:
        self.n_features = n_features
        self.parameters: Any = type(self).Params.build(parameters)
        self.width = self.features()
        """d', the length of the mapped rows."""
        if self.width > MAX_FEATURES:
            raise ParameterError(f"{self.width:,} features from {n_features:,} are more than {MAX_FEATURES:,}")
        self.prepare()

    @property
    def text(self) -> str:
        """Name and all parameters, including defaults."""
        return Spec(self.name, tuple(self.parameters.as_dict().items())).text

    def features(self) -> int:
        """Return the number of output features for `n_features`."""
        raise NotImplementedError

    def prepare(self) -> None:
        """Build the tables that the kernel reads. The default has none."""

    def apply(self, rows: Array, mapped: Array) -> None:
        """Write the mapped rows, which are finite for any row.

        Shapes: rows f8[n, n_features], mapped f8[n, width]; both C-contiguous.
        """
        raise NotImplementedError


class Mapped(Wrapper):
    """Any learner, behind one or several feature maps.

    Parameters
    ----------
    inner : Learner
        The wrapped learner, standardised or not, over the features of the last map. Its state becomes this one's; do
        not use it on its own afterwards.
    maps : tuple of FeatureMap
        At least one; each maps the output of the previous one.

    State
    -----
    Only that of the inner learner.

    Cost
    ----
    That of the maps, plus the inner learner's for d' features; half a megabyte of buffer for each map.

    Raises
    ------
    ValueError
        The inner learner ignores features, or the widths of maps and learner do not match.

    Source
    ------
    Huang, Online Learning, "Kernel approximation": f(x) = w z(x), with a linear learner on top of z.
    docs/algorithms/kernel_methods.md#kernel-methods.
    """

    def __init__(self, inner: Learner, maps: tuple[FeatureMap, ...]) -> None:
        if not inner.uses_features:
            raise ValueError(f"{inner.name} ignores features; there is nothing to map")
        widths = [*(one.n_features for one in maps), inner.n_features]
        if not maps or widths[1:] != [one.width for one in maps]:
            raise ValueError("each map, and the learner, must take as many features as the map before it produces")
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
        # Under a key that every learner has, so that a learner without maps rejects this snapshot, too.
        inner = self.inner.identity()
        behind = ", ".join(one.text for one in self.maps)
        return {**inner, "learner": f"{inner['learner']} behind {behind}", "n_features": self.n_features}

    def clone_empty(self) -> Learner:
        return Mapped(self.inner.clone_empty(), self.maps)

    def _run(self, rows: Array, y: Array, score: Array) -> None:
        # In blocks, since a batch of mapped rows may take gigabytes; this does not affect the result.
        for start in range(0, len(rows), self._block):
            cut = slice(start, start + self._block)
            block = rows[cut]
            for one, buffer in zip(self.maps, self._rooms, strict=True):
                mapped = buffer[: len(block)]
                one.apply(block, mapped)
                block = mapped
            inner = self.inner
            inner._run(inner._prepare(block), y[cut], score[cut])  # noqa: SLF001 - a learner calls its inner learner's
