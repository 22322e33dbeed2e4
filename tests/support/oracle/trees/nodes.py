"""Nodes as objects: what trees for classes and for targets have in common."""

from __future__ import annotations

STALE, DEEPEST = 50, 64


class Node:
    """A leaf, until it is given a test and children."""

    def __init__(self, parent, columns):
        self.parent, self.columns = parent, columns
        self.children = None
        self.rows, self.waiting, self.last = [], 0.0, 0

    def goes_left(self, x):
        j, nominal, value = self.test
        return x[j] == value if nominal else x[j] < value

    def depth(self):
        return 0 if self.parent is None else 1 + self.parent.depth()

    @property
    def weight(self):
        return sum(w for _, _, w in self.rows)


class Tree:
    """A tree that grows; `leaf(parent)` of a subclass makes its leaves."""

    def __init__(self, d, nominal, grace, delta, tie, most, q=None, m=None, rng=None):
        self.d, self.nominal, self.grace, self.delta, self.tie, self.most = d, nominal, grace, delta, tie, most
        self.q, self.m, self.rng = q or d, m or q or d, rng
        self.cut_down()

    def cut_down(self):
        self.root, self.time = None, 0

    def draw(self, items, m):
        items = list(items)
        for a in range(m if m < len(items) else 0):
            b = a + self.rng.randint(len(items) - a)
            items[a], items[b] = items[b], items[a]
        return items[:m]

    def plant(self):
        self.time = 0
        self.pool = self.draw(range(self.d), self.q)
        self.root = Node(None, self.draw(self.pool, self.m))

    def find(self, x):
        node = self.root
        while node is not None and node.children:
            node = node.children[0 if node.goes_left(x) else 1]
        return node

    def below(self, node):
        """All nodes of a subtree."""
        return [node, *(one for child in node.children or () for one in self.below(child))]

    def leaves(self):
        return [one for one in self.below(self.root) if not one.children]

    def make_room(self):
        """Remove the leaf that was reached longest ago, if the tree is full; return False if rows still reach all."""
        if len(self.leaves()) < self.most:
            return True
        oldest = min(self.leaves(), key=lambda one: one.last)
        if oldest.parent is None or oldest.last >= self.time - STALE * self.most:
            return False
        parent = oldest.parent
        (sibling,) = [one for one in parent.children if one is not oldest]
        sibling.parent = parent.parent
        if parent.parent is None:
            self.root = sibling
        else:
            parent.parent.children = [sibling if one is parent else one for one in parent.parent.children]
        return True

    def learn(self, seen, y, weight):
        leaf = self.find(seen.x)
        if self.root is None:
            self.plant()
            leaf = self.root
            self.begin(leaf, y)
        self.time += 1
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
        for expected in expectations:
            child = Node(leaf, self.draw(self.pool, self.m))
            child.last = self.time
            leaf.children.append(child)
            self.expect(child, leaf, expected)
        leaf.rows = []
