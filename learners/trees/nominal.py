"""The parameter that names the columns which hold ids."""

import dataclasses
from typing import Any

import numpy as np

from driftway.learners.engine.parameters import ParameterError, ParameterSpec, TooFewFeatures
from driftway.learners.engine.state import Array

NONE = "none"


class Columns(ParameterSpec):
    """Columns from 0, separated by /, or `none`."""

    def check(self, name: str, value: Any) -> Any:
        """Return the columns as they are written, in ascending order."""
        wrong = ParameterError(f"{name} must be {self.describe()}, got {value!r}")
        if value == NONE and isinstance(value, str):
            return value
        if isinstance(value, int) and not isinstance(value, bool) and value > 0:
            value = str(value)
        if not isinstance(value, str):
            raise wrong
        try:
            found = {int(one) for one in value.split("/")}
        except ValueError:
            raise wrong from None
        if min(found) < 0:
            raise wrong
        return "/".join(str(one) for one in sorted(found))


def nominal_columns() -> Any:
    """The columns of a row that hold ids, like those of a schema's fields with `index=`."""
    text = (
        "Columns from 0 that hold ids, like `3/7`: a split compares them for equality. Ids are whole numbers; 0 to 30 "
        "are told apart, all others count as one."
    )
    what = f"column numbers separated by /, or {NONE}"
    return dataclasses.field(default=NONE, metadata={"bounds": Columns("word", example=what, text=text)})


def mask_of(nominal: str, d: int, *axes: int) -> Array:
    """Return f8[*axes, d]: 1 for each nominal column.

    Raises
    ------
    TooFewFeatures
        Rows of d columns have no such column.
    """
    mask = np.zeros((*axes, d))
    if nominal != NONE:
        columns = [int(one) for one in nominal.split("/")]
        if columns[-1] >= d:
            raise TooFewFeatures(f"nominal names column {columns[-1]}, and rows have {d}, from 0", columns[-1] + 1)
        mask[..., columns] = 1.0
    return mask
