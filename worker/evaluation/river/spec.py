"""A model of River as users write it: ``river:tree.HoeffdingTreeClassifier:grace_period=50``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from driftway.learners.engine.parameters import parse_pairs
from driftway.learners.registry import find_standardizer
from driftway.learners.spec import Spec
from driftway.worker.evaluation.river.classes import PREFIX, import_river

if TYPE_CHECKING:
    from driftway.learners.learner import Learner


@dataclass(frozen=True)
class RiverSpec(Spec):
    """The class of a model of River, as ``river:module.Class``, and the parameters that were given."""

    @property
    def path(self) -> str:
        """The class within River."""
        return self.name.removeprefix(f"{PREFIX}:")

    def create(
        self,
        n_features: int,
        n_classes: int = 2,
        task: str = "classification",
        standardize: bool = False,
    ) -> Learner:
        """Create the learner; as in `Spec.create`.

        Raises
        ------
        ParameterError
            River is not installed, or there is no such model, or it does not take the parameters, or not the task.
        """
        from driftway.worker.evaluation.river.learner import RiverLearner

        learner = RiverLearner(n_features, n_classes, task, model=self.path, given=self.parameters)
        return find_standardizer()(learner) if standardize else learner


def cost_of(specs: Sequence[Spec]) -> str | None:
    """Return a sentence about what the models of River among these learners cost; None: there are none."""
    names = [spec.text for spec in specs if isinstance(spec, RiverSpec)]
    if not names:
        return None
    what = f"River {import_river().__version__} runs in Python, 100 to 100,000 rows a second"
    return f"{', '.join(names)}: {what}; the result has rows/s"


def spec_of(text: str) -> Spec:
    """Read a learner's spec, or that of a model of River, whose parameters follow a colon or a comma.

    Raises
    ------
    ParameterError
        As `Spec.parse`.
    """
    prefix, _, rest = text.strip().partition(":")
    if prefix.strip() != PREFIX:
        return Spec.parse(text)
    path, _, given = rest.replace(":", ",", 1).partition(",")
    return RiverSpec(f"{PREFIX}:{path.strip()}", tuple(parse_pairs(given, text).items()))
