"""`auto` on targets."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

from tests.support.oracle.auto.bulk import Bulk
from tests.support.oracle.auto.experts import Window
from tests.support.oracle.auto.forests import TargetForest, Usage
from tests.support.oracle.auto.network import Network, errors_of_targets, replays
from tests.support.oracle.auto.stacking import Stacking, bounded
from tests.support.oracle.auto.values import TargetValues
from tests.support.oracle.least_squares import DFOP
from tests.support.oracle.protocol import inner


class Scale:
    """Mean and deviation of targets, and the deviation of their changes."""

    def __init__(self):
        self.rows, self.mean, self.squares, self.changes = 0, 0.0, 0.0, 0.0

    def deviation(self, squares):
        return sqrt(squares / self.rows) if self.rows and squares > 0.0 else 1.0

    def learn(self, y, change):
        self.rows += 1
        self.changes += change**2
        away = y - self.mean
        self.mean += away / self.rows
        self.squares += away * (y - self.mean)


def scale_of(targets):
    """The scale of targets with their changes, of which the first does not count."""
    scale = Scale()
    for i, (target, change) in enumerate(targets):
        scale.learn(target, change if i else 0.0)
    return scale


class Past:
    """The last five targets, newest first, and their scale; a target beyond `reach` deviations is wild.

    Wild targets are left out of the scale and start a trial, a list of all targets from then on. Once wild ones lead by
    five, the scale is recomputed from the trial, which then ends; it also ends once both kinds are equally many.

    Until the scale counts 1,024 targets, those since the last trial or look are recent. A look, at 32 targets, 64 and
    so on, takes the scale of at least 16 of them if its variance is below a millionth, and not 0, and less than a tenth
    of all targets is far away.
    """

    def __init__(self):
        self.scale, self.trial, self.last = Scale(), [], [0.0] * 5
        self.reach, self.after_wild, self.recent = 20.0, False, []

    def of_levels(self):
        return self.scale.deviation(self.scale.squares)

    def of_changes(self):
        return self.scale.deviation(self.scale.changes)

    def level(self, y):
        return (y - self.scale.mean) / self.of_levels()

    def wild(self, y):
        return self.scale.rows >= 5 and abs(y - self.scale.mean) > self.reach * self.of_levels()

    def row(self, z):
        """The features, a constant 1, the last target, and the last four changes."""
        changes = [(a - b) / self.of_changes() for a, b in zip(self.last, self.last[1:], strict=False)]
        return [*z, bounded(self.level(self.last[0]), 10.0), *(bounded(change, 6.0) for change in changes)]

    def lost(self):
        """Whether the last target was wild and wild ones lead by two, so that only the last target is informative."""
        return self.after_wild and self.balance() > 1

    def balance(self):
        return sum(1 if wild else -1 for _, wild in self.trial)

    def learn(self, y, before):
        """`before`: the last target that was known when y was forecast."""
        wild, change = self.wild(y), y - before
        if self.scale.rows == 0:
            self.last, change = [y] * 5, 0.0
        if wild:
            self.reach *= 1.0 if self.trial else 4.0
        else:
            self.scale.learn(y, 0.0 if self.after_wild else change)
            self.reach = max(self.reach * (1.0 - 1.0 / 4096.0), 20.0)
        self.after_wild, replaced = wild, False
        if wild or self.trial:
            self.recent = []
            self.trial.append(((y, change), wild))
            replaced = self.balance() == 5
            if replaced:
                self.scale, self.after_wild = scale_of([target for target, _ in self.trial]), False
            if self.balance() in (0, 5):
                self.trial = []
        elif self.scale.rows <= 1024:
            self.recent.append((y, change))
            if self.scale.rows in (32, 64, 128, 256, 512, 1024):
                recent, self.recent = scale_of(self.recent), []
                away, variance = self.scale.mean - recent.mean, self.scale.squares / self.scale.rows
                smaller = recent.squares > 0.0 and variance > 1e6 * (recent.squares / recent.rows)
                replaced = recent.rows >= 16 and smaller and variance > 10.0 * away**2
                self.scale = recent if replaced else self.scale
        self.last = [y, *self.last[:4]]
        return replaced


class Steps:
    """Steps along the row towards the target."""

    def __init__(self, d, rate):
        self.w, self.rate = [0.0] * d, rate

    def say(self, x):
        return inner(self.w, x)

    def learn(self, x, y):
        step = self.rate * (y - self.say(x)) / inner(x, x)
        self.w = [p + step * q for p, q in zip(self.w, x, strict=True)]


class LeastSquares:
    """`dfop` with a fixed forgetting factor."""

    def __init__(self, d, keep):
        self.inner = DFOP(d, 0, "regression", mu=0.0, intercept=False)
        self.inner.forgetting = keep

    def say(self, x):
        return self.inner.score(x)[0]

    def learn(self, x, y):
        self.inner.learn(x, y)


class BlockLeastSquares:
    """Least squares in blocks of columns that share one error and one step, but each learn their own P."""

    def __init__(self, d, keep):
        self.count = -(-d * d // 45_000)
        width = -(-d // self.count)
        self.spans = [slice(start, min(start + width, d)) for start in range(0, d, width)]
        self.keep, self.experts = keep, [LeastSquares(span.stop - span.start, keep) for span in self.spans]
        b, j = divmod(d - 5, width)  # behind the last target are four changes
        self.experts[b].inner.P[j][j] = 100.0

    def follow(self, ratio, shift):
        """Keep what is forecast, after y deviations have become ratio y + shift."""
        width = self.spans[0].stop
        (a, i), (b, j) = divmod(self.spans[-1].stop - 6, width), divmod(self.spans[-1].stop - 5, width)
        of_last = self.experts[b].inner.w[j]
        for expert in self.experts:
            expert.inner.w = [bounded(w * ratio, 1e100) for w in expert.inner.w]
        self.experts[b].inner.w[j] = of_last
        self.experts[a].inner.w[i] += (1.0 - of_last) * shift

    def say(self, x):
        return sum(expert.say(x[span]) for expert, span in zip(self.experts, self.spans, strict=True))

    def learn(self, x, y):
        error = y - self.say(x)
        spreads = []
        for expert, span in zip(self.experts, self.spans, strict=True):
            spreads.append(inner(x[span], [inner(row, x[span]) for row in expert.inner.P]))
        for expert, span, spread in zip(self.experts, self.spans, spreads, strict=True):
            # Alone, a block would step by error / (keep + its own spread).
            part = error * (self.keep + spread) / (self.keep + sum(spreads))
            expert.learn(x[span], expert.say(x[span]) + part)


def with_products(z, u):
    """u, preceded by half the products of features; with more than 12 features, half their squares only."""
    x = z[:-1]
    pairs = [(i, j) for i in range(len(x)) for j in range(i + 1)] if len(x) <= 12 else [(i, i) for i in range(len(x))]
    return [0.5 * x[i] * x[j] for i, j in pairs] + u


class Forests:
    """The second mixture: the first one's forecast, five forests and both forecasts of a network."""

    def __init__(self, seed, bulk, network):
        n = len(bulk.last)
        kinds = [range(1, 1 + n), range(1, 4 + n), range(1, 4 + n), range(1 + n), range(1, 4 + n)]
        self.forests = [TargetForest(seed + i, columns, n) for i, columns in enumerate(kinds)]
        self.network, self.spread = Network(n + 5, 2, seed + 5, errors_of_targets) if network else None, 1.0
        E = 8 if network else 6
        self.stacking, self.usage, self.bulk = Stacking(E), Usage(0.01, 0), bulk
        self.stacking.share = [1.0] + [0.0] * (E - 1)

    def inputs(self, z, past, first):
        return [*self.bulk.row(z), 1.0, first, *(bounded(past.level(y), 10.0) for y in past.last[:3])]

    def bins(self, z, past, first):
        last = [bounded(past.level(y), 10.0) for y in past.last[:3]]
        of_targets = Bulk(4).bins([first, *last], TargetForest.BINS)
        return [of_targets[0], *self.bulk.bins(z, TargetForest.BINS), *of_targets[1:]]

    def said(self, z, past, first, last):
        level, history, change, left, left_history = (f.say(self.bins(z, past, first)) for f in self.forests)
        ratio = past.of_changes() / past.of_levels()
        said = [first, level, history, last + ratio * change, first + left, first + left_history]
        if self.network:
            of_network, left = self.network.say(self.inputs(z, past, first))
            said += [of_network, first + self.spread * left]
        return said

    def score(self, z, past, first, last):
        return self.stacking.say(self.said(z, past, first, last)) if self.usage.used else first

    def learn(self, z, past, first, last, level, change, cached):
        """`cached`: what all of them said when the row was forecast, if its target is late."""
        said = self.said(z, past, first, last) if self.usage.used else None
        judged = said if cached is None else cached.of_forests
        then = both = first if cached is None else cached.first
        if judged is not None:
            both = self.stacking.say(judged)
            self.stacking.learn(judged, level, late=cached is not None)
        if self.usage.used:
            bins = self.bins(z, past, first)
            for forest, y in zip(self.forests, (level, level, change, level - first, level - first), strict=True):
                forest.learn(bins, y)
            if self.network:
                self.network.learn(self.inputs(z, past, first), [level, (level - first) / self.spread])
                square = self.spread**2 + max(1.0 / self.network.rows, 0.001) * ((level - first) ** 2 - self.spread**2)
                self.spread = sqrt(max(square, 1e-9))
        self.usage.judge((level - then) ** 2, (level - both) ** 2)


@dataclass
class Cached:
    """What is kept of a row whose target is not known yet."""

    last: list
    of_experts: list
    of_forests: list | None
    of_values: list | None
    first: float = 0.0


class Targets:
    """All experts and the mixtures, on scaled rows."""

    def __init__(self, n, affordable, seed):
        u, keeps = n + 6, (1.0, 0.999, 0.98)
        q = u + (n * (n + 1) // 2 if n <= 12 else n)
        blocks, values = -(-u * u // 45_000), 60 * n + 15 * min(n, 16) * (min(n, 16) - 1)
        in_blocks = 2 * blocks * (-(-u // blocks)) ** 2
        squares, network = 6 * u**2 + 6 * (n + 1) ** 2 - in_blocks, (1 + replays(n + 5)) * (45 * (n + 5) + 1900)
        wide, squares, curves, near, forests, network, values = affordable(
            [in_blocks, squares, 4 * q**2, 512 * n, 5 * 15 * (100 + 8 * 12), network, values],
            [2.5, 2.5, 2.5, 1.0, 2.5, 0.6, 0.3],
        )
        wide = wide and not squares
        self.past = Past()
        self.on_changes = [Steps(u, 0.05), Steps(u, 0.3)]
        self.on_changes += [LeastSquares(u, keep) for keep in keeps] if squares else []
        self.on_curves = [LeastSquares(q, keep) for keep in keeps[:2]] if curves else []
        self.on_levels = [LeastSquares(n + 1, keep) for keep in keeps] if squares else []
        self.wide = BlockLeastSquares(u, 0.999) if wide else None
        self.window = Window() if near else None
        # Neighbours correct the expert on changes with most inputs and a memory of a thousand rows, or the wide one.
        before = 2 + len(self.on_changes)
        self.best = before + 1 if curves else 5 if squares else 3 + wide
        E = 2 + len(self.on_changes) + len(self.on_curves) + len(self.on_levels) + wide + near
        self.stacking = Stacking(E)
        self.bulk = Bulk(n)
        self.forests = Forests(seed, self.bulk, network) if forests else None
        self.values, self.raw = TargetValues(n + 1, Stacking(5)) if values else None, []

    def said(self, z):
        past, u = self.past, self.past.row(z)
        last, ratio = past.level(past.last[0]), past.of_changes() / past.of_levels()
        said = [0.0, last]
        said += [last + ratio * expert.say(u) for expert in self.on_changes]
        said += [last + ratio * expert.say(with_products(z, u)) for expert in self.on_curves]
        said += [self.wide.say(u)] if self.wide else []
        said += [expert.say(z) for expert in self.on_levels]
        if self.window:
            said.append(said[self.best] + self.by_neighbours(z) / past.of_levels())
        return said

    def by_neighbours(self, z):
        """Mean residual of the best expert over the nearest rows."""
        return sum(self.window.nearest(z)) / 5 if self.window.taken >= 25 else 0.0

    def score(self, z):
        if self.past.lost():
            return [self.past.last[0]]
        row = [*self.bulk.row(z), 1.0]
        forecast = self.others(z, self.said(row))
        if self.values:
            forecast = self.values.score(row, self.raw, forecast)
        return [forecast * self.past.of_levels() + self.past.scale.mean]

    def others(self, z, said):
        """The forecast of all experts but those on single values."""
        forecast = self.stacking.say(said)
        return self.forests.score(z, self.past, forecast, bounded(said[1], 10.0)) if self.forests else forecast

    def cache(self, z):
        """What all experts say of a row whose target is not known yet, and the last targets if there are any."""
        row = [*self.bulk.row(z), 1.0]
        past, said = self.past, self.said(row)
        of_values = self.values.said(row, self.raw, self.others(z, said)) if self.values else None
        of_forests = None
        if self.forests and self.forests.usage.used:
            of_forests = self.forests.said(z, past, self.stacking.say(said), bounded(said[1], 10.0))
        return Cached(list(past.last) if past.scale.rows else [], said, of_forests, of_values)

    def learn_late(self, z, y, cached):
        # The experts learn what follows from targets as old as those that they will forecast from.
        latest, self.past.last = self.past.last, cached.last or self.past.last
        self.learn(z, y, cached, latest)

    def learn(self, z, y, cached=None, latest=None):
        y = bounded(y, 1e100)
        if not self.past.wild(y) and not self.past.after_wild and self.past.scale.squares > 0.0:
            self.teach(z, y, cached)
        before, self.past.last = self.past.last[0], latest or self.past.last
        wild, known = self.past.wild(y), self.past.scale.squares > 0.0
        mean, deviation = self.past.scale.mean, self.past.of_levels()
        replaced = self.past.learn(y, before)
        if self.wide and known and not wild and not replaced:
            after = self.past.of_levels()
            self.wide.follow(deviation / after, (mean - self.past.scale.mean) / after)

    def teach(self, z, y, cached):
        row = [*self.bulk.row(z), 1.0]
        past, u, said = self.past, self.past.row(row), self.said(row)
        level = bounded(past.level(y), 10.0)
        change = bounded((level - bounded(said[1], 10.0)) * past.of_levels() / past.of_changes(), 10.0)
        judged = cached.of_experts if cached else said
        if self.values:
            self.values.learn(row, self.raw, self.others(z, said), level, [cached.of_values] if cached else None)
        if cached:
            cached.first = self.stacking.say(judged)
            if cached.of_forests:
                cached.of_forests[0] = cached.first
        if self.forests:
            self.forests.learn(z, past, self.stacking.say(said), bounded(said[1], 10.0), level, change, cached)
        self.stacking.learn(judged, level, late=cached is not None)
        if self.window:
            self.window.keep(row, (level - bounded(said[self.best], 10.0)) * past.of_levels())
        for expert in self.on_changes:
            expert.learn(u, change)
        for expert in self.on_curves:
            expert.learn(with_products(row, u), change)
        for expert in self.on_levels:
            expert.learn(row, level)
        if self.wide:
            self.wide.learn(u, level)
