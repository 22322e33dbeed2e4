"""The table: one row per learner covers it with every check. Add a learner, add a row."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from learners.learner import CLASSIFICATION, REGRESSION, Learner
from learners.registry import find
from learners.spec import Spec
from tests.support.oracle import baselines, forgetting, linear, second_order
from tests.support.oracle.standardize import Standardize

Parameters = Mapping[str, Any]

IGNORES_FEATURES = "looks at labels only"


@dataclass(frozen=True)
class Row:
    """What the suite knows about a learner.

    `accuracy` maps parameters (as JSON) to the columns of ALGORITHMS.md 19.6, in per cent; `adapts` maps
    them to the least accuracy in the 1000 rows after a sudden drift and 1000 more; `opt_out` names a check
    and says why it does not apply; `invalid` lists values that violate each number's bounds.
    """

    name: str
    oracle: Any
    variants: tuple[Parameters, ...] = ({},)
    exact: bool = False
    symmetric: tuple[str, ...] = ()
    invalid: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    accuracy: tuple[tuple[Parameters, tuple[float, ...]], ...] = ()
    adapts: tuple[tuple[Parameters, float], ...] = ()
    opt_out: Mapping[str, str] = field(default_factory=dict)


TABLE = (
    Row(
        "majority_class",
        baselines.MajorityClass,
        exact=True,
        opt_out={"learns": IGNORES_FEATURES, "adapts": IGNORES_FEATURES},
    ),
    Row(
        "no_change",
        baselines.NoChange,
        exact=True,
        opt_out={"learns": IGNORES_FEATURES, "adapts": IGNORES_FEATURES},
    ),
    Row(
        "perceptron",
        linear.Perceptron,
        variants=({}, {"eta": 0.3, "ties": "correct"}, {"intercept": False}),
        exact=True,
        invalid={"eta": (0.0, -0.1)},
        accuracy=(({}, (75.39, 94.47, 96.72, 74.87, 93.20, 92.32)),),
        adapts=(({}, 75.0),),
    ),
    Row(
        "pa1",
        linear.PA1,
        variants=({}, {"C": 2.5}, {"intercept": False}),
        exact=True,
        invalid={"C": (0.0, -0.1)},
        accuracy=(({}, (84.64, 95.83, 97.58, 77.00, 93.28, 95.32)),),
        adapts=(({}, 80.0),),
    ),
    Row(
        "arow",
        second_order.AROW,
        variants=(
            {},
            {"q": 1e-3, "r": 0.5},
            {"cov": "diag"},
            {"cov": "diag", "q": 1e-2, "a": 2.0, "r": 0.5},
            {"intercept": False, "cov": "full"},
        ),
        symmetric=("covariance",),
        invalid={"r": (0.0, -1.0), "a": (0.0, -1.0), "q": (-1e-9,)},
        # The table's spam column was measured with the full matrix; `auto` is diagonal from 257 columns on.
        accuracy=(
            ({"cov": "full"}, (87.12, 69.46, 96.50, 74.67, 81.76, 90.40)),
            ({"cov": "full", "q": 1e-4}, (86.71, 96.08, 97.67, 77.93, 89.90, 95.68)),
        ),
        adapts=(({"q": 1e-3}, 80.0),),
    ),
    Row(
        "rls",
        forgetting.RLS,
        variants=({}, {"delta": 10.0}, {"intercept": False}),
        symmetric=("P",),
        invalid={"delta": (0.0, -1.0)},
        accuracy=(({}, (87.16, 66.58, 96.25, 72.93, 79.42, 91.20)),),
        opt_out={"adapts": "never forgets"},
    ),
    Row(
        "dfop",
        forgetting.DFOP,
        variants=({}, {"mu": 0.2, "p_max": 5.0}, {"mu": 0.0, "delta": 0.1}, {"intercept": False}),
        symmetric=("P",),
        invalid={"mu": (-1e-9, 1.0, 1.5), "delta": (0.0, -1.0), "p_max": (0.0, -1.0)},
        accuracy=(({}, (87.53, 95.51, 97.59, 75.20, 86.01, 90.24)),),
        adapts=(({"mu": 0.01}, 85.0),),
    ),
)

ROWS = {row.name: row for row in TABLE}


@dataclass(frozen=True)
class Case:
    """A learner with parameters, for a kind of task, plain or behind the standardiser."""

    row: Row
    kind: str
    parameters: str = "{}"
    standardize: bool = False

    @property
    def given(self) -> dict[str, Any]:
        return dict(json.loads(self.parameters))

    @property
    def label(self) -> str:
        text = Spec(self.row.name, tuple(self.given.items())).text
        return (
            text
            + {"binary": "", "multiclass": "@multiclass", "regression": "@regression"}[self.kind]
            + ("+standardize" if self.standardize else "")
        )

    @property
    def task(self) -> str:
        return REGRESSION if self.kind == "regression" else CLASSIFICATION

    def classes(self, wanted: int = 4) -> int:
        return {"binary": 2, "multiclass": wanted, "regression": 0}[self.kind]

    def make(self, d: int, n_classes: int = 4) -> Learner:
        spec = Spec(self.row.name, tuple(self.given.items()))
        return spec.create(d, self.classes(n_classes) or 2, self.task, self.standardize)

    def oracle(self, d: int, n_classes: int = 4) -> Any:
        plain = self.row.oracle(d, self.classes(n_classes), self.kind, **self.given)
        return Standardize(plain, d) if self.standardize else plain


def cases() -> list[Case]:
    """Every row's variants x tasks, and its defaults behind the standardiser."""
    found = []
    for row in TABLE:
        learner = find(row.name)
        for kind in learner.tasks:
            texts = [json.dumps(dict(variant)) for variant in row.variants]
            found += [Case(row, kind, text) for text in texts]
            if learner.uses_features:
                found += [Case(row, kind, text, standardize=True) for text in texts[:2]]
    return found
