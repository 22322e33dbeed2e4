"""Kernels, the width of the Gaussian, and learners that keep their newest vectors in a ring.

See docs/algorithms/kernel_methods.md#kernel-methods.
"""

from __future__ import annotations

from copy import copy
from math import exp, inf, isfinite, sqrt

from tests.support.oracle.protocol import inner, sign_of

WIDTH = 2.0
SAMPLE = 32
FACTORS = (1.0, 4.0, 16.0, 64.0)
KERNEL = {"kernel", "gamma", "width", "degree", "c0"}


def far(x, z):
    """Squared distance, summed in order."""
    total = 0.0
    for a, b in zip(x, z, strict=True):
        total += (a - b) * (a - b)
    return total


class Kernel:
    """k(x, z); the width of a Gaussian is derived from stored vectors, unless given."""

    def __init__(
        self,
        n_features,
        normalised=False,
        kernel="gaussian",
        gamma=0.0,
        width="prequential",
        degree=2,
        c0=1.0,
    ):
        self.kernel, self.degree, self.c0 = kernel, degree, c0
        self.gaussian = kernel == "gaussian"
        self.normalised = normalised and not self.gaussian
        self.gamma = gamma or 1.0 / n_features
        self.follows = self.gaussian and gamma == 0.0 and width != "dimension"
        self.tries = self.follows and width == "prequential"
        self.measured, self.factor, self.lead = False, 1.0, dict.fromkeys(FACTORS, 0.0)

    def plain(self, x, z):
        if self.gaussian:
            return exp(-self.gamma * far(x, z))
        if self.kernel == "linear":
            return inner(x, z) + self.c0
        value = 1.0
        for _ in range(self.degree):
            value *= inner(x, z) + self.c0
        return value

    def __call__(self, x, z):
        if self.normalised:
            return self.plain(x, z) / sqrt(self.plain(x, x) * self.plain(z, z))
        return self.plain(x, z)

    def usable(self, x):
        if self.gaussian:
            return isfinite(inner(x, x))
        return 0.0 < self.plain(x, x) < inf

    def follow(self, vectors, n_stored, slots):
        """Update the width at the 32nd stored vector and after each full round; return whether it changed."""
        if not self.follows or not (n_stored == SAMPLE or n_stored % slots == 0):
            return False
        m = min(len(vectors), SAMPLE)
        sample = [vectors[i * len(vectors) // m] for i in range(m)]
        pairs = sorted(far(z, w) for i, z in enumerate(sample) for w in sample[:i])
        median = pairs[len(pairs) // 2]
        if median == 0.0 or not isfinite(median):
            return False
        found = self.factor * WIDTH / median
        if not 0.0 < found < inf or self.gamma / 1.25 <= found <= self.gamma * 1.25:
            return False
        self.gamma, self.measured = found, True
        return True

    def narrower(self, factor):
        """The same kernel with another factor."""
        other = copy(self)
        other.gamma = self.gamma / self.factor * factor
        return other

    def prefer(self, right):
        """Update the factor by which kernels are right about a row, `right(kernel)`; return whether it changed."""
        if not self.tries or not self.measured:
            return False
        known = {factor: float(right(self.narrower(factor))) for factor in FACTORS}
        for factor in FACTORS:
            self.lead[factor] = self.lead[factor] * (1.0 - 1.0 / 400.0) + known[factor] - known[self.factor]
        best = max(FACTORS, key=self.lead.__getitem__)
        if self.lead[best] <= 8.0:
            return False
        self.gamma *= best / self.factor
        self.factor, self.lead = best, dict.fromkeys(FACTORS, 0.0)
        return True


def with_kernel(learner, k, answer):
    """Result of `answer` while the learner uses kernel k."""
    own, learner.k = learner.k, k
    given = answer()
    learner.k = own
    return given


def kernel_of(given):
    """Remove the kernel's parameters from `given` and return them."""
    return {name: given.pop(name) for name in KERNEL & given.keys()}


class Expansion:
    """Vectors in slots with coefficients; f(x) = scale sum_i a_i k(sv_i, x)."""

    normalised = False
    more = 0
    """Slots beyond the budget."""
    width = "prequential"

    def __init__(self, n_features, n_classes, kind, budget=100, **given):
        self.k = Kernel(n_features, self.normalised, **{"width": self.width, **kernel_of(given)})
        self.budget, self.scale = budget, 1.0
        self.sv, self.a, self.additions = [], [], 0
        self.n_stored = 0
        self.prepare(**given)

    def prepare(self):
        pass

    def values(self, x):
        return [self.k(z, x) for z in self.sv]

    def f(self, x):
        return self.scale * inner(self.a, self.values(x))

    def learnable(self, x):
        """f(x), or None if the row can neither be scored nor learned from."""
        s = self.f(x) if self.k.usable(x) else inf
        return s if isfinite(s) else None

    def score(self, x):
        return [self.learnable(x) or 0.0]

    def learn(self, x, y):
        s = self.learnable(x)
        if s is None:
            return
        if self.k.prefer(lambda k: sign_of(y) * with_kernel(self, k, lambda: self.f(x)) > 0.0):
            self.widened()
            s = self.f(x)
        before = self.n_stored
        self.update(list(x), sign_of(y), s)
        if self.n_stored > before and self.k.follow(self.sv, self.n_stored, self.budget + self.more):
            self.widened()

    def widened(self):
        """Called when the kernel has changed, with vectors and coefficients unchanged."""

    def full(self):
        return len(self.sv) == self.budget

    def put(self, slot, x, a):
        """Write a slot; slot n is appended."""
        self.sv[slot : slot + 1] = [x]
        self.a[slot : slot + 1] = [a]

    def store(self, slot, x, a):
        """Add a new vector."""
        self.put(slot, x, a)
        self.n_stored += 1

    def oldest(self):
        """Slot of the next addition: that of the oldest vector once all are in use."""
        return self.additions % self.budget

    def enter(self, x, a):
        self.store(self.oldest(), x, a)
        self.additions += 1

    def drop(self, slot):
        """Remove a vector; the last one moves to its slot."""
        x, a = self.sv.pop(), self.a.pop()
        if slot < len(self.sv):
            self.put(slot, x, a)

    def multiply(self, factor):
        """Multiply all coefficients, through the common scale."""
        self.scale *= factor
        if self.scale < 1e-100:
            self.a = [self.scale * a for a in self.a]
            self.scale = 1.0


class KernelPerceptron(Expansion):
    def prepare(self, overflow="fifo"):
        self.stops = overflow == "stop"

    def update(self, x, y, s):
        if y * s <= 0.0 and not (self.stops and self.full()):
            self.enter(x, y)


class KernelNORMA(Expansion):
    def prepare(self, alpha=0.3, lam=0.01, rho=0.5):
        self.alpha, self.lam, self.rho = alpha, lam, rho

    def update(self, x, y, s):
        self.multiply(1.0 - self.alpha * self.lam)
        if y * s <= self.rho:
            self.enter(x, self.alpha * y / self.scale)


class KernelNORMA0(KernelNORMA):
    def prepare(self, alpha=0.3, lam=0.01):
        super().prepare(alpha, lam, 0.0)


class KernelALMA(Expansion):
    def prepare(self, alpha=0.3, B=3.0, rho=0.5):
        self.alpha, self.B, self.rho = alpha, B, rho
        self.n2 = 0.0

    def norm(self):
        """||w||^2, computed from the vectors."""
        return self.scale * inner(self.a, [self.f(z) for z in self.sv])

    def widened(self):
        self.n2 = self.norm()

    def update(self, x, y, s):
        if y * s > self.rho:
            return
        if self.full():
            h = self.oldest()
            z, c = self.sv[h], self.scale * self.a[h]
            self.n2 = max(0.0, self.n2 - 2.0 * c * self.f(z) + c * c * self.k(z, z))
            s -= c * self.k(z, x)
        self.n2 += 2.0 * self.alpha * y * s + self.alpha**2 * self.k(x, x)
        self.enter(x, self.alpha * y / self.scale)
        beta = max(1.0, sqrt(self.n2) / self.B)
        self.multiply(1.0 / beta)
        self.n2 /= beta**2
        if self.additions % (10 * self.budget) == 0:
            self.n2 = self.norm()


class KernelALMA0(KernelALMA):
    def prepare(self, alpha=0.3, B=3.0):
        super().prepare(alpha, B, 0.0)
