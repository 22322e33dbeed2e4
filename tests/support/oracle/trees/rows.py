"""What a tree sees of a row: raw values within bounds, ids, and standardised values for linear models."""

from __future__ import annotations

from tests.support.oracle.standardize import Standardize

OTHER = 31


class Seen:
    """A row, with the standard deviations of the columns at that time."""

    def __init__(self, x, z, scale):
        self.x, self.z, self.scale = x, z, scale


class Nothing:
    """Stands in for the learner behind the standardiser, whose statistics are used here."""

    def learn(self, x, y):
        """Do nothing."""


class Rows:
    def __init__(self, d, nominal):
        self.nominal = set() if nominal == "none" else {int(one) for one in nominal.split("/")}
        self.known = Standardize(Nothing(), d)

    def seen(self, x):
        z = self.known.scaled(x)
        scale = [one.all.sd() for one in self.known.features]
        bounded = []
        for j, value in enumerate(x):
            one = self.known.features[j].all
            if j in self.nominal:
                bounded.append(float(value) if value in range(OTHER) else float(OTHER))
                z[j], scale[j] = 0.0, 1.0
                continue
            inside = value if z[j] == one.deviations(value) else one.mean + z[j] * scale[j]
            bounded.append(max(-1e100, min(1e100, inside)))
        return Seen(bounded, z, scale)

    def learn(self, x):
        self.known.learn(x, 0.0)
