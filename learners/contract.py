"""Everything that a learner's module imports: the base class, parameters, state fields and fragments."""

from driftway.learners.engine.jit import fragment, kernel, separate_kernel
from driftway.learners.engine.parameters import (
    ParameterError,
    Parameters,
    check_decay,
    choice,
    flag,
    integer,
    intercept,
    number,
)
from driftway.learners.engine.state import Array, Counts, Fields
from driftway.learners.engine.state_layout import field, part, scratch
from driftway.learners.engine.update_loop import UpdateRule
from driftway.learners.learner import Learner

__all__ = [
    "Array",
    "Counts",
    "Fields",
    "Learner",
    "ParameterError",
    "Parameters",
    "UpdateRule",
    "check_decay",
    "choice",
    "field",
    "flag",
    "fragment",
    "integer",
    "intercept",
    "kernel",
    "number",
    "part",
    "scratch",
    "separate_kernel",
]
