"""Building blocks of a network: layers and classifier heads, each with forward, backward and gradient steps.

A layer is a matrix f8[in, out], one row per input, and a head f8[O, in], one row per score, so that inner loops over
units vectorise without regrouping sums.
"""

import math

from driftway.learners.contract import Array, kernel
from driftway.learners.numeric.random import Words, normal
from driftway.learners.numeric.vectors import axpy, dot


@kernel
def scatter(layer: Array, generator: Words) -> None:
    """Draw a layer's weights from N(0, 2 / in), output by output.

    Shapes: layer f8[in, out], generator u8[4]. He et al., Delving deep into rectifiers, ICCV 2015: signals neither
    vanish nor grow from layer to layer.
    """
    spread = math.sqrt(2.0 / layer.shape[0])
    for u in range(layer.shape[1]):
        for j in range(layer.shape[0]):
            layer[j, u] = spread * normal(generator)


@kernel
def layer_forward(h: Array, layer: Array, bias: Array, out: Array) -> None:
    """Write layer' h + bias to `out`. Shapes: h f8[in], layer f8[in, out], bias f8[out], out f8[out].

    Two inputs are added per pass over `out`. Pairs of zeros are skipped, which changes nothing as weights are finite:
    about half of all hidden units are inactive.
    """
    for u in range(out.shape[0]):
        out[u] = bias[u]
    for j in range(0, h.shape[0] - 1, 2):
        one, other, row, next_row = h[j], h[j + 1], layer[j], layer[j + 1]
        if one != 0.0 or other != 0.0:
            for u in range(out.shape[0]):
                out[u] = out[u] + one * row[u] + other * next_row[u]
    if h.shape[0] % 2 == 1:
        axpy(out, layer[h.shape[0] - 1], h[h.shape[0] - 1])


@kernel
def layer_backward(h: Array, layer: Array, above: Array, out: Array) -> None:
    """Add layer above, the gradient of h, to `out`, except for inactive rectified units, whose gradient is 0.

    Shapes: h f8[in], layer f8[in, out], above f8[out], out f8[in].
    """
    for j in range(h.shape[0]):
        if h[j] > 0.0:
            out[j] += dot(layer[j], above)


@kernel
def layer_descend(h: Array, layer: Array, bias: Array, above: Array, eta: float) -> None:
    """Subtract eta h above' from the layer and eta above from its bias.

    Shapes: h f8[in], layer f8[in, out], bias f8[out], above f8[out].
    """
    axpy(bias, above, -eta)
    for j in range(h.shape[0]):
        if h[j] != 0.0:
            axpy(layer[j], above, -eta * h[j])


@kernel
def head_forward(h: Array, head: Array, offset: Array, f: Array) -> None:
    """Write head h + offset to `f`. Shapes: h f8[in], head f8[O, in], offset f8[O], f f8[O]."""
    for o in range(f.shape[0]):
        f[o] = dot(head[o], h) + offset[o]


@kernel
def head_backward(h: Array, head: Array, gradient: Array, out: Array) -> None:
    """Write head' gradient, the gradient of h, to `out`, or 0 for inactive rectified units.

    Shapes: h f8[in], head f8[O, in], gradient f8[O], out f8[in].
    """
    for j in range(out.shape[0]):
        out[j] = 0.0
    for o in range(gradient.shape[0]):
        axpy(out, head[o], gradient[o])
    for j in range(out.shape[0]):
        out[j] = out[j] if h[j] > 0.0 else 0.0


@kernel
def head_descend(h: Array, head: Array, offset: Array, gradient: Array, eta: float) -> None:
    """Subtract eta gradient h' from the head and eta gradient from its offset.

    Shapes: h f8[in], head f8[O, in], offset f8[O], gradient f8[O].
    """
    axpy(offset, gradient, -eta)
    for o in range(gradient.shape[0]):
        axpy(head[o], h, -eta * gradient[o])
