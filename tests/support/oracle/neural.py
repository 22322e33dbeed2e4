"""Hyperplanes per region, and a network weighted by hedge; with numpy where that is easier to read.

See docs/algorithms/neural.md#neural-networks.
"""

from __future__ import annotations

import math

import numpy as np

from tests.support.oracle.protocol import extended, inner, sign_of
from tests.support.oracle.random import Xoshiro


class LOL:
    def __init__(self, n_features, n_classes, kind, prototypes=10, lam=1.0, C=0.1, intercept=True):
        self.m, self.lam, self.C, self.intercept = prototypes, lam, C, intercept
        self.cent, self.cnt, self.U = [], [], []
        self.w = [0.0] * (n_features + intercept)

    def nearest(self, x):
        """(squared distance, region) of the nearest, the first on ties; None if there is no region."""
        return min(
            ((sum((a - b) ** 2 for a, b in zip(x, c, strict=True)), j) for j, c in enumerate(self.cent)), default=None
        )

    def score(self, x):
        near = self.nearest(x)
        if near is None:
            return [0.0]
        return [inner([w + u for w, u in zip(self.w, self.U[near[1]], strict=True)], extended(x, self.intercept))]

    def learn(self, x, y):
        y, full, (s,), near = sign_of(y), extended(x, self.intercept), self.score(x), self.nearest(x)
        x2 = inner(full, full)
        if x2 == 0.0:
            return
        seeds = len(self.cent) < self.m and (near is None or near[0] > 0.0)
        if seeds:
            self.cent.append(list(x))
            self.cnt.append(1)
            self.U.append([0.0] * len(full))
        j = len(self.cent) - 1 if seeds else near[1]
        tau = min(self.C, max(0.0, 1.0 - y * s) / (x2 * (1.0 + 1.0 / self.lam)))
        self.w = [w + tau / self.lam * y * v for w, v in zip(self.w, full, strict=True)]
        self.U[j] = [u + tau * y * v for u, v in zip(self.U[j], full, strict=True)]
        if not seeds:
            self.cnt[j] += 1
            self.cent[j] = [c + (v - c) / min(self.cnt[j], 1000) for c, v in zip(self.cent[j], x, strict=True)]


class HBP:
    """One score for two classes, else one per class; H_l (width, in), theta_l (scores, in + 1)."""

    def __init__(
        self, n_features, n_classes, kind, layers=2, width=32, eta=0.15, beta=0.99, smooth=0.5, clip=1.7, seed=1
    ):
        self.binary, self.L = kind == "binary", layers
        self.eta, self.beta, self.smooth, self.clip = eta, beta, smooth, clip
        random, ins = Xoshiro(seed), [n_features] + [width] * layers
        self.H = [
            np.array([[math.sqrt(2.0 / n) * random.normal() for _ in range(n)] for _ in range(width)])
            for n in ins[:layers]
        ]
        self.b = [np.zeros(width) for _ in range(layers)]
        self.theta = [np.zeros((1 if self.binary else n_classes, n + 1)) for n in ins]
        self.alpha = np.full(layers + 1, 1.0 / (layers + 1))

    def forward(self, x):
        """Outputs h_0 to h_L of the layers, and f_0 to f_L of their classifiers."""
        h = [np.array(x)]
        for H, b in zip(self.H, self.b, strict=True):
            h.append(np.maximum(H @ h[-1] + b, 0.0))
        return h, [theta @ np.append(one, 1.0) for theta, one in zip(self.theta, h, strict=True)]

    def score(self, x):
        _, f = self.forward(x)
        return list(self.alpha @ np.array(f))

    def loss(self, f, y):
        """Loss of one classifier, and its gradient."""
        if self.binary:
            m = sign_of(y) * f[0]
            return max(-m, 0.0) + math.log1p(math.exp(-abs(m))), np.array([-sign_of(y) / (1.0 + math.exp(m))])
        e = np.exp(f - f.max())
        return math.log(e.sum()) + f.max() - f[int(y)], e / e.sum() - np.eye(len(f))[int(y)]

    def learn(self, x, y):
        h, f = self.forward(x)
        losses, g = zip(*(self.loss(one, y) for one in f), strict=True)
        ag = [a * one for a, one in zip(self.alpha, g, strict=True)]
        delta = [None] * (self.L + 2)
        for layer in range(self.L, 0, -1):
            back = self.theta[layer][:, :-1].T @ ag[layer]
            if layer < self.L:
                back = back + self.H[layer].T @ delta[layer + 1]
            delta[layer] = (h[layer] > 0.0) * back
        G2 = sum((delta[i] @ delta[i]) * (1.0 + h[i - 1] @ h[i - 1]) for i in range(1, self.L + 1))
        G2 += sum((ag[i] @ ag[i]) * (1.0 + h[i] @ h[i]) for i in range(self.L + 1))
        step = self.eta * min(1.0, self.clip / math.sqrt(G2)) if G2 > 0.0 else self.eta
        for i in range(1, self.L + 1):
            self.H[i - 1] -= step * np.outer(delta[i], h[i - 1])
            self.b[i - 1] -= step * delta[i]
        for i in range(self.L + 1):
            self.theta[i] -= step * np.outer(ag[i], np.append(h[i], 1.0))
        kept = self.alpha * np.array([self.beta ** min(loss, 1.0) for loss in losses])
        self.alpha = np.maximum(kept, self.smooth / (self.L + 1))
        self.alpha /= self.alpha.sum()
