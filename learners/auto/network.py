"""A network with one hidden layer that also learns again from earlier rows: boundaries and curves of any shape.

Each labelled row enters a window. Then the network takes a step on it, and on some rows of the window that are drawn at
random (experience replay: Lin, Machine Learning 8, 1992). The hidden units are leaky rectifiers (Maas et al., 2013).
Steps are divided by the root of the mean square of earlier gradients (RMSprop: Tieleman and Hinton, 2012). For the
weights of a unit's inputs that is one number, the mean square of the gradient by their sum.
"""

import math
from typing import NamedTuple

import numpy as np

from driftway.learners.auto.bounds import bounded
from driftway.learners.auto.first_order import sigmoid
from driftway.learners.contract import Array, Counts, field, kernel, scratch, separate_kernel
from driftway.learners.engine.state import State
from driftway.learners.engine.state_layout import Sizes
from driftway.learners.multiclass.gradient_descent import softmax_steps
from driftway.learners.numeric.fading_mean import newest_share
from driftway.learners.numeric.random import Words, normal, randint, seed
from driftway.learners.numeric.vectors import add_multiples, axpy, dot

NAMES = ("network",)
UNITS = 32
WINDOW = 2048
REPLAYED, LEAST_REPLAYED = 8, 2
"""Rows of the window that are learned again after each row, and how many at least if rows are wide."""
WIDE = 350
"""Inputs of all these rows together, if they are wide."""
RATE = 0.0015
"""Size of a step whose gradient is as large as those before."""
KEEP = 0.999
"""Decay per step of the mean squares of gradients."""
LEAK = 0.1
"""Slope of a unit whose inputs sum to less than 0."""
TINY = 1e-4
"""Added to the root of a mean square, so that steps vanish with the error."""
LEAST_SQUARE = 1e-30
"""Least mean square: without errors it would become a number that processors compute slowly with."""
FURTHEST = 3.0
"""Limit of errors of targets."""


class Network(NamedTuple):
    """Weights and window of a network."""

    hidden_weight: Array = field("f8[l, U]", "weights of the hidden units, by input")
    hidden_square: Array = field("f8[U]", "mean squares of the gradients by the units' sums of inputs")
    output_weight: Array = field("f8[k, Z]", "weights of the outputs, by unit")
    output_square: Array = field("f8[k, Z]", "mean squares of the gradients by them")
    row: Array = field("f4[t, l]", "inputs of the last labelled rows; the i-th stands at i mod t")
    label: Array = field("f4[t, a]", "their classes or targets")
    rows: Counts = field("i8[1]", "labelled rows so far")
    steps: Counts = field("i8[1]", "steps so far")
    words: Words = field("u8[4]", "random words")
    places: Array = scratch("f8[e]", "places in the window of the rows to learn: the last one, and those drawn")
    inputs: Array = scratch("f8[l]", "the inputs of a row, one of which is always 1")
    unit: Array = scratch("f8[Z]", "the hidden units, and a constant 1 behind them")
    output: Array = scratch("f8[k]", "the outputs")
    error: Array = scratch("f8[k]", "their errors")
    step: Array = scratch("f8[U]", "steps of the units")


def sizes(inputs: int, outputs: int, labels: int, used: bool) -> Sizes:
    """Return the lengths in the shapes; all are 0 if there is no network."""
    window = {"t": WINDOW * used, "a": labels * used, "e": (1 + replayed(inputs)) * used}
    return {"l": inputs * used, "k": outputs * used, "U": UNITS * used, "Z": (UNITS + 1) * used, **window}


def cost(inputs: int, outputs: int) -> int:
    """Multiplications that take as long as a row."""
    return (1 + replayed(inputs)) * (45 * inputs + 500 * outputs + 900)


def begin(state: State, name: str, value: int) -> None:
    """Draw the weights of the hidden units in a zeroed state; `value` is the seed."""
    words, weight = state[f"{name}.words"], state[f"{name}.hidden_weight"]
    seed(words, np.uint64(value))
    draw(words, weight)


@kernel
def draw(words: Words, weight: Array) -> None:
    """Draw the weights of the hidden units. Shapes: words u8[4], weight f8[l, U]."""
    for j in range(weight.shape[0]):
        for u in range(weight.shape[1]):
            weight[j, u] = normal(words) / math.sqrt(weight.shape[0])


def replayed(inputs: int) -> int:
    """Return how many earlier rows are learned again with a row."""
    return max(min(REPLAYED, WIDE // inputs), LEAST_REPLAYED)


@kernel
def set_inputs(network: Network, z: Array) -> None:
    """Set the first inputs of a row. Shapes: z f8[l or fewer]."""
    for j in range(z.shape[0]):
        network.inputs[j] = z[j]


@kernel
def predict(network: Network) -> None:
    """Write the outputs for the row of `inputs`."""
    inputs, unit, U = network.inputs, network.unit, network.step.shape[0]
    for u in range(U):
        unit[u] = 0.0
    unit[U] = 1.0
    add_multiples(unit, network.hidden_weight, inputs)
    for u in range(U):
        unit[u] = max(unit[u], LEAK * unit[u])
    for o in range(network.output.shape[0]):
        network.output[o] = dot(network.output_weight[o], unit)


@separate_kernel
def learn_class(network: Network, y: int) -> None:
    """Learn class y of the row of `inputs`, and earlier rows again.

    One output is the log-odds of class 1 of two; K outputs are the scores of K classes.
    """
    error = network.error
    error[0] = y
    append(network)
    for r in range(network.places.shape[0]):
        label = int(network.label[recall(network, r), 0])
        predict(network)
        if error.shape[0] == 1:
            error[0] = sigmoid(network.output[0]) - label
        else:
            for o in range(error.shape[0]):
                error[o] = network.output[o]
            softmax_steps(error, label, -1.0)
        descend(network)


@separate_kernel
def learn_targets(network: Network) -> None:
    """Learn the targets in `error` of the row of `inputs`, and earlier rows again."""
    append(network)
    for r in range(network.places.shape[0]):
        target = network.label[recall(network, r)]
        predict(network)
        for o in range(target.shape[0]):
            network.error[o] = bounded(network.output[o] - target[o], FURTHEST)
        descend(network)


@kernel
def append(network: Network) -> None:
    """Replace the oldest row of the window by that of `inputs`, with the class or the targets in `error`; draw rows."""
    places, t = network.places, network.row.shape[0]
    place = network.rows[0] % t
    for j in range(network.inputs.shape[0]):
        network.row[place, j] = network.inputs[j]
    for o in range(network.label.shape[1]):
        network.label[place, o] = network.error[o]
    network.rows[0] += 1
    places[0] = place
    for r in range(1, places.shape[0]):
        places[r] = randint(network.words, min(network.rows[0], t))


@kernel
def recall(network: Network, r: int) -> int:
    """Put the r-th row to learn into `inputs`; return its place in the window."""
    place = int(network.places[r])
    for j in range(network.inputs.shape[0]):
        network.inputs[j] = network.row[place, j]
    return place


@kernel
def descend(network: Network) -> None:
    """Take a step by the errors of the row that `predict` has just seen."""
    unit, error, step, inputs = network.unit, network.error, network.step, network.inputs
    network.steps[0] += 1
    share = newest_share(network.steps[0], 1.0 - KEEP)
    for u in range(step.shape[0]):
        step[u] = 0.0
    for o in range(error.shape[0]):
        weight, square = network.output_weight[o], network.output_square[o]
        for u in range(step.shape[0]):
            step[u] += error[o] * weight[u]
        for u in range(unit.shape[0]):
            gradient = error[o] * unit[u]
            square[u] = max(square[u] + share * (gradient * gradient - square[u]), LEAST_SQUARE)
            weight[u] -= RATE * gradient / (math.sqrt(square[u]) + TINY)
    square = network.hidden_square
    for u in range(step.shape[0]):
        gradient = step[u] if unit[u] > 0.0 else LEAK * step[u]
        square[u] = max(square[u] + share * (gradient * gradient - square[u]), LEAST_SQUARE)
        step[u] = -RATE * gradient / (math.sqrt(square[u]) + TINY)
    for j in range(inputs.shape[0]):
        if inputs[j] != 0.0:
            axpy(network.hidden_weight[j], step, inputs[j])
