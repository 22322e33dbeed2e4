"""Texts that mean a missing value."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import NamedTuple

import numpy as np

from driftway.learners.engine.jit import kernel
from driftway.worker.wire.columns import SPARE, Integers, Text
from driftway.worker.wire.json_tokens.decimals import Words
from driftway.worker.wire.json_tokens.tokens import same
from driftway.worker.wire.schema.cell_table import NULL, TEXT, CellTable


class MissingWords(NamedTuple):
    """Texts that mean missing, by field."""

    field: Integers
    """i8[k]: the fields that have such texts."""
    first: Integers
    """i8[k + 1]: number of each field's first text, then the number of texts."""
    text: Text
    """Concatenated texts, then SPARE bytes."""
    bounds: Words
    """u8[texts + 1]: start of each text, then the end of the last."""

    @classmethod
    def of(cls, words: Mapping[int, Collection[str]]) -> MissingWords:
        """Build from the texts of each field, none of them empty."""
        texts = [word.encode() for found in words.values() for word in found]
        bounds = np.cumsum([0, *map(len, texts)], dtype=np.uint64)
        first = np.cumsum([0, *map(len, words.values())], dtype=np.int64)
        text = np.frombuffer(b"".join(texts) + bytes(SPARE), np.uint8)
        return cls(np.array(list(words), np.int64), first, text, bounds)


@kernel
def clear_missing_words(cells: CellTable, text: Text, words: MissingWords) -> None:
    """Replace texts that mean missing by null."""
    for i in range(cells.kind.shape[0]):
        for k in range(words.field.shape[0]):
            field = words.field[k]
            if cells.kind[i, field] == TEXT:
                start = np.uint64(cells.start[i, field])
                size = np.uint64(cells.end[i, field]) - start
                for w in range(words.first[k], words.first[k + 1]):
                    begin, end = words.bounds[w], words.bounds[w + 1]
                    if end - begin == size and same(text, start, words.text, begin, end):
                        cells.kind[i, field] = NULL
