"""A learner as users write it: ``name`` or ``name:parameter=value,parameter=value``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from learners import registry
from learners.parameters import ParameterError

if TYPE_CHECKING:
    from learners.learner import Learner


@dataclass(frozen=True)
class Spec:
    """A name with the parameters that were given; `text` is the form that travels in messages."""

    name: str
    parameters: tuple[tuple[str, str], ...] = ()

    @property
    def text(self) -> str:
        """The spec as written, without spaces."""
        given = ",".join(f"{key}={value}" for key, value in self.parameters)
        return f"{self.name}:{given}" if given else self.name

    @classmethod
    def parse(cls, text: str) -> Spec:
        """Read a spec.

        Raises
        ------
        ParameterError
            Not of the form ``name:parameter=value,...``, or a parameter given twice.
        """
        name, _, rest = text.strip().partition(":")
        pairs: dict[str, str] = {}
        for part in filter(None, (p.strip() for p in rest.split(","))):
            key, equals, value = (piece.strip() for piece in part.partition("="))
            if not (key and equals and value):
                raise ParameterError(f"{part!r} in {text!r} is not parameter=value")
            if key in pairs:
                raise ParameterError(f"{key} is given twice in {text!r}")
            pairs[key] = value
        return cls(name, tuple(pairs.items()))

    def create(
        self,
        n_features: int,
        n_classes: int = 2,
        task: str = "classification",
        standardize: bool = False,
    ) -> Learner:
        """Make the learner.

        Parameters
        ----------
        n_features, n_classes, task
            As `learners.learner.Learner`.
        standardize : bool
            Wrap it into the online standardiser, unless it ignores features.

        Raises
        ------
        UnknownLearner, ParameterError
            The name, or a parameter, is not valid.
        """
        found = registry.find(self.name)
        given: dict[str, Any] = dict(self.parameters)
        learner: Learner = found(n_features, n_classes, task, **given)
        if not (standardize and learner.uses_features):
            return learner
        from learners.reductions.standardize import Standardized

        return Standardized(learner)
