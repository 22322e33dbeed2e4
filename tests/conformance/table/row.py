"""What a row of the table holds."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

Parameters = Mapping[str, Any]


@dataclass(frozen=True)
class Row:
    """What the suite knows about a learner.

    `accuracy` maps parameters (as JSON) to the columns of
    docs/algorithms/reference-results.md#accuracy-with-the-defaults, in per cent, to `tolerance` points: 0.3 of
    deterministic learners, 1 of others whose figures come from another random order there; `adapts` maps them to the
    least accuracy in the 1000 rows after a sudden drift and 1000 more; `recovers` are the parameters for that check, if
    not those of the first variant; `more` has variants for one kind of task only; `symmetric` names covariances and the
    like, `semidefinite` matrices whose diagonal may be 0; `opt_out` names a check and says why it does not apply;
    `invalid` lists values that violate each number's bounds; `form` makes rows as the learner reads them, f8[n, width],
    of made-up ones (`forms`).
    """

    name: str
    oracle: Any
    variants: tuple[Parameters, ...] = ({},)
    exact: bool = False
    symmetric: tuple[str, ...] = ()
    semidefinite: tuple[str, ...] = ()
    invalid: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    accuracy: tuple[tuple[Parameters, tuple[float, ...]], ...] = ()
    tolerance: float = 0.3
    adapts: tuple[tuple[Parameters, float], ...] = ()
    more: Mapping[str, tuple[Parameters, ...]] = field(default_factory=dict)
    opt_out: Mapping[str, str] = field(default_factory=dict)
    recovers: Parameters | None = None
    form: Callable[[np.ndarray], np.ndarray] | None = None

    def width(self, d: int) -> int:
        """Columns of a row that is made of one of d."""
        return d if self.form is None else int(self.form(np.zeros((1, d))).shape[1])

    def formed(self, X: np.ndarray) -> np.ndarray:
        """Rows as the learner reads them."""
        return X if self.form is None else np.ascontiguousarray(self.form(X))
