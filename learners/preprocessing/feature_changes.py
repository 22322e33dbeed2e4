"""Features added to a learner and dropped from it, with what it has learned of the others kept.

A learner of `BY_FEATURE` has in its arrays one part for each feature, along the axes that its declaration calls d or n,
and nothing about features elsewhere. So a feature that is dropped takes its part along, and one that is added begins
with the part of a new learner: while it is 0, scores are those of before, bit for bit.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from driftway.learners.contract import Learner
from driftway.learners.engine.state_layout import field_specs
from driftway.learners.preprocessing.standardizer import OnlineStandardizer, Statistics, statistics_in
from driftway.learners.preprocessing.wrapper import Wrapper

Columns = Sequence[int | None]
"""For each feature of the learner that goes on its number among those before; None: it is new."""

BY_FEATURE = frozenset((
    "perceptron", "pa", "pa1", "pa2", "pa_regressor", "pa1_regressor", "pa2_regressor", "ogd_hinge", "ogd_logistic",
    "ogd_square", "ogd_huber", "pegasos", "averaged_perceptron", "alma", "romma", "aromma", "restarted_ogd",
    "truncated_gradient", "fobos_l1", "rda_l1", "ftrl_proximal", "arow", "cw", "cw_stdev", "scw1", "scw2", "nherd",
    "narow", "arow_regressor", "csogd1", "csogd2", "acog", "rls", "dfop", "bayes_linear", "bayes_probit",
    "mc_perceptron_max", "mc_perceptron_uniform", "mc_perceptron_sim", "mc_ogd", "mc_softmax", "mc_pa", "mc_pa1",
    "mc_pa2", "mc_romma", "mc_aromma", "mc_cw", "mc_cw_stdev", "mc_scw1", "mc_scw2", "mc_arow", "mc_nherd",
))  # fmt: skip
"""Learners of which that is true; the conformance tests check each."""

FORM = "form"
"""A covariance's axes: d, d or, of a diagonal one, d."""

UNSEEN = 1e200
"""Sum of squares of a feature that was never seen: it counts as 0 until recent statistics replace these."""


def can_change_features(learner: Learner) -> bool:
    """Whether a learner can continue with other features: it uses none, or its state has one part for each."""
    if not learner.uses_features:
        return True
    if isinstance(learner, Wrapper):
        return learner.by_feature and all(map(can_change_features, learner.behind))
    return learner.name in BY_FEATURE


def continue_with_features(learner: Learner, before: Learner, columns: Columns) -> None:
    """Let a new learner go on with what another one of its kind has learned of the features that stay.

    Both must be such that `can_change_features`. The online standardiser takes a new feature for 0 until its recent
    statistics know it, which takes up to 1,024 labelled rows.

    Parameters
    ----------
    learner : Learner
        The new one, which has learned nothing.
    before : Learner
        The one with the features before, which is not changed.
    columns : sequence of int or None
        See `Columns`.
    """
    if not isinstance(learner, Wrapper) or not isinstance(before, Wrapper):
        _carry(learner, before, columns)
        return
    if isinstance(learner, OnlineStandardizer):
        _carry_statistics(statistics_in(learner.state), statistics_in(before.state), columns)
    for one, other in zip(learner.behind, before.behind, strict=True):
        continue_with_features(one, other, columns)


def _carry(learner: Learner, before: Learner, columns: Columns) -> None:
    """Copy what stays of each array, by the axes that its declaration names."""
    for name, declared in field_specs(learner.rule().memory).items():
        if declared.in_state:
            ours, theirs = learner.state[name], before.state[name]
            words = declared.shape.split(", ")
            axes = [one for word in words for one in ["d"] * (1 + ours.ndim - len(words)) * (word == FORM) or [word]]
            places = [_places(axis, ours.shape[i], learner, before, columns) for i, axis in enumerate(axes)]
            ours[np.ix_(*(new for new, _ in places))] = theirs[np.ix_(*(old for _, old in places))]


def _places(
    axis: str, length: int, learner: Learner, before: Learner, columns: Columns
) -> tuple[Sequence[int], Sequence[int]]:
    """Which places along an axis stay, and where they were before; the last one along d may be the intercept."""
    if axis not in ("d", "n"):
        return range(length), range(length)
    pairs = [(new, old) for new, old in enumerate(columns) if old is not None]
    if length > learner.n_features:
        pairs.append((length - 1, before.width - 1))
    return [new for new, _ in pairs], [old for _, old in pairs]


def _carry_statistics(ours: Statistics, theirs: Statistics, columns: Columns) -> None:
    """Copy the statistics of features that stay; restart the recent ones, by which the new ones become known."""
    for counts, others in ((ours.rows, theirs.rows), (ours.skipped, theirs.skipped), (ours.replaced, theirs.replaced)):
        counts[:] = others
    for new, old in enumerate(columns):
        if old is not None:
            ours.mean[new], ours.squares[new] = theirs.mean[old], theirs.squares[old]
        elif ours.rows[0]:
            ours.squares[new] = UNSEEN
