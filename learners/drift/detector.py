"""The contract of drift detectors: they take one number per labelled row and return a verdict.

A detector is a fragment over a memory, ``detect(error, parameters, memory)``, so that a learner can hold one in its own
memory and call it in its own loop (`driftway.learners.least_squares.g_dfop`). It can also be used alone, as a
`Detector` with its own state. A detector resets itself when it signals a drift.
"""

from collections.abc import Callable
from functools import cache
from types import MappingProxyType
from typing import Any, ClassVar, NamedTuple

import numpy as np

from driftway.learners.engine.jit import kernel
from driftway.learners.engine.parameters import Parameters
from driftway.learners.engine.state import Array, Bytes, Counts, State
from driftway.learners.engine.state_layout import (
    Sizes,
    allocate_scratch,
    as_views,
    check_ranges,
    fields_of,
    write_defaults,
)
from driftway.learners.engine.update_loop import Fragment

QUIET, WARNING, DRIFT = range(3)
"""The verdicts of a detector on a row."""


class DetectorRule(NamedTuple):
    """How a detector processes a row's error, and the state that it needs."""

    detect: Fragment
    parameters: Any
    """NamedTuple of numbers."""
    memory: type[Any]
    """NamedTuple class that declares its state (`driftway.learners.engine.state_layout`)."""
    sizes: Sizes = MappingProxyType({})
    """Lengths in its shapes, set by parameters."""


class Detector:
    """Monitors a sequence of errors and signals when they have increased.

    Parameters
    ----------
    **parameters
        The detector's parameters, see its `Params`.

    Raises
    ------
    ParameterError
        Unknown or invalid parameter.
    """

    name: ClassVar[str]
    Params: ClassVar[type[Parameters]]
    binary: ClassVar[bool] = False
    """Whether it accepts only mistakes (0 or 1), not losses."""
    clips: ClassVar[bool] = False
    """Whether it counts an error below 0 as 0 and one above 1 as 1."""

    def __init__(self, **parameters: Any) -> None:
        self.parameters: Any = type(self).Params.build(parameters)
        watch = self.rule()
        self.state = State(fields_of(watch.memory, watch.sizes))
        self._numbers = watch.parameters
        self._memory = as_views(watch.memory, self.state, **allocate_scratch(watch.memory, watch.sizes))
        self._loop = error_loop(watch.detect)
        self.reset()

    def rule(self) -> DetectorRule:
        """Return the state's declaration and how a row is processed."""
        raise NotImplementedError

    def initialise(self) -> None:
        """Write the initial values that depend on parameters into the state."""

    def reset(self) -> None:
        """Reset the state to that of a new detector."""
        self.state.memory[:] = 0
        write_defaults(self.rule().memory, self.state)
        self.initialise()

    def check_state(self, memory: Bytes) -> None:
        """As `driftway.learners.learner.Learner.check_state`."""
        watch = self.rule()
        check_ranges(watch.memory, watch.sizes, State(self.state.fields, memory))

    def observe(self, errors: Array) -> Counts:
        """Process errors and return a verdict on each.

        Parameters
        ----------
        errors : f8[n]
            1 for a mistake and 0 for a hit, or a loss; NaN for a row without a label, which is skipped as QUIET.

        Returns
        -------
        i8[n]
            QUIET, WARNING or DRIFT.
        """
        verdicts = np.empty(len(errors), np.int64)
        self._loop(errors, verdicts, self._numbers, self._memory)
        return verdicts

    def identity(self) -> dict[str, Any]:
        """Everything in which a stored state must match."""
        return {"detector": self.name, "parameters": self.parameters.as_dict()}


@cache
def error_loop(detect: Fragment) -> Callable[[Array, Counts, Any, Any], None]:
    """Return the compiled loop of a detector."""

    def run(errors: Array, verdicts: Counts, parameters: Any, memory: Any) -> None:
        for t in range(errors.shape[0]):
            verdicts[t] = detect(errors[t], parameters, memory) if errors[t] == errors[t] else QUIET

    function = getattr(detect, "py_func", detect)
    run.__qualname__ = f"{function.__module__}.{function.__qualname__}.{run.__name__}"
    return kernel(run)
