"""Nodes as objects: what trees for classes and for targets have in common."""

from __future__ import annotations

STALE, DEEPEST = 50, 64


class Node:
    """A leaf, until it is given a test and children."""

    def __init__(self, parent, columns):
        self.parent, self.columns = parent, columns
        self.children = None
        self.rows, self.waiting, self.last = [], 0.0, 0
        self.adwin = self.alternate = None  # of trees with alternate subtrees

    def goes_left(self, x):
        j, nominal, value = self.test
        return x[j] == value if nominal else x[j] < value

    def depth(self):
        return 0 if self.parent is None else 1 + self.parent.depth()

    @property
    def weight(self):
        return sum(w for _, _, w in self.rows)


def better(gain, than):
    return gain > than + 1e-9 * abs(than)


def best_of(found):
    """The first clearly best of (gain, ..) of each test of a column; None if there is none."""
    best = None
    for one in found:
        if best is None or better(one[0], best[0]):
            best = one
    return best


def two_best(found, least):
    """The first clearly best of (gain, ..) of each column, above `least`, and the gain of the second best."""
    best, second = (least,), 0.0
    for one in filter(None, found):
        if better(one[0], best[0]):
            best, second = one, best[0]
        else:
            second = max(second, one[0])
    return (best, second) if len(best) > 1 else (None, second)


class Tree:
    """A tree that grows; `leaf(parent)` of a subclass makes its leaves."""

    def __init__(self, d, nominal, grace, delta, tie, most, q=None, m=None, rng=None):
        self.d, self.nominal, self.grace, self.delta, self.tie, self.most = d, nominal, grace, delta, tie, most
        self.q, self.m, self.rng = q or d, m or q or d, rng
        self.reserve = 0
        self.reset()

    def reset(self):
        self.root, self.time = None, 0

    def draw(self, items, m):
        items = list(items)
        for a in range(m if m < len(items) else 0):
            b = a + self.rng.randint(len(items) - a)
            items[a], items[b] = items[b], items[a]
        return items[:m]

    def begin_tree(self):
        self.time = 0
        self.pool = self.draw(range(self.d), self.q)
        self.root = Node(None, self.draw(self.pool, self.m))

    def find(self, x, node):
        while node.children:
            node = node.children[0 if node.goes_left(x) else 1]
        return node

    def below(self, node):
        """All nodes of a subtree, and of the alternates in it."""
        further = [*(node.children or ()), *([node.alternate] if node.alternate else ())]
        return [node, *(one for child in further for one in self.below(child))]

    def free(self):
        """Free pairs of nodes: each may hold two siblings, or the root of an alternate."""
        return self.most - 1 - sum(bool(one.children) + bool(one.alternate) for one in self.below(self.root))

    def make_room(self):
        """Remove the leaf that was reached longest ago, if the tree is full; return False if rows still reach all."""
        if self.free() > self.reserve:
            return True
        leaves = [one for one in self.below(self.root) if one.parent and one is not one.parent.alternate]
        stale = [one for one in leaves if not one.children and one.last < self.time - STALE * self.most]
        if not stale:
            return False
        parent = min(stale, key=lambda one: one.last).parent
        (sibling,) = [one for one in parent.children if one is not min(stale, key=lambda one: one.last)]
        self.take_place(sibling, parent)
        return True

    def take_place(self, node, of):
        """Put a node in the place of another one."""
        node.parent = of.parent
        if of.parent is None:
            self.root = node
        elif of.parent.alternate is of:
            of.parent.alternate, node.adwin = node, of.adwin
            return
        else:
            of.parent.children = [node if one is of else one for one in of.parent.children]
        node.adwin = None

    def learn(self, seen, y, weight=1.0):
        if self.root is None:
            self.begin_tree()
            self.begin(self.root, y)
        self.time += 1
        self.learn_below(self.root, seen, y, weight)

    def learn_below(self, node, seen, y, weight):
        leaf = self.find(seen.x, node)
        leaf.last = self.time
        self.learn_in(leaf, seen, y, weight)
        leaf.rows.append((seen, y, weight))
        leaf.waiting += weight
        if leaf.waiting >= self.grace:
            leaf.waiting = 0.0
            self.try_to_split(leaf, seen)

    def split(self, leaf, test, expectations):
        if leaf.depth() >= DEEPEST or not self.make_room():
            return
        leaf.test = test
        leaf.children = []
        if leaf.parent is None or leaf.parent.alternate is not leaf:
            leaf.adwin = None
        for expected in expectations:
            child = Node(leaf, self.draw(self.pool, self.m))
            child.last = self.time
            leaf.children.append(child)
            self.expect(child, leaf, expected)
        leaf.rows = []
