"""All that a learner is written with, by one name: the contract, its parameters, its state, its fragments."""

from learners.driver import Rule
from learners.jit import bare_kernel, fragment
from learners.learner import Learner
from learners.memory import field, part, scratch
from learners.parameters import ParameterError, Parameters, check_decay, choice, flag, integer, intercept, number
from learners.state import Array, Counts, Fields

__all__ = [
    "Array",
    "Counts",
    "Fields",
    "Learner",
    "ParameterError",
    "Parameters",
    "Rule",
    "bare_kernel",
    "check_decay",
    "choice",
    "field",
    "flag",
    "fragment",
    "integer",
    "intercept",
    "number",
    "part",
    "scratch",
]
