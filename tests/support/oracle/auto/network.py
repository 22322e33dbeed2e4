"""The network of `auto`: lists of weights, and a window of rows."""

from __future__ import annotations

from math import exp, sqrt

from tests.support.oracle.auto.experts import sigmoid
from tests.support.oracle.auto.forests import rounded
from tests.support.oracle.protocol import inner
from tests.support.oracle.random import Xoshiro

UNITS, WINDOW, RATE, LEAK = 32, 2048, 0.0015, 0.1


def replays(inputs):
    return max(min(8, 350 // inputs), 2)


def errors_of_classes(says, label):
    """Of the log loss; a single output is the log-odds of class 1."""
    if len(says) == 1:
        return [sigmoid(says[0]) - label[0]]
    likely = [exp(s - max(says)) for s in says]
    return [one / sum(likely) - (c == label[0]) for c, one in enumerate(likely)]


def errors_of_targets(says, targets):
    return [min(max(s - target, -3.0), 3.0) for s, target in zip(says, targets, strict=True)]


class Network:
    """`errors(says, label)` are the derivatives of the loss by the outputs."""

    def __init__(self, inputs, outputs, seed, errors):
        self.generator, self.errors = Xoshiro(seed), errors
        self.hidden = [[self.generator.normal() / sqrt(inputs) for _ in range(UNITS)] for _ in range(inputs)]
        self.output = [[0.0] * (UNITS + 1) for _ in range(outputs)]
        self.hidden_square = [0.0] * UNITS
        self.output_square = [[0.0] * (UNITS + 1) for _ in range(outputs)]
        self.window, self.rows, self.steps = [], 0, 0

    def units(self, x):
        sums = [inner(x, column) for column in zip(*self.hidden, strict=True)]
        return [max(s, LEAK * s) for s in sums] + [1.0]

    def say(self, x):
        return self.outputs(self.units(x))

    def outputs(self, unit):
        return [inner(weights, unit) for weights in self.output]

    def learn(self, x, label):
        """`label`: a list of targets, or of one class."""
        entry = [rounded(value) for value in x], [rounded(value) for value in label]
        self.window[self.rows % WINDOW : self.rows % WINDOW + 1] = [entry]
        self.rows += 1
        self.step(*entry)
        for _ in range(replays(len(x))):
            self.step(*self.window[self.generator.randint(len(self.window))])

    def step(self, x, label):
        unit = self.units(x)
        errors = self.errors(self.outputs(unit), label)
        self.steps += 1
        share = max(1.0 / self.steps, 1.0 - 0.999)

        def moved(square, gradient):
            square = max(square + share * (gradient**2 - square), 1e-30)
            return square, -RATE * gradient / (sqrt(square) + 1e-4)

        back = [sum(e * weights[u] for e, weights in zip(errors, self.output, strict=True)) for u in range(UNITS)]
        for o, e in enumerate(errors):
            for u, value in enumerate(unit):
                self.output_square[o][u], step = moved(self.output_square[o][u], e * value)
                self.output[o][u] += step
        for u in range(UNITS):
            self.hidden_square[u], step = moved(self.hidden_square[u], back[u] * (1.0 if unit[u] > 0.0 else LEAK))
            for j, value in enumerate(x):
                self.hidden[j][u] += step * value
