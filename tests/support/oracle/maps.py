"""Feature maps by their definitions, and an oracle on mapped rows."""

from __future__ import annotations

import itertools
import math

from tests.support.oracle.protocol import inner
from tests.support.oracle.random import MASK, Xoshiro, splitmix64

LARGEST = 1.7976931348623157e308


def bounded(value):
    return math.copysign(LARGEST, value) if math.isinf(value) else value


def polynomial(x, degree=2):
    z = []
    for k in range(1, degree + 1):
        for places in itertools.combinations_with_replacement(range(len(x)), k):
            product = x[places[0]]
            for j in places[1:]:
                product = bounded(product * x[j])
            z.append(product)
    return z


def fourier(x, D=100, gamma=0.5, seed=1):
    generator = Xoshiro(seed)
    U = [[math.sqrt(2.0 * gamma) * generator.normal() for _ in x] for _ in range(D)]
    phases = [inner(u, x) for u in U]
    sines = [math.sin(p) / math.sqrt(D) for p in phases]
    return sines + [math.cos(p) / math.sqrt(D) for p in phases]


def hashing(x, buckets=64, seed=1):
    z = [0.0] * buckets
    state = seed & MASK
    for value in x:
        state, word = splitmix64(state)
        b = math.floor((word >> 11) * 2.0**-53 * buckets)
        z[b] = bounded(z[b] + (value if word & 1 else -value))
    return z


MAPS = {"polynomial": polynomial, "fourier": fourier, "hashing": hashing}


class MappedOracle:
    """An oracle on rows transformed by maps, which are given as (name, parameters)."""

    def __init__(self, oracle, maps):
        self.oracle, self.maps = oracle, maps

    def mapped(self, x):
        for name, parameters in self.maps:
            x = MAPS[name](x, **parameters)
        return x

    def score(self, x):
        return self.oracle.score(self.mapped(x))

    def learn(self, x, y):
        self.oracle.learn(self.mapped(x), y)
