"""Index of the names on the paths to all fields of a schema, for look-up in kernels."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from driftway.learners.engine.jit import fragment, kernel, load8
from driftway.worker.wire.columns import SPARE, Integers, Text
from driftway.worker.wire.json_tokens.decimals import ALL_ONES, EIGHT, ONE, THREE, Words
from driftway.worker.wire.json_tokens.tokens import same

NO_NAME = -1
DEEPEST = 60
"""Most steps of a path that a kernel follows."""
FACTOR = np.uint64(0x9E3779B97F4A7C15)
TURN, REST = np.uint64(29), np.uint64(35)
LEAST_ROOM = 4
"""Least number of slots per name in a node's table, so that few names collide."""


class FieldIndex(NamedTuple):
    """A node for each object on the paths, with the names to look for in it."""

    text: Text
    """Concatenated JSON texts of all names, then SPARE bytes."""
    bounds: Words
    """u8[k + 1]: start of each text, then the end of the last."""
    table: Integers
    """i8[nodes, slots]: hash tables of name numbers with linear probing; NO_NAME ends the search."""
    child: Integers
    """i8[k]: node of the object that the name leads to, or NO_NAME."""
    field: Integers
    """i8[k]: the schema's field that has this name, or NO_NAME."""
    seen: Integers
    """i8[k], written by the scanner: the last event that had the name, where `field` is NO_NAME."""
    owner: Integers
    """i8[k + 1]: node that has the name; NO_NAME for entry k, which is no name."""
    next: Integers
    """i8[k + 1], written by the scanner: the name that last followed this one; entry k is the start of an event. A hint
    for what to try first."""
    stack: Integers
    """i8[DEEPEST], written by the scanner: the enclosing nodes."""
    row: int
    """Node whose object is the row; an event has exactly one."""
    id_only: int
    """Field of the id if nothing else is read there, so that its value does not matter; otherwise NO_NAME."""


def build_field_index(
    ways: Sequence[tuple[tuple[str, ...], int]], roots: Sequence[tuple[str, ...]], id_only: int
) -> FieldIndex:
    """Build the index.

    Parameters
    ----------
    ways : sequence of (steps, field)
        Paths from the event's outermost object; several may lead to one field.
    roots : sequence of steps
        Possible paths of the row; () alone: the event is the row.
    id_only : int
        See `FieldIndex`.
    """
    nodes: list[dict[str, int]] = [{}]
    names, child, field = list[str](), list[int](), list[int]()

    def enter(node: int, step: str) -> int:
        if step not in nodes[node]:
            nodes[node][step] = len(names)
            names.append(step)
            child.append(NO_NAME)
            field.append(NO_NAME)
        return nodes[node][step]

    def node_at(steps: tuple[str, ...]) -> int:
        node = 0
        for step in steps:
            name = enter(node, step)
            if child[name] == NO_NAME:
                nodes.append({})
                child[name] = len(nodes) - 1
            node = child[name]
        return node

    row = node_at(roots[0])
    for *above, step in roots[1:]:
        child[enter(node_at(tuple(above)), step)] = row
    for steps, number in ways:
        field[enter(node_at(steps[:-1]), steps[-1])] = number
    texts = [json.dumps(name, ensure_ascii=False).encode() for name in names]
    bounds = np.cumsum([0, *map(len, texts)], dtype=np.uint64)
    text = np.frombuffer(b"".join(texts) + bytes(SPARE), np.uint8)
    slots = 1 << max(1, (LEAST_ROOM * max(map(len, nodes)) - 1).bit_length())
    table = np.full((len(nodes), slots), NO_NAME, np.int64)
    owner = {name: node for node, found in enumerate(nodes) for name in found.values()}
    k = len(names)
    owners = np.array([*(owner[name] for name in range(k)), NO_NAME], np.int64)
    _enter(text, bounds, owners[:k], table)
    tried = np.full(k + 1, k, np.int64)
    fields = np.array(child, np.int64), np.array(field, np.int64), np.zeros(k, np.int64)
    return FieldIndex(text, bounds, table, *fields, owners, tried, np.zeros(DEEPEST, np.int64), row, id_only)


@fragment
def find_name(text: Text, p: np.uint64, end: np.uint64, tree: FieldIndex, node: int) -> int:
    """Return the number of the node's name whose JSON text is text[p:end], or NO_NAME."""
    table = tree.table[node]
    last = np.uint64(table.shape[0] - 1)
    at = _hash(text, p, end) & last
    while True:
        name = table[at]
        if name == NO_NAME:
            return NO_NAME
        start, stop = tree.bounds[name], tree.bounds[name + 1]
        if stop - start == end - p and same(text, p, tree.text, start, stop):
            return int(name)
        at = (at + ONE) & last


@kernel
def _enter(text: Text, bounds: Words, owner: Integers, table: Integers) -> None:
    """Write each name's number into the table of its node. Shapes: owner i8[k], table i8[nodes, slots]."""
    last = np.uint64(table.shape[1] - 1)
    for name in range(owner.shape[0]):
        at = _hash(text, bounds[name], bounds[name + 1]) & last
        while table[owner[name], at] != NO_NAME:
            at = (at + ONE) & last
        table[owner[name], at] = name


@fragment
def _hash(text: Text, p: np.uint64, end: np.uint64) -> np.uint64:
    """Hash text[p:end], which has at least one byte."""
    h = end - p
    while end - p > EIGHT:
        h = (h ^ load8(text, p)) * FACTOR
        h ^= h >> TURN
        p += EIGHT
    h = (h ^ (load8(text, p) & (ALL_ONES >> ((EIGHT - (end - p)) << THREE)))) * FACTOR
    return h ^ (h >> REST)
