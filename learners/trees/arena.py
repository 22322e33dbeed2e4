"""The nodes of binary trees in arrays of fixed size: finding a leaf, splitting one, giving leaves back.

A tree of at most L leaves has 2 L - 1 nodes: the root, node 0, and L - 1 pairs of siblings, 2 k + 1 and 2 k + 2. A node
is free, a leaf or an inner node. Each leaf owns a slot, where its statistics are; splitting a leaf gives its slot to
the left child and a free one to the right child. When no pair is free, the leaf that rows have not reached for longest
is removed, if that is long enough, and its sibling takes their parent's place; if not, the leaf is not split.

What every row runs is a fragment: a call of a kernel passes all arrays of a memory one by one, which took ten times as
long as the work itself. What is rare, like a split, is a kernel.

Memories here have an axis of T trees in front: `driftway.learners.engine.jit.member` takes out one. The functions work
on one tree.
"""

from typing import NamedTuple

from driftway.learners.contract import Array, Counts, field, fragment, kernel

LEAF, FREE = -1, -2
"""What `feature` holds in a leaf, and in a node that is not in the tree."""
DEEPEST = 64
"""A leaf at this depth is not split."""
STALE = 50
"""A leaf may be removed when none of the last STALE L rows of the tree has reached it."""


class Nodes(NamedTuple):
    """The nodes of T trees."""

    feature: Counts = field(
        "i8[T, N]",
        "what an inner node tests: column j if x_j < threshold goes left, d + j if x_j = threshold does; -1 leaf, "
        "-2 free",
        start=FREE,
        largest="2 d - 1",
    )
    threshold: Array = field("f8[T, N]", "what it compares with")
    left: Counts = field("i8[T, N]", "its left child; the right one is the next node", largest="N - 2")
    parent: Counts = field("i8[T, N]", "its parent, -1 for the root", start=-1.0, largest="N - 1")
    slot: Counts = field("i8[T, N]", "the slot of a leaf, -1 for other nodes", start=-1.0, largest="L - 1")
    owner: Counts = field("i8[T, L]", "the leaf that owns a slot, -1 if none does", start=-1.0, largest="N - 1")
    last: Counts = field("i8[T, N]", "row of the tree that last reached a leaf")
    born: Counts = field("i8[T, N]", "row of the tree at which a node became a leaf, or was split")
    alternate: Counts = field("i8[T, N]", "root of an inner node's alternate subtree, -1", start=-1.0, largest="N - 1")
    rows: Counts = field("i8[T, 1]", "rows that the tree has learned")
    splits: Counts = field("i8[T, 1]", "splits so far")
    removed: Counts = field("i8[T, 1]", "leaves removed so far to make room")


@fragment
def has_begun(nodes: Nodes) -> bool:
    """Whether the tree has a root."""
    return nodes.feature[0] != FREE


@fragment
def child_of(nodes: Nodes, i: int, x: Array) -> int:
    """Return the child of inner node i to which a row goes. Shapes: x f8[d]."""
    tested, d = nodes.feature[i], x.shape[0]
    if tested < d:
        return nodes.left[i] + (0 if x[tested] < nodes.threshold[i] else 1)
    return nodes.left[i] + (0 if x[tested - d] == nodes.threshold[i] else 1)


@fragment
def leaf_of(nodes: Nodes, x: Array, i: int) -> int:
    """Return the leaf below node i that a row reaches. Shapes: x f8[d]."""
    for _ in range(DEEPEST + 1):
        if nodes.feature[i] < 0:
            break
        i = child_of(nodes, i, x)
    return i


@kernel
def depth_of(nodes: Nodes, i: int) -> int:
    """Return how many nodes are above node i."""
    depth = 0
    while depth < DEEPEST and nodes.parent[i] >= 0:
        i = nodes.parent[i]
        depth += 1
    return depth


@kernel
def free_slot(nodes: Nodes) -> int:
    """Return the first slot that no leaf owns; there is one wherever a pair of nodes is free."""
    for s in range(nodes.owner.shape[0]):
        if nodes.owner[s] < 0:
            return s
    return -1


@kernel
def free_pair(nodes: Nodes) -> int:
    """Return the left node of the first free pair, or -1."""
    for left in range(1, nodes.feature.shape[0], 2):
        if nodes.feature[left] == FREE:
            return left
    return -1


@fragment
def is_alternate(nodes: Nodes, i: int) -> bool:
    """Whether node i is the root of an alternate subtree."""
    return nodes.parent[i] >= 0 and nodes.alternate[nodes.parent[i]] == i


@kernel
def stale_leaf(nodes: Nodes) -> int:
    """Return the leaf that rows have not reached for longest, or -1 if rows still reach all; never the root."""
    found, oldest = -1, nodes.rows[0] - STALE * nodes.owner.shape[0]
    for i in range(1, nodes.feature.shape[0]):
        if nodes.feature[i] == LEAF and nodes.last[i] < oldest and not is_alternate(nodes, i):
            found, oldest = i, nodes.last[i]
    return found


@kernel
def begin_tree(nodes: Nodes) -> int:
    """Make the tree a single leaf, whose slot is returned."""
    for i in range(nodes.feature.shape[0]):
        nodes.feature[i] = FREE
        nodes.slot[i] = nodes.parent[i] = nodes.alternate[i] = -1
    for s in range(nodes.owner.shape[0]):
        nodes.owner[s] = -1
    return make_leaf(nodes, 0, -1, 0)


@kernel
def reset(nodes: Nodes) -> None:
    """Empty a tree; the next row that it learns begins a new one."""
    nodes.feature[0] = FREE
    nodes.slot[0] = -1


@kernel
def make_leaf(nodes: Nodes, i: int, parent: int, slot: int) -> int:
    """Make node i a leaf that owns the slot, which is returned."""
    nodes.feature[i], nodes.parent[i], nodes.slot[i], nodes.last[i] = LEAF, parent, slot, nodes.rows[0]
    nodes.owner[slot], nodes.born[i] = i, nodes.rows[0]
    return slot


@kernel
def split_leaf(nodes: Nodes, leaf: int, tested: int, threshold: float, reserve: int) -> int:
    """Split a leaf, whose left child keeps its slot; return that of the right one, or -1 if there is no room.

    `reserve` as in `room_for_two`.
    """
    if depth_of(nodes, leaf) >= DEEPEST:
        return -1
    kept, left = nodes.slot[leaf], room_for_two(nodes, reserve)
    if kept < 0 or left < 0:
        return -1
    i, new = nodes.owner[kept], free_slot(nodes)  # making room may have moved the leaf
    if new < 0:
        return -1
    nodes.feature[i], nodes.threshold[i], nodes.left[i], nodes.slot[i] = tested, threshold, left, -1
    nodes.born[i] = nodes.rows[0]
    make_leaf(nodes, left, i, kept)
    make_leaf(nodes, left + 1, i, new)
    nodes.splits[0] += 1
    return new


@kernel
def remove_leaf(nodes: Nodes, i: int) -> None:
    """Free a leaf that is not the root; its sibling takes the place of their parent."""
    parent, sibling = nodes.parent[i], i + 1 if i % 2 == 1 else i - 1
    free_node(nodes, i)
    if parent >= 0:
        if nodes.alternate[parent] >= 0:
            free_subtree(nodes, nodes.alternate[parent])
        move_node(nodes, sibling, parent)
        nodes.removed[0] += 1


@kernel
def move_node(nodes: Nodes, i: int, place: int) -> None:
    """Move a node, with all below it, to the place of another one, which has no children any more."""
    slot, feature, left, alternate = nodes.slot[i], nodes.feature[i], nodes.left[i], nodes.alternate[i]
    threshold, last, born = nodes.threshold[i], nodes.last[i], nodes.born[i]
    free_node(nodes, i)
    nodes.feature[place], nodes.threshold[place], nodes.left[place] = feature, threshold, left
    nodes.slot[place], nodes.last[place], nodes.born[place], nodes.alternate[place] = slot, last, born, alternate
    if slot >= 0:
        nodes.owner[slot] = place
    if feature >= 0:
        nodes.parent[left] = nodes.parent[left + 1] = place
    if alternate >= 0:
        nodes.parent[alternate] = place


@kernel
def free_subtree(nodes: Nodes, i: int) -> None:
    """Free a node and all below it."""
    free_node(nodes, i)
    found = True
    while found:
        found = False
        for k in range(1, nodes.feature.shape[0]):
            if nodes.feature[k] != FREE and nodes.parent[k] >= 0 and nodes.feature[nodes.parent[k]] == FREE:
                free_node(nodes, k)
                found = True


@kernel
def begin_alternate(nodes: Nodes, i: int) -> int:
    """Give inner node i an alternate subtree, of one leaf, and return that; -1 if there is no room."""
    left, slot = free_pair(nodes), free_slot(nodes)
    if left < 0 or slot < 0:
        return -1
    make_leaf(nodes, left, i, slot)
    nodes.alternate[i] = left
    return left


@kernel
def end_alternate(nodes: Nodes, i: int, replace: bool) -> None:
    """Free the alternate subtree of node i, or everything below the node, whose place the subtree takes."""
    alternate = nodes.alternate[i]
    nodes.alternate[i] = -1
    if not replace:
        free_subtree(nodes, alternate)
        return
    left = nodes.left[i]
    free_subtree(nodes, left)
    free_subtree(nodes, left + 1)
    move_node(nodes, alternate, i)


@kernel
def free_pairs(nodes: Nodes) -> int:
    """Return how many pairs of nodes are free."""
    found = 0
    for left in range(1, nodes.feature.shape[0], 2):
        found += nodes.feature[left] == FREE
    return found


@kernel
def room_for_two(nodes: Nodes, reserve: int) -> int:
    """Return the left node of a free pair, or -1 unless more than `reserve` are free or become so.

    To make room, the stalest leaf is removed, if there is one.
    """
    if free_pairs(nodes) <= reserve:
        stale = stale_leaf(nodes)
        if stale < 0:
            return -1
        remove_leaf(nodes, stale)
    return free_pair(nodes)


@kernel
def free_node(nodes: Nodes, i: int) -> None:
    """Free a node, and its slot if it has one."""
    if nodes.slot[i] >= 0:
        nodes.owner[nodes.slot[i]] = -1
    nodes.feature[i] = FREE
    nodes.slot[i] = nodes.parent[i] = nodes.alternate[i] = -1
