"""The data sets of the accuracy tables: their streams, and a suitable forgetting factor for each."""

from __future__ import annotations

from typing import NamedTuple


class DataSet(NamedTuple):
    """A data set of a table: its possible streams, of which the first available is used, and DFOP's factor."""

    streams: tuple[str, ...]
    mu: float


DATA_SETS = {
    "SEA": DataSet(("sea",), 1e-3),
    "hyperplane": DataSet(("hyperplane_staged",), 2e-3),
    "1CDT": DataSet(("1CDT", "archive:1CDT"), 1e-2),
    "2CDT": DataSet(("2CDT", "archive:2CDT"), 1e-2),
    "1CHT": DataSet(("1CHT", "archive:1CHT"), 1e-2),
    "2CHT": DataSet(("2CHT", "archive:2CHT"), 1e-2),
    "1CSurr": DataSet(("1CSurr",), 5e-3),
    "UG-2C-2D": DataSet(("UG-2C-2D", "archive:UG-2C-2D"), 1e-3),
    "UG-2C-3D": DataSet(("UG-2C-3D",), 1e-3),
    "UG-2C-5D": DataSet(("UG-2C-5D",), 1e-3),
    "MG-2C-2D": DataSet(("MG-2C-2D", "archive:MG-2C-2D"), 1e-3),
    "GEARS-2C-2D": DataSet(("GEARS-2C-2D",), 1e-3),
    "Chess": DataSet(("chess",), 1e-3),
    "Usenet-1": DataSet(("usenet1",), 2e-2),
    "Usenet-2": DataSet(("usenet2",), 2e-2),
    "Luxembourg": DataSet(("luxembourg",), 1e-3),
    "Spam": DataSet(("spam500",), 1e-3),
    "Weather": DataSet(("weather",), 1e-3),
    "Powersupply": DataSet(("powersupply_ampm",), 0.3),
    "Electricity": DataSet(("electricity",), 1e-3),
}
"""Name in the papers -> data set. Factors: those of DFOP's Table 2 where it has them, else as recommended by
docs/algorithms/reference-results.md#accuracy-and-forgetting-factors-in-dfop; 0.3 on Powersupply was chosen because it
gives the printed accuracy."""
