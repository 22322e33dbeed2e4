"""A learner as users write it: ``name`` or ``name:parameter=value,parameter=value``, optionally with wrappers.

A wrapper precedes the name, as in ``ova:arow:q=1e-4``. In that case the parameters may also follow a comma,
``ova:arow,q=1e-4``, which means the same.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from driftway.learners import registry
from driftway.learners.engine.parameters import ParameterError, TooFewFeatures, parse_pairs

if TYPE_CHECKING:
    from driftway.learners.learner import Learner

MAX_WRAPPERS = 8
"""In front of a learner: each creates what stands behind it, often several times."""
ONCE = "on_drift"
"""Its own parameters are beside those of what it wraps, so it cannot wrap itself."""


@dataclass(frozen=True)
class Spec:
    """A learner's name with its wrappers, and the parameters that were given; messages carry its `text`."""

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
            The text is not of the form ``name:parameter=value,...``, or a parameter is given twice, or the learner is
            one only elsewhere (`registry.ELSEWHERE`).
        """
        wrappers, name, rest = _split(text)
        if name.strip() in registry.ELSEWHERE:
            raise ParameterError(registry.ELSEWHERE[name.strip()])
        return cls(":".join([*wrappers, name]), tuple(parse_pairs(rest, text).items()))

    @classmethod
    def parse_nested(cls, text: str) -> Spec:
        """Read a spec nested in another one, ``name/parameter=value/..``: commas separate the outer parameters.

        Raises
        ------
        ParameterError
            As `parse`.
        """
        name, _, rest = text.partition("/")
        return cls(name.strip(), tuple(parse_pairs(rest.replace("/", ","), text).items()))

    @classmethod
    def parse_list(cls, text: str) -> tuple[Spec, ...]:
        """Read several specs nested in another one, each as in `parse_nested`, separated by +.

        A + before a digit does not separate specs: it belongs to an exponent, as in ``1e+4``.

        Raises
        ------
        ParameterError
            As `parse`.
        """
        return tuple(cls.parse_nested(one) for one in re.split(r"\+(?!\d)", text))

    def create(
        self,
        n_features: int,
        n_classes: int = 2,
        task: str = "classification",
        standardize: bool = False,
    ) -> Learner:
        """Create the learner.

        Parameters
        ----------
        n_features, n_classes, task
            As in `driftway.learners.learner.Learner`.
        standardize : bool
            Wrap it in the online standardiser, unless it ignores features or needs them unscaled.

        Raises
        ------
        UnknownLearner, ParameterError
            The name, or a parameter, is not valid.
        """
        wrappers, name, _ = _split(self.name)
        if len(wrappers) > MAX_WRAPPERS:
            raise ParameterError(f"{len(wrappers)} wrappers stand in front of {name}, more than {MAX_WRAPPERS}")
        if (times := wrappers.count(ONCE)) > 1:
            raise ParameterError(f"{ONCE} stands {times} times in front of {name}: once is enough")
        make: Callable[..., Learner] = registry.find(name)
        for wrapper in reversed(wrappers):
            make = partial(registry.find_wrapper(wrapper), make)
        given: dict[str, Any] = dict(self.parameters)
        learner = make(n_features, n_classes, task, **given)
        if not (standardize and learner.uses_features and learner.standardizable):
            return learner
        return registry.find_standardizer()(learner)

    def min_features(self, n_classes: int = 2, task: str = "classification") -> int:
        """Return the smallest number of features that its parameters allow; 1 for nearly all learners.

        Raises
        ------
        UnknownLearner, ParameterError
            The name, or a parameter, is not valid for any number of features.
        """
        try:
            self.create(1, n_classes, task)
        except TooFewFeatures as error:
            return error.min_features
        return 1


def _split(text: str) -> tuple[list[str], str, str]:
    """Split a spec into wrappers, name and parameters."""
    wrappers: list[str] = []
    name, _, rest = text.strip().partition(":")
    while rest and name.strip() in registry.WRAPPERS:
        wrappers.append(name.strip())
        name, _, rest = rest.partition(":")
    if wrappers and "," in name:
        name, _, more = name.partition(",")
        rest = f"{more},{rest}"
    return wrappers, name.strip() if wrappers else name, rest
