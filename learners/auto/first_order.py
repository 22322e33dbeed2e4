"""First-order linear experts: four rules over the same inputs, the features or their random Fourier features.

Steps are relative to the row's squared norm, so that a rate has the same meaning for any features: a rate of 1 would
correct the row's margin in one step. docs/algorithms/linear.md#linear-learners (`ogd_logistic`, `pa`); the loss of the
sigmoid rules is (1 - p)^2, which no single wrong label can make large.
"""

from driftway.learners.contract import Array, fragment, kernel
from driftway.learners.multiclass.gradient_descent import softmax_steps
from driftway.learners.multiclass.margins import best_wrong
from driftway.learners.numeric.elementary.exponential import exp
from driftway.learners.numeric.vectors import axpy, dot, four_dots

NAMES = "logistic", "passive_aggressive", "sigmoid_slow", "sigmoid_fast"
EXPERTS = len(NAMES)
SLOW = 0.05
FAST = 0.3
"""Rates of the sigmoid rules."""
FLAT = 35.0
"""Beyond this margin a sigmoid is 0 or 1."""


@kernel
def margins(weight: Array, x: Array, raw: Array, first: int) -> int:
    """Write the four experts' scores of each class; return the next row of `raw`.

    Shapes: weight f8[4 C, d] with C = K, or with two classes C = 1 for the difference; x f8[d]; raw f8[E, K], from row
    `first` on.
    """
    C, K = weight.shape[0] // EXPERTS, raw.shape[1]
    for m in range(EXPERTS):
        raw[first + m, 0] = 0.0
    for c in range(C):
        scores = four_dots(weight[c], weight[C + c], weight[2 * C + c], weight[3 * C + c], x)
        for m in range(EXPERTS):
            raw[first + m, K - C + c] = scores[m]
    return first + EXPERTS


@kernel
def descend(weight: Array, x: Array, raw: Array, first: int, y: int, rate: float) -> int:
    """Update the four experts with class y and return the next row of `raw`; theirs are overwritten.

    Shapes: weight f8[4 C, d], x f8[d], raw f8[E, K]. `rate` is that of the logistic expert.
    """
    squared = dot(x, x)
    softmax_steps(raw[first], y, 2.0 * rate / squared)
    passive_aggressive_step(raw[first + 1], y, squared)
    sigmoid_step(raw[first + 2], y, 8.0 * SLOW / squared)
    sigmoid_step(raw[first + 3], y, 8.0 * FAST / squared)
    C, K = weight.shape[0] // EXPERTS, raw.shape[1]
    for m in range(EXPERTS):
        step = raw[first + m]
        for c in range(C):
            by = step[c] if C == K else step[1] - step[0]
            if by != 0.0:
                axpy(weight[m * C + c], x, by)
    return first + EXPERTS


@kernel
def passive_aggressive_step(s: Array, y: int, squared: float) -> None:
    """Replace scores by the smallest steps that give y a lead of 1 over its rival. Shapes: s f8[K]; squared = |x|^2."""
    r = best_wrong(s, y)
    lacking = max(1.0 - (s[y] - s[r]), 0.0)
    s[:] = 0.0
    s[y] = 0.5 * lacking / squared
    s[r] = -s[y]


@kernel
def sigmoid_step(s: Array, y: int, rate: float) -> None:
    """Replace scores by gradient steps on (1 - p)^2, with p the sigmoid of y's lead. Shapes: s f8[K]."""
    r = best_wrong(s, y)
    p = sigmoid(s[y] - s[r])
    s[:] = 0.0
    s[y] = rate * (1.0 - p) * p * (1.0 - p)
    s[r] = -s[y]


@fragment
def sigmoid(margin: float) -> float:
    """1 / (1 + exp(-margin)), exactly 0 or 1 beyond `FLAT`."""
    if abs(margin) > FLAT:
        return 1.0 if margin > 0.0 else 0.0
    return 1.0 / (1.0 + exp(-margin))
