"""Several learners in one buffer, called inside one compiled loop, equal separate learners bit for bit."""

from __future__ import annotations

import math

import numpy as np
import pytest

from driftway import learners
from driftway.learners.engine.jit import kernel, member
from driftway.learners.ensembles.stacked_states import StackedStates

D, M, N = 5, 4, 400


def over_members(rule):
    """Return the loop of a minimal ensemble: every member scores every row and learns those shown to it."""
    score, learn = rule.score, rule.learn

    def run(rows, y, shown, scores, parameters, memory):
        for t in range(rows.shape[0]):
            for m in range(shown.shape[1]):
                one = member(memory, m)
                margin = score(rows[t], parameters, one)
                scores[t, m] = margin if math.isfinite(margin) else 0.0
                if shown[t, m] > 0.0:
                    learn(rows[t], 2.0 * y[t] - 1.0, 1.0, margin, parameters, one)

    return kernel(run)


def stream():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(N, D))
    return X, (X[:, 0] + 0.3 * rng.normal(size=N) > 0).astype(float), (rng.random((N, M)) < 0.6).astype(float)


def ensemble(name):
    members = StackedStates(learners.create(name, D), M)
    states = members.initial_states.copy()
    return members, states, members.views(states)


@pytest.mark.parametrize("name", ["pa1", "arow", "dfop", "d_odm", "online_odm", "restarted_odm"])
def test_members_have_the_bits_of_separate_learners(name):
    X, y, shown = stream()
    members, states, memory = ensemble(name)
    rows, scores = members.prototype._prepare(X), np.empty((N, M))
    over_members(members.rule)(rows, y, shown, scores, members.rule.parameters, memory)
    for m in range(M):
        apart, alone = members.create_member(m), np.empty((N, 1))
        apart.predict_then_update(X, np.where(shown[:, m] > 0, y, np.nan), alone)
        assert (scores[:, m] == alone[:, 0]).all()
        assert (states[m] == apart.state.memory.view(np.float64)).all()


def test_a_row_of_fresh_states_resets_a_member():
    X, y, shown = stream()
    members, states, memory = ensemble("arow")
    run = over_members(members.rule)
    run(members.prototype._prepare(X), y, shown, np.empty((N, M)), members.rule.parameters, memory)
    before = states.copy()
    states[2] = members.initial_states[2]
    assert (memory.weight[2] == 0.0).all()
    assert (states[[0, 1, 3]] == before[[0, 1, 3]]).all()


def test_members_with_a_seed_differ():
    seeds = {tuple(row) for row in ensemble("restarted_odm")[0].initial_states}
    assert len(seeds) == M


def test_reset_keeps_the_memory_and_restores_the_initial_state():
    X, y, _ = stream()
    learner = learners.create("arow", D)
    learner.move_state_to(np.zeros(learner.state.nbytes, np.uint8))
    memory = learner.state.memory
    learner.predict_then_update(X, y, np.empty((N, 1)))
    learner.reset()
    assert learner.state.memory is memory
    assert (memory == learner.clone_empty().state.memory).all()
