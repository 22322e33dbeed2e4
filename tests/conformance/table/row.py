"""A row of the table."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

Parameters = Mapping[str, Any]


@dataclass(frozen=True)
class Row:
    """A learner's parameters and expectations for the suite.

    `accuracy` pairs parameters with the columns of
    docs/algorithms/reference-results.md#accuracy-with-the-defaults, in per cent, to `tolerance` points: 0.3 for
    deterministic learners, 1 for others, whose figures come from another random order there; `adapts` pairs parameters
    with the least accuracy from 1,000 to 2,000 rows after a sudden drift; `recovers` has the parameters for that check
    if they are not those of the first variant; `more` has variants for one kind of task only; `slow` has those
    variants that the slow tests check and the default ones do not: ensembles of other experts than their usual ones,
    each of which is a kernel of its own; with a `costly_oracle` the default tests compare fewer rows; `symmetric` names
    covariances and the like, `semidefinite` matrices whose diagonal may be 0; `opt_out` maps a check to why it does not
    apply; `invalid` lists values that violate the bounds of each number; `form` converts synthetic rows to the input
    form of the learner, f8[n, width] (`row_forms`).
    """

    name: str
    oracle: Any
    variants: tuple[Parameters, ...] = ({},)
    exact: bool = False
    costly_oracle: bool = False
    symmetric: tuple[str, ...] = ()
    semidefinite: tuple[str, ...] = ()
    invalid: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    accuracy: tuple[tuple[Parameters, tuple[float, ...]], ...] = ()
    tolerance: float = 0.3
    adapts: tuple[tuple[Parameters, float], ...] = ()
    more: Mapping[str, tuple[Parameters, ...]] = field(default_factory=dict)
    slow: tuple[Parameters, ...] = ()
    opt_out: Mapping[str, str] = field(default_factory=dict)
    recovers: Parameters | None = None
    form: Callable[[np.ndarray], np.ndarray] | None = None

    def width(self, d: int) -> int:
        """Return the columns of a row in the learner's form, made from one of d."""
        return d if self.form is None else int(self.form(np.zeros((1, d))).shape[1])

    def formed(self, X: np.ndarray) -> np.ndarray:
        """Return rows in the learner's input form."""
        return X if self.form is None else np.ascontiguousarray(self.form(X))
