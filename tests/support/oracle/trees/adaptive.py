"""The tree with alternate subtrees: what becomes of a row after the tree has learned it."""

from __future__ import annotations

from math import log, sqrt

from tests.support.oracle.drift import ADWIN
from tests.support.oracle.trees.nodes import Node


class ErrorScale:
    def __init__(self):
        self.n, self.square = 0, 0.0

    def loss(self, off):
        root = 3.0 * sqrt(self.square)
        return min(abs(off) / root, 1.0) if root > 0.0 else float(off != 0.0)

    def add(self, off):
        self.n += 1
        square = off * off
        if self.n > 30 and self.square > 0.0:
            square = min(square, 100.0 * self.square)
        self.square += (square - self.square) * max(1.0 / self.n, 0.001)


class Watch:
    """The detectors of a tree, and its alternates; `says(node, seen)` and `loss(said, y)` come from the learner."""

    def __init__(self, tree, drift, says, loss):
        self.tree, self.drift, self.says, self.loss = tree, drift, says, loss

    def add(self, node, error):
        """Return whether errors have become more."""
        before = node.adwin.total / max(node.adwin.width, 1)
        found = node.adwin.update(min(max(error, 0.0), 1.0))
        return found == "drift" and node.adwin.total / max(node.adwin.width, 1) > before

    def walk(self, seen, y, error):
        """Show an error to each inner node on a row's path, and the row to their alternates."""
        node = self.tree.root
        while node.children:
            node.adwin = node.adwin or ADWIN(self.drift)
            if self.add(node, error) and node.alternate is None and self.tree.free() > 0:
                node.alternate = Node(node, self.tree.draw(self.tree.pool, self.tree.m))
                node.alternate.last, node.alternate.adwin = self.tree.time, ADWIN(self.drift)
                self.tree.begin(node.alternate, y)
            if node.alternate is not None:
                wrong = self.loss(self.says(seen, node.alternate), y)
                kept, self.tree.reserve = self.tree.reserve, 0
                self.tree.learn_below(node.alternate, seen, y, 1.0)
                self.tree.reserve = kept
                self.add(node.alternate, wrong)
                if self.settled(node):
                    return
            node = node.children[0 if node.goes_left(seen.x) else 1]
        node.adwin = node.adwin or ADWIN(self.drift)
        if self.add(node, error):
            node.columns = self.tree.draw(self.tree.pool, self.tree.m)
            node.rows, node.waiting = [], 0.0
            self.tree.begin(node, y)
            self.tree.learn_below(node, seen, y, 1.0)

    def settled(self, node):
        """Replace or drop what is worse; return whether the alternate has taken the node's place."""
        own, other = node.adwin, node.alternate.adwin
        if own.width <= 300 or other.width <= 300:
            return False
        mine, theirs = own.total / own.width, other.total / other.width
        bound = sqrt(2.0 * max(mine * (1.0 - mine), 0.0) * log(40.0) * (1.0 / own.width + 1.0 / other.width))
        if mine - theirs > bound:
            self.tree.take_place(node.alternate, node)
            return True
        if theirs - mine > bound:
            node.alternate = None
        return False
