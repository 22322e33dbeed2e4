"""The i.i.d. conversions against transcriptions that keep every hypothesis, and the draws themselves."""

from __future__ import annotations

import pytest

from driftway.learners.engine.parameters import ParameterError
from driftway.learners.online_to_batch import draws as draws_module
from driftway.learners.online_to_batch.draws import RandomRows
from driftway.learners.spec import Spec
from tests.support.oracle import batch as oracle
from tests.unit.learners.online_to_batch.rows import LINEAR, QUADRATIC, as_lists, finished, new_procedure, noisy

SEEDS = (0, 1, 2, 3, 4)
MULT = 3


def expected(function, problem, seed, base=oracle.Perceptron):
    S = as_lists(problem)
    return function(lambda: base(4), S, MULT * len(S), seed)


@pytest.fixture(params=[7, draws_module.SLICE], ids=["slices of 7", "slices of n"])
def _slices(request, monkeypatch):
    monkeypatch.setattr(draws_module, "SLICE", request.param)


@pytest.mark.usefixtures("_slices")
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", ["random-stopping", "longest-survival"])
def test_the_selected_hypothesis_equals_the_oracle(name, seed):
    problem = noisy(seed, 50)
    a = expected(getattr(oracle, name.replace("-", "_")), problem, seed)
    result = finished(problem, name, LINEAR, seed, mult=MULT).result()
    assert result.learner.state["weight"].tolist() == a.w
    assert result.report["errors"] == oracle.error(a, as_lists(problem))


@pytest.mark.parametrize("base", [oracle.Explicit, oracle.Dual])
@pytest.mark.parametrize("name", ["random-stopping", "longest-survival"])
def test_the_selected_quadratic_hypothesis_equals_the_oracle(name, base):
    problem = noisy(5, 50, curved=True)
    a = expected(getattr(oracle, name.replace("-", "_")), problem, 5, base)
    result = finished(problem, name, QUADRATIC, 5, mult=MULT).result()
    assert result.report["errors"] == oracle.error(a, as_lists(problem))


def test_a_last_run_without_a_mistake_counts():
    """Without noise, the last hypothesis survives longest, and no mistake ends it."""
    problem = noisy(1, 50, noise=0.0)
    result = finished(problem, "longest-survival", LINEAR, 1, mult=40).result()
    assert result.learner.state["weight"].tolist() == finished(problem, "average", LINEAR, 1, mult=40).weight.tolist()
    assert result.empirical_error == 0.0


@pytest.mark.usefixtures("_slices")
@pytest.mark.parametrize("seed", SEEDS)
def test_average_equals_its_oracle(seed):
    problem = noisy(seed, 50)
    weight = expected(oracle.average, problem, seed)
    result = finished(problem, "average", LINEAR, seed, mult=MULT).result()
    assert result.learner.state["weight"] == pytest.approx(weight, rel=1e-12, abs=1e-12)


@pytest.mark.usefixtures("_slices")
@pytest.mark.parametrize("seed", SEEDS)
def test_cutoff_average_equals_its_oracle(seed):
    problem = noisy(seed, 50)
    errors, k, weight = expected(oracle.cutoff_average, problem, seed)
    result = finished(problem, "cutoff-average", LINEAR, seed, mult=MULT).result()
    assert (result.report["errors"], result.report["k"]) == (errors, k)
    assert result.learner.state["weight"] == pytest.approx(weight, rel=1e-12, abs=1e-12)


def test_an_unfinished_average_is_of_the_rows_so_far(monkeypatch):
    monkeypatch.setattr(draws_module, "SLICE", 10)
    problem = noisy(3, 50)
    S = as_lists(problem)
    procedure = new_procedure(problem, "average", LINEAR, 3, mult=MULT)
    for _ in range(4):
        procedure.advance()
    past = oracle.hypotheses(lambda: oracle.Perceptron(4), S, oracle.drawn(50, 150, 3)[:40])[0][:-1]
    weight = [sum(column) / 40 for column in zip(*(h.w for h in past), strict=True)]
    result = procedure.result()
    assert not result.complete
    assert result.learner.state["weight"] == pytest.approx(weight, rel=1e-12, abs=1e-12)


def test_rows_are_drawn_as_by_the_oracle():
    draws = RandomRows(50, 170, 11)
    taken = []
    while len(ids := draws.take()):
        taken += ids.tolist()
    assert taken == oracle.drawn(50, 170, 11)


@pytest.mark.parametrize("name", ["average", "cutoff-average"])
@pytest.mark.parametrize("text", [QUADRATIC.text, "perceptron:intercept=false", "pa1"])
def test_only_weights_are_averaged(name, text):
    with pytest.raises(ParameterError, match=f"{name} averages weights: its learner must be perceptron"):
        new_procedure(noisy(0), name, Spec.parse(text))
