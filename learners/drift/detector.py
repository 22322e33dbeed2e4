"""The contract of drift detectors: one number per labelled row goes in, a verdict comes out.

A detector is a fragment over a memory, ``detect(error, parameters, memory)``, so that a learner may hold one in its own
memory and call it in its own loop (`driftway.learners.least_squares.g_dfop`); or it stands alone, as a `Detector` with
a state of its own. A detector that has called a drift has begun anew.
"""

from collections.abc import Callable
from functools import cache
from types import MappingProxyType
from typing import Any, ClassVar, NamedTuple

import numpy as np

from driftway.learners.engine.jit import kernel_without_refcounts
from driftway.learners.engine.parameters import Parameters
from driftway.learners.engine.state import Array, Counts, State
from driftway.learners.engine.state_layout import Sizes, allocate_scratch, as_views, fields_of, write_defaults
from driftway.learners.engine.update_loop import Fragment

QUIET, WARNING, DRIFT = range(3)
"""What a detector says of a row."""


class DetectorRule(NamedTuple):
    """How a detector takes in a row's error, on what."""

    detect: Fragment
    parameters: Any
    """NamedTuple of numbers."""
    memory: type[Any]
    """NamedTuple class that declares what is remembered (`driftway.learners.engine.state_layout`)."""
    sizes: Sizes = MappingProxyType({})
    """Lengths in its shapes; parameters decide."""


class Detector:
    """Watches errors, one after the other, and says when there are more of them than there were.

    Parameters
    ----------
    **parameters
        The detector's own, see its `Params`.

    Raises
    ------
    ParameterError
        Unknown or invalid parameter.
    """

    name: ClassVar[str]
    Params: ClassVar[type[Parameters]]
    binary: ClassVar[bool] = False
    """Whether it counts mistakes, and cannot take losses."""

    def __init__(self, **parameters: Any) -> None:
        self.parameters: Any = type(self).Params.build(parameters)
        watch = self.rule()
        self.state = State(fields_of(watch.memory, watch.sizes))
        self._numbers = watch.parameters
        self._memory = as_views(watch.memory, self.state, **allocate_scratch(watch.memory, watch.sizes))
        self._loop = error_loop(watch.detect)
        self.reset()

    def rule(self) -> DetectorRule:
        """What is remembered, and how a row is taken in."""
        raise NotImplementedError

    def initialise(self) -> None:
        """Write the starting values that a memory cannot declare into the state."""

    def reset(self) -> None:
        """Begin anew: nothing was seen."""
        self.state.memory[:] = 0
        write_defaults(self.rule().memory, self.state)
        self.initialise()

    def observe(self, errors: Array) -> Counts:
        """Take in errors; what is said of each.

        Parameters
        ----------
        errors : f8[n]
            1 for a mistake and 0 for a hit, or a loss; NaN of a row without a label, of which nothing is said.

        Returns
        -------
        i8[n]
            QUIET, WARNING or DRIFT.
        """
        verdicts = np.empty(len(errors), np.int64)
        self._loop(errors, verdicts, self._numbers, self._memory)
        return verdicts

    def identity(self) -> dict[str, Any]:
        """Everything that a written state must agree on."""
        return {"detector": self.name, "parameters": self.parameters.as_dict()}


@cache
def error_loop(detect: Fragment) -> Callable[[Array, Counts, Any, Any], None]:
    """The compiled loop of a detector."""

    def run(errors: Array, verdicts: Counts, parameters: Any, memory: Any) -> None:
        for t in range(errors.shape[0]):
            verdicts[t] = detect(errors[t], parameters, memory) if errors[t] == errors[t] else QUIET

    function = getattr(detect, "py_func", detect)
    run.__qualname__ = f"{function.__module__}.{function.__qualname__}.{run.__name__}"
    return kernel_without_refcounts(run)
