"""Deep online learning by hedge backpropagation."""

import math
from typing import Any, NamedTuple

import numpy as np

from driftway.learners.contract import (
    Array,
    Counts,
    Learner,
    Parameters,
    UpdateRule,
    field,
    fragment,
    integer,
    number,
    scratch,
)
from driftway.learners.neural.layers import (
    head_backward,
    head_descend,
    head_forward,
    layer_backward,
    layer_descend,
    layer_forward,
    scatter,
)
from driftway.learners.numeric.elementary.exponential import exp
from driftway.learners.numeric.elementary.logarithm import log, log_for_python
from driftway.learners.numeric.random import seed
from driftway.learners.numeric.vectors import dot


class HBP(Learner):
    """A network with a classifier on its input and on every layer, weighted by how well they predict.

    The right depth need not be known: early on the shallow classifiers, which learn fast, dominate, and the deep ones,
    which learn curved boundaries, gain weight when they become better. Defaults suit standardised features.

    h_0 = x, h_l = max(0, H_l h_(l-1) + b_l), f_l = theta_l'[h_l, 1], s = sum of alpha_l f_l, or one f_l per class.
    All descend on the sum of alpha_l loss_l, the log loss, by a gradient of norm at most clip; then
    alpha_l <- max(alpha_l beta^min(loss_l, 1), smooth / (L + 1)), normalised to a sum of 1.

    Cost
    ----
    O(W (L W + d) + O (L W + d)) per row; 8 (W (d + (L - 1) W + L) + O (d + L W + L + 1) + L + 2) bytes, L = layers,
    W = width, O = K or, for two classes, 1.

    Source
    ------
    Sahoo, Pham, Lu and Hoi, Online deep learning, IJCAI 2018, algorithm 1; Huang, Online Learning, "Deep online
    learning". docs/algorithms/neural.md#hbp. Differs: a single clipped gradient; classifiers of more than two
    classes use softmax; defaults are the best ones on 26 streams, not layers=3, eta=0.05, smooth=0.2, clip=10.
    """

    name = "hbp"
    tasks = ("binary", "multiclass")
    link = "logistic"
    multiclass_link = "softmax"

    class Params(Parameters):
        layers: int = integer(2, "L, hidden layers.", at_least=1, at_most=100)
        width: int = integer(32, "W, units of each layer.", at_least=1, at_most=1000)
        eta: float = number(0.15, "Step size.", above=0.0, at_most=100.0)
        beta: float = number(0.99, "Factor of a classifier's weight at a loss of 1.", above=0.0, below=1.0)
        smooth: float = number(
            0.5, "Lower bound of a classifier's weight, as a share of the mean weight.", at_least=0.0, below=1.0
        )
        clip: float = number(
            1.7, "Longest gradient: no row moves the weights by more than eta clip.", above=0.0, at_most=1e6
        )
        seed: int = integer(1, "Seed of the initial weights.", at_least=0, at_most=2**53)

    def rule(self) -> UpdateRule:
        p = self.parameters
        hedge = HBPNumbers(p.eta, p.clip, log_for_python(p.beta), p.smooth / (p.layers + 1))
        outputs = self.n_classes if self.n_classes > 2 else 1
        sizes = {"L": p.layers, "deeper": p.layers - 1, "heads": p.layers + 1, "W": p.width, "O": outputs}
        return UpdateRule(score, learn, hedge, HBPState, sizes, classes=True)

    def initialise(self) -> None:
        s = self.state
        generator = np.zeros(4, np.uint64)
        seed(generator, np.uint64(self.parameters.seed))
        scatter(s["first"], generator)
        for layer in s["deep"]:
            scatter(layer, generator)
        s["alpha"][:] = 1.0 / len(s["alpha"])


class HBPNumbers(NamedTuple):
    """Parameters of `hbp`."""

    eta: float
    clip: float
    log_beta: float
    least: float
    """Smallest weight of a classifier, before normalisation to a sum of 1."""


class HBPState(NamedTuple):
    """State of `hbp`. Matrices are laid out as in `driftway.learners.neural.layers`."""

    first: Array = field("f8[d, W]", "H_1, weights of the first layer")
    deep: Array = field("f8[deeper, W, W]", "H_2 and on, weights of the layers above it")
    bias: Array = field("f8[L, W]", "b, of all layers")
    shallow: Array = field("f8[O, d]", "theta_0, weights of the row's own classifier")
    head: Array = field("f8[L, O, W]", "theta_1 and on, weights of each layer's classifier")
    offset: Array = field("f8[heads, O]", "bias of each classifier")
    alpha: Array = field("f8[heads]", "how much each classifier counts; they sum to 1")
    skipped: Counts = field("i8[1]", "labelled rows whose scores or gradient were not finite")
    h: Array = scratch("f8[L, W]", "hidden units")
    delta: Array = scratch("f8[L, W]", "gradient of the sum that each unit rectifies")
    f: Array = scratch("f8[heads, O]", "scores of each classifier; in `learn` alpha times their gradient")
    loss: Array = scratch("f8[heads]", "of each classifier")
    S: Array = scratch("f8[K]", "scores by class; with two classes that of the first is 0")
    share: Array = scratch("f8[K]", "probabilities of a classifier, times their sum")


@fragment
def score(x: Array, _p: Any, memory: HBPState) -> None:
    """Forward pass; leaves h and f in memory. All scores are nan if that of a classifier is not finite.

    Shapes: x f8[d]. docs/algorithms/neural.md#hbp.
    """
    S, f, h, alpha, L = memory.S, memory.f, memory.h, memory.alpha, memory.h.shape[0]
    head_forward(x, memory.shallow, memory.offset[0], f[0])
    layer_forward(x, memory.first, memory.bias[0], h[0])
    for i in range(L):
        if i > 0:
            layer_forward(h[i - 1], memory.deep[i - 1], memory.bias[i], h[i])
        for u in range(h.shape[1]):
            h[i, u] = 0.0 if h[i, u] <= 0.0 else h[i, u]  # keeps nan
        head_forward(h[i], memory.head[i], memory.offset[i + 1], f[i + 1])
    fixed = S.shape[0] - f.shape[1]
    S[:] = 0.0
    bad = False
    for i in range(L + 1):
        for o in range(f.shape[1]):
            S[fixed + o] += alpha[i] * f[i, o]
            bad |= f[i, o] - f[i, o] != 0.0
    if bad:
        S[:] = math.nan


@fragment
def learn(x: Array, label: int, _omega: float, finite: bool, p: HBPNumbers, memory: HBPState) -> None:
    """Compute all gradients from the results of `score`, descend along them, then reweight the classifiers.

    Shapes: x f8[d]. docs/algorithms/neural.md#hbp. A row whose gradient is not finite changes nothing.
    """
    if not finite:
        memory.skipped[0] += 1
        return
    f, h, delta, alpha, L = memory.f, memory.h, memory.delta, memory.alpha, memory.h.shape[0]
    for i in range(L + 1):
        memory.loss[i] = differentiate(f[i], alpha[i], label, memory.share)
    for i in range(L - 1, -1, -1):
        head_backward(h[i], memory.head[i], f[i + 1], delta[i])
        if i < L - 1:
            layer_backward(h[i], memory.deep[i], delta[i + 1], delta[i])
    below = 1.0 + dot(x, x)
    squared = dot(f[0], f[0]) * below  # squared norm of the gradient, input by input
    for i in range(L):
        squared += dot(delta[i], delta[i]) * below
        below = 1.0 + dot(h[i], h[i])
        squared += dot(f[i + 1], f[i + 1]) * below
    if not math.isfinite(squared):
        memory.skipped[0] += 1
        return
    length = math.sqrt(squared)
    eta = p.eta if length <= p.clip else p.eta * (p.clip / length)
    head_descend(x, memory.shallow, memory.offset[0], f[0], eta)
    layer_descend(x, memory.first, memory.bias[0], delta[0], eta)
    for i in range(L):
        head_descend(h[i], memory.head[i], memory.offset[i + 1], f[i + 1], eta)
        if i > 0:
            layer_descend(h[i - 1], memory.deep[i - 1], memory.bias[i], delta[i], eta)
    total = 0.0
    for i in range(L + 1):
        alpha[i] = max(alpha[i] * exp(p.log_beta * min(memory.loss[i], 1.0)), p.least)
        total += alpha[i]
    for i in range(L + 1):
        alpha[i] /= total


@fragment
def differentiate(f: Array, alpha: float, label: int, share: Array) -> float:
    """Return the log loss of a classifier's scores; overwrite `f` with alpha times its gradient.

    Shapes: f f8[O], share f8[K] scratch. With two classes the first one has score 0 and no entry in f, so that softmax
    is the logistic function.
    """
    fixed = share.shape[0] - f.shape[0]
    largest = 0.0 if fixed > 0 else f[0]
    for o in range(f.shape[0]):
        largest = max(largest, f[o])
    total = 0.0
    for r in range(share.shape[0]):
        share[r] = exp((f[r - fixed] if r >= fixed else 0.0) - largest)
        total += share[r]
    loss = log(total) + largest - (f[label - fixed] if label >= fixed else 0.0)
    for o in range(f.shape[0]):
        f[o] = alpha * (share[o + fixed] / total - (1.0 if o + fixed == label else 0.0))
    return loss
