"""What a network's layers do: products, gradients and steps.

A layer is a matrix f8[in, out], one row per input, so that the inner loops go over its outputs side by side, in wide
instructions, and no sum is regrouped.
"""

import math

from learners.contract import Array, bare_kernel
from learners.jit import kernel
from learners.random import Words, normal


@kernel
def scatter(layer: Array, generator: Words) -> None:
    """Draw a layer's weights from N(0, 2 / in), one output after the other.

    Shapes: layer f8[in, out], generator u8[4]. He et al., Delving deep into rectifiers, ICCV 2015: signals neither die
    out nor grow from layer to layer.
    """
    spread = math.sqrt(2.0 / layer.shape[0])
    for u in range(layer.shape[1]):
        for j in range(layer.shape[0]):
            layer[j, u] = spread * normal(generator)


@bare_kernel
def forward(h: Array, layer: Array, bias: Array, out: Array) -> None:
    """Write layer' h + bias to `out`. Shapes: h f8[in], layer f8[in, out], bias f8[out], out f8[out].

    Inputs of 0 add nothing, since weights are finite: about half of all hidden units are silent.
    """
    for u in range(out.shape[0]):
        out[u] = bias[u]
    for j in range(h.shape[0]):
        if h[j] != 0.0:
            value, row = h[j], layer[j]
            for u in range(out.shape[0]):
                out[u] += value * row[u]


@bare_kernel
def backward(layer: Array, above: Array, h: Array, out: Array) -> None:
    """Add layer above to `out`, for rectified units alone that are not silent: the gradient of the others is 0.

    Shapes: layer f8[in, out], above f8[out], h f8[in], out f8[in].
    """
    for j in range(h.shape[0]):
        if h[j] > 0.0:
            total, row = 0.0, layer[j]
            for u in range(above.shape[0]):
                total += row[u] * above[u]
            out[j] += total


@bare_kernel
def descend(layer: Array, bias: Array, h: Array, gradient: Array, eta: float) -> None:
    """Take eta h gradient' from the layer and eta gradient from its bias.

    Shapes: layer f8[in, out], bias f8[out], h f8[in], gradient f8[out].
    """
    for u in range(bias.shape[0]):
        bias[u] -= eta * gradient[u]
    for j in range(h.shape[0]):
        if h[j] != 0.0:
            row, step = layer[j], eta * h[j]
            for u in range(bias.shape[0]):
                row[u] -= step * gradient[u]
