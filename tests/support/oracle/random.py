"""Random numbers on Python's unbounded integers; every step is truncated to 64 bits explicitly.

See docs/algorithms/conventions.md#random-numbers.
"""

from __future__ import annotations

import math

MASK = (1 << 64) - 1


def splitmix64(state):
    """The next state and the output."""
    state = (state + 0x9E3779B97F4A7C15) & MASK
    z = state
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
    return state, z ^ (z >> 31)


def rotl(x, n):
    return ((x << n) | (x >> (64 - n))) & MASK


class Xoshiro:
    def __init__(self, seed):
        self.s = []
        for _ in range(4):
            seed, word = splitmix64(seed)
            self.s.append(word)

    def next(self):
        s = self.s
        r = (rotl((s[1] * 5) & MASK, 7) * 9) & MASK
        tmp = (s[1] << 17) & MASK
        s[2] ^= s[0]
        s[3] ^= s[1]
        s[1] ^= s[2]
        s[0] ^= s[3]
        s[2] ^= tmp
        s[3] = rotl(s[3], 45)
        return r

    def uniform(self):
        return (self.next() >> 11) * 2.0**-53

    def normal(self):
        u1, u2 = self.uniform(), self.uniform()
        return math.sqrt(-2.0 * math.log(max(u1, 2.0**-53))) * math.cos(2.0 * math.pi * u2)

    def randint(self, n):
        return min(math.floor(self.uniform() * n), n - 1)

    def poisson(self, lam):
        count, product = 0, self.uniform()
        while product > math.exp(-lam):
            count, product = count + 1, product * self.uniform()
        return count

    def permute(self, items):
        for i in reversed(range(1, len(items))):
            j = self.randint(i + 1)
            items[i], items[j] = items[j], items[i]
