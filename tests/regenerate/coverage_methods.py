"""Other ways to track a threshold of conformal scores, and how thresholds are judged; for docs/results/coverage.md.

They keep a window of scores, which a worker's state would have to hold, and know no late labels.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from driftway.learners.conformal.conformal import classes_of
from driftway.learners.contract import kernel

Array = NDArray[np.float64]

DTACI_STEPS = (0.001, 0.002, 0.004, 0.008, 0.016, 0.032, 0.064, 0.128)
"""Those of Gibbs and Candes 2024."""


def conformal_scores(score: Array, y: Array, n_classes: int) -> Array:
    """Conformal scores of labels: distance from the prediction, or how far the class is behind the best other one."""
    if not n_classes:
        distance: Array = np.abs(y - score[:, 0])
        return distance
    both = np.stack([np.zeros(len(y)), score[:, 0]], axis=1) if n_classes == 2 else score
    index, label = np.arange(len(y)), y.astype(int)
    others = both.copy()
    others[index, label] = -np.inf
    lag: Array = others.max(axis=1) - both[index, label]
    return lag


def sizes(score: Array, threshold: Array, n_classes: int) -> Array:
    """Widths of intervals, or numbers of classes in sets. Shapes: score f8[n, k], threshold f8[n]."""
    if not n_classes:
        return 2.0 * threshold
    return classes_of(score, threshold, n_classes).sum(axis=1).astype(float)


def pinball(scores: Array, threshold: Array, level: float) -> float:
    """Mean pinball loss of thresholds; the best fixed one is the quantile."""
    short = scores - threshold
    return float(np.where(short > 0.0, level * short, (level - 1.0) * short).mean())


def least_labels(level: float) -> int:
    """Labels before the first finite threshold."""
    return math.ceil(level / (1.0 - level) - 1e-9)


def tracked(scores: Array, level: float, step: float) -> Array:
    """One threshold on the axis of `learners/conformal`, moved by a fixed step (signed scores: of their median)."""
    out, signed = np.empty(len(scores)), bool((scores < 0.0).any())
    track_on_axis(scores, level, step, least_labels(level), signed, out)
    return out


def pid(scores: Array, level: float, step: float) -> Array:
    """Quantile tracking: the P of conformal PID control, with a step of `step` times the largest of 100 scores."""
    out = np.empty(len(scores))
    track_in_steps(scores, level, step, least_labels(level), np.zeros(100), out)
    return out


def aci(scores: Array, level: float, steps: tuple[float, ...], window: int) -> Array:
    """ACI on the quantile of a window of scores; with several steps DtACI, whose experts' mean is used."""
    out = np.empty(len(scores))
    memory = np.empty((2, window + 1))
    follow_level(scores, level, np.array(steps), least_labels(level), memory, np.empty((2, len(steps))), out)
    return out


@kernel
def track_on_axis(scores: Array, level: float, step: float, least: int, signed: bool, out: Array) -> None:
    """Shapes: scores, out f8[n]."""
    place, scale, largest = 0.0, 0.0, -math.inf
    for t in range(scores.shape[0]):
        score = scores[t]
        if t < least:
            out[t], largest = math.inf, max(largest, score)
        elif signed:
            out[t] = math.copysign((math.exp(abs(place)) - 1.0) * scale, place)
        else:
            out[t] = math.exp(place)
        if signed and score != 0.0:
            scale = abs(score) if scale == 0.0 else scale * (1.05 if abs(score) > scale else 1.0 / 1.05)
        if t >= least:
            place += step * level if score > out[t] else step * (level - 1.0)
        elif t == least - 1:
            if signed:
                place = math.copysign(math.log(1.0 + abs(largest) / max(scale, 1e-300)), largest)
            else:
                place = math.log(max(largest, 1e-300))


@kernel
def track_in_steps(scores: Array, level: float, step: float, least: int, recent: Array, out: Array) -> None:
    """Shapes: scores, out f8[n], recent f8[w]."""
    threshold, w = -math.inf, recent.shape[0]
    for t in range(scores.shape[0]):
        out[t] = math.inf if t < least else threshold
        recent[t % w] = abs(scores[t])
        if t < least:
            threshold = max(threshold, scores[t])
            continue
        largest = 0.0
        for k in range(w):
            largest = max(largest, recent[k])
        threshold += step * largest * (level if scores[t] > threshold else level - 1.0)


@kernel
def follow_level(
    scores: Array, level: float, steps: Array, least: int, memory: Array, experts: Array, out: Array
) -> None:
    """Shapes: scores, out f8[n], steps f8[E], memory f8[2, window + 1], experts f8[2, E]: miscoverage and weight."""
    order, recent = memory[0], memory[1]
    window, E, alpha, n = memory.shape[1] - 1, steps.shape[0], 1.0 - level, 0
    span = 500.0
    rate = math.sqrt(3.0 / span) * math.sqrt(math.log(E * span) + 2.0) / (alpha * level)
    for e in range(E):
        experts[0, e], experts[1, e] = alpha, 1.0 / E
    for t in range(scores.shape[0]):
        score = scores[t]
        below = 0
        while below < n and order[below] < score:
            below += 1
        if t < least:
            out[t] = math.inf
        else:
            mean = 0.0
            for e in range(E):
                mean += experts[0, e] * experts[1, e]
            out[t] = quantile(order, n, 1.0 - mean)
            beta, total = 1.0 - below / (n + 1.0), 0.0
            for e in range(E):
                miss = 1.0 if (score > out[t] if E == 1 else beta < experts[0, e]) else 0.0
                apart = beta - experts[0, e]
                experts[1, e] *= math.exp(-rate * (alpha * apart - min(0.0, apart))) if E > 1 else 1.0
                total += experts[1, e]
                experts[0, e] += steps[e] * (alpha - miss)
            for e in range(E):
                experts[1, e] = (1.0 - 0.5 / span) * experts[1, e] / total + 0.5 / span / E
        if n == window:
            leaving, k = recent[t % window], 0
            while order[k] != leaving:
                k += 1
            for j in range(k, n - 1):
                order[j] = order[j + 1]
            n -= 1
            below -= 1 if leaving < score else 0
        for j in range(n, below, -1):
            order[j] = order[j - 1]
        order[below] = score
        recent[t % window] = score
        n += 1


@kernel
def quantile(order: Array, n: int, share: float) -> float:
    """Interpolated quantile of n ordered scores, at most once their range beyond them. Shape: order f8[n or more]."""
    place, spread = share * (n + 1), order[n - 1] - order[0]
    if place > n:
        return order[n - 1] + spread * min(1.0, place - n)
    if place < 1.0:
        return order[0] - spread * min(1.0, 1.0 - place)
    k = int(place)
    return order[k - 1] + (place - k) * (order[min(k, n - 1)] - order[k - 1])


def saocp(scores: Array, level: float, lifetime: int = 8) -> Array:
    """SAOCP: short-lived experts of scale-free gradient descent, weighted by coin betting.

    Scores are bounded by three times the largest of the first 100.

    Source
    ------
    Bhatnagar, Wang, Xiong and Bai, ICML 2023, algorithms 1 and 2.
    """
    out, bound = np.empty(len(scores)), 3.0 * float(np.abs(scores[:100]).max())
    longest = lifetime * (2 + int(math.log2(len(scores) + 1)))
    bet_on_experts(scores, level, max(bound, 1e-300), lifetime, least_labels(level), np.zeros((longest, 6)), out)
    return out


START, PLACE, SQUARES, GAINS, STAKED, BET = range(6)


@kernel
def bet_on_experts(
    scores: Array, level: float, bound: float, lifetime: int, least: int, experts: Array, out: Array
) -> None:
    """Shapes: scores, out f8[n], experts f8[most, 6]: START 0 is a free place."""
    threshold, rate = 0.0, bound / math.sqrt(3.0)
    for t in range(1, scores.shape[0] + 1):
        born, total, prior_total, mean, prior_mean = False, 0.0, 0.0, 0.0, 0.0
        for e in range(experts.shape[0]):
            start = int(experts[e, START])
            if start > 0 and t >= start + lifetime * (start & -start):
                start = 0
            if start == 0 and not born:
                born, start = True, t
                for k in range(6):
                    experts[e, k] = 0.0
                experts[e, PLACE] = threshold
            experts[e, START] = start
            if start > 0:
                prior = 1.0 / (float(start) * start * (1.0 + math.floor(math.log2(start))))
                weight = prior * max(experts[e, BET], 0.0)
                total += weight
                mean += weight * experts[e, PLACE]
                prior_total += prior
                prior_mean += prior * experts[e, PLACE]
        threshold = mean / total if total > 0.0 else prior_mean / prior_total
        score = scores[t - 1]
        out[t - 1] = math.inf if t <= least else threshold
        short = score - threshold
        loss = max(level * short, (level - 1.0) * short)
        for e in range(experts.shape[0]):
            if experts[e, START] == 0.0:
                continue
            short = score - experts[e, PLACE]
            gain = (loss - max(level * short, (level - 1.0) * short)) / bound
            gain = gain if experts[e, BET] > 0.0 else max(gain, 0.0)
            experts[e, GAINS] += gain
            experts[e, STAKED] += gain * experts[e, BET]
            experts[e, BET] = experts[e, GAINS] * (1.0 + experts[e, STAKED]) / (t - experts[e, START] + 1.0)
            slope = level if short > 0.0 else level - 1.0
            experts[e, SQUARES] += slope * slope
            experts[e, PLACE] += rate * slope / math.sqrt(experts[e, SQUARES])
