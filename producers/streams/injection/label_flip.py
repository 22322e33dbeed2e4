"""Label flip: from a row on, every label is changed to the next class; with two classes, to the other one."""

from __future__ import annotations

import numpy as np

from driftway.producers.streams.injection.altered import Altered
from driftway.producers.streams.injection.injection_kind import (
    CLASSES,
    END,
    MAX_ROWS,
    InjectionKind,
    InjectionRequest,
    Words,
    check_classes,
    class_count,
    window_of,
)
from driftway.producers.streams.options import option
from driftway.producers.streams.stream import Block, Stream


def _build(stream: Stream, request: InjectionRequest) -> Stream:
    window = window_of("label_flip", request.values, "flipped", "at")
    n_classes = max(2, class_count(stream, request, "label_flip"))

    def alter(_: Words, start: int, block: Block) -> Block:
        inside = window.inside(start, len(block.y))
        if not inside.any():
            return block
        check_classes("label_flip", block.y, start, n_classes)
        return Block(block.X, np.where(inside, (block.y + 1.0) % n_classes, block.y))

    return Altered(stream, request, window, alter)


KIND = InjectionKind(
    name="label_flip",
    summary="Inside the window class k becomes k + 1 and the last one 0: P(x) is unchanged, every label changes.",
    source="the largest change of P(y | x) that leaves P(x) alone; Webb et al., Characterizing concept drift, Data "
    "Mining and Knowledge Discovery 30, 2016",
    options=(
        option("at", None, "integer", low=1, high=MAX_ROWS, meaning="first row with flipped labels"),
        option(
            "until",
            END,
            "integer",
            low=1,
            high=MAX_ROWS,
            meaning="first row with the original labels again; default: never",
        ),
        CLASSES,
    ),
    required=("at",),
    build=_build,
)
