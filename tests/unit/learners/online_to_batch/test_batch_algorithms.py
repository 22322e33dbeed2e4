"""Algorithms I, II, III-weak and III equal naive transcriptions in the mistakes, rows and weights of every pass."""

from __future__ import annotations

import numpy as np
import pytest

from driftway.learners.engine.parameters import ParameterError
from driftway.learners.online_to_batch.algorithm_iii import practical, theory
from driftway.learners.online_to_batch.generic_passes import GenericPasses
from driftway.learners.spec import Spec
from tests.support.oracle import batch as oracle
from tests.unit.learners.online_to_batch.rows import LINEAR, QUADRATIC, as_lists, finished, new_procedure, noisy

SEEDS = (0, 1, 2, 3)
BASES = {
    "linear": (LINEAR, oracle.Perceptron),
    "explicit": (QUADRATIC, oracle.Explicit),
    "dual": (QUADRATIC, oracle.Dual),
    "any": (Spec.parse("p_norm_perceptron:p=2"), oracle.Perceptron),
}


def trace(procedure):
    """Yield (mistakes, remaining rows, learner's state) of every pass, to the end."""
    found, before = [], 0
    while not procedure.done:
        sample = procedure.sample
        procedure.advance()
        found.append(procedure.mistakes - before)
        before = procedure.mistakes
        yield found[-1], sample.ids[sample.first : sample.last].tolist(), procedure.online.memory.copy()


def setting(kind, seed, n=60):
    spec, base = BASES[kind]
    problem = noisy(seed, n, curved=kind in ("explicit", "dual"))
    return problem, spec, (lambda: base(4)), as_lists(problem), oracle.shuffled(n, seed)


@pytest.mark.parametrize("kind", BASES)
@pytest.mark.parametrize("seed", SEEDS)
def test_algorithm_i_equals_its_oracle(kind, seed):
    problem, spec, make, S, order = setting(kind, seed)
    log = []
    a = make()
    left, clean = oracle.algorithm_i(a, S, order, log)
    procedure = new_procedure(problem, "i", spec, seed)
    assert [p[:2] for p in trace(procedure)] == [p[:2] for p in log]
    result = procedure.result()
    assert clean
    assert result.complete
    assert result.report["removed"] == len(S) - len(left)
    assert result.report["errors"] == oracle.error(a, S)
    assert log[-1][0] == 0
    if kind == "linear":
        assert result.learner.state["weight"].tolist() == a.w


@pytest.mark.parametrize("seed", SEEDS)
def test_weights_after_each_pass_of_algorithm_i_equal_the_oracle(seed):
    problem, spec, make, S, order = setting("linear", seed)
    log = []
    oracle.algorithm_i(make(), S, order, log)
    passes = list(trace(new_procedure(problem, "i", spec, seed)))
    for (_, _, memory), (_, _, a) in zip(passes, log, strict=True):
        assert memory[: 8 * 4].view(np.float64).tolist() == a.w


@pytest.mark.parametrize("kind", BASES)
@pytest.mark.parametrize(("phi_max", "phi_step"), [(6, 1), (9, 4)])
def test_algorithm_ii_equals_its_oracle(kind, phi_max, phi_step):
    problem, spec, make, S, order = setting(kind, 5)
    log = []
    curve, best = oracle.algorithm_ii(make, S, order, range(1, phi_max + 1, phi_step), log)
    procedure = new_procedure(problem, "ii", spec, 5, phi_max=phi_max, phi_step=phi_step)
    got = [(mistakes, left) for mistakes, left, _ in trace(procedure)]
    revived = [(m, left if m or t == len(log) - 1 else order) for t, (m, left, _) in enumerate(log)]
    assert got == revived  # after a clean pass, every row has gained copies
    result = procedure.result()
    assert [(p["phi"], p["errors"]) for p in result.report["curve"]] == curve
    assert result.report["errors"] == min(errors for _, errors in curve)
    assert result.report["phi"] == min(curve, key=lambda p: p[1])[0]
    if kind == "linear":
        assert result.learner.state["weight"].tolist() == best.w


@pytest.mark.parametrize("kind", BASES)
@pytest.mark.parametrize("phi", [1, 2, 7])
def test_algorithm_ii_with_revisits_equals_the_literal_transcription(kind, phi):
    problem, spec, make, S, order = setting(kind, 6)
    a, mistakes, passes = oracle.algorithm_ii_literally(make, S, order, phi)
    procedure = finished(problem, "ii", spec, 6, phi=phi, revisit=True)
    assert (procedure.mistakes, procedure.passes) == (mistakes, passes)
    assert procedure.result().report["errors"] == oracle.error(a, S)
    if kind == "linear":
        assert procedure.result().learner.state["weight"].tolist() == a.w


@pytest.mark.parametrize("kind", BASES)
@pytest.mark.parametrize("Z", [0, 1, 2, 5, 12, 1000])
def test_algorithm_iii_weak_equals_its_oracle(kind, Z):
    problem, spec, make, S, order = setting(kind, 7)
    log = []
    a, count, left = oracle.algorithm_iii_weak(make, S, order, Z, log)
    procedure = new_procedure(problem, "iii-weak", spec, 7, Z=Z)
    assert [p[:2] for p in trace(procedure)] == [p[:2] for p in log]
    report = procedure.result().report
    assert (report["super_iterations"], report["removed"]) == (count, len(S) - len(left))
    assert report["errors"] == oracle.error(a, S)
    if kind == "linear":
        assert procedure.result().learner.state["weight"].tolist() == a.w


@pytest.mark.parametrize("kind", BASES)
@pytest.mark.parametrize("schedule", ["practical", "theory"])
def test_algorithm_iii_equals_its_oracle(kind, schedule):
    problem, spec, make, S, order = setting(kind, 8)
    zs = practical(60, 1.5) if schedule == "practical" else theory(60)
    errors, Z, a = oracle.algorithm_iii(make, S, order, zs)
    result = finished(problem, "iii", spec, 8, schedule=schedule, ratio=1.5).result()
    assert (result.report["errors"], result.report["Z"]) == (errors, Z)
    assert result.empirical_error == errors / 60
    if kind == "linear":
        assert result.learner.state["weight"].tolist() == a.w


def test_schedules_list_the_values_of_z():
    assert practical(11_055, 2.0) == [11, 22, 44, 88, 176, 352, 704, 1408, 2816, 5632, 11264]
    assert practical(5, 1.1) == [1, 2, 3, 4, 5]
    assert practical(1, 2.0) == [1]
    assert theory(8) == [2, 4, 8]
    assert theory(9) == [2, 4, 8, 16]
    assert theory(1) == theory(2) == [2]


def test_rows_keep_their_order_without_shuffling():
    problem = noisy(1)
    log = []
    oracle.algorithm_i(oracle.Perceptron(4), as_lists(problem), range(60), log)
    passes = trace(new_procedure(problem, "i", shuffle=False))
    assert [p[:2] for p in passes] == [p[:2] for p in log]


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("kind", ["linear", "quadratic"])
def test_separable_rows_end_without_a_mistake(seed, kind):
    spec = {"linear": LINEAR, "quadratic": QUADRATIC}[kind]
    problem = noisy(seed, 400, 4, noise=0.0, curved=kind == "quadratic")
    one = finished(problem, "ii", spec, seed, phi_max=10_000).result()
    assert one.empirical_error == 0.0
    assert one.complete


def test_progress_shows_how_far_a_procedure_has_come():
    problem = noisy(5)
    procedure = new_procedure(problem, "ii", phi_max=2)
    assert procedure.progress == (0, 60, 0, None, "phi 1 of 2")
    procedure.advance()
    assert procedure.progress == (1, procedure.sample.remaining, 60 - procedure.sample.remaining, None, "phi 1 of 2")
    assert not procedure.result().complete
    end = finished(problem, "ii", phi_max=2)
    least = min(point["errors"] for point in end.result().report["curve"])
    assert end.progress == (end.passes, end.sample.remaining, end.mistakes, least / 60, "phi 2 of 2")
    assert new_procedure(problem, "iii-weak", Z=9).progress == (0, 60, 0, None, "super iteration 1")
    h_0 = float((problem.y == 0.0).mean())
    assert new_procedure(problem, "iii").progress == (0, 60, 0, h_0, "Z 1 (1 of 7), super iteration 1")
    assert new_procedure(problem, "average", mult=2).progress == (0, 120, 0, None, "draw 0 of 120")


def test_a_procedure_stopped_by_max_passes_is_not_complete():
    problem = noisy(2)
    procedure = finished(problem, "i", max_passes=2)
    assert procedure.passes == 2
    assert not procedure.result().complete
    unlimited = finished(problem, "i")
    assert unlimited.passes > 2
    assert finished(problem, "i", max_passes=unlimited.passes).result().complete


def test_fused_passes_equal_generic_passes():
    for fused, other in (("perceptron:eta=0.3", "perceptron:eta=0.3"), (QUADRATIC.text, QUADRATIC.text)):
        for name in ("i", "ii", "iii-weak", "iii", "random-stopping", "longest-survival"):
            problem = noisy(9, 200, curved=True)
            given = {"ii": {"phi_max": 5}, "iii-weak": {"Z": 9}}.get(name, {})
            quick = new_procedure(problem, name, Spec.parse(fused), **given)
            slow = new_procedure(problem, name, Spec.parse(other), **given)
            slow.online._passes = GenericPasses(problem, slow.online.learner)
            while not quick.done:
                quick.advance()
                slow.advance()
                assert quick.save() == slow.save()
            assert slow.done


def test_correctly_predicted_rows_are_never_learned():
    """`ties=update` matters on streams only: procedures let it learn only mistakes, and score 0 is class 1."""
    problem = noisy(4)
    for name in ("i", "iii", "longest-survival"):
        strict = finished(problem, name, Spec.parse("perceptron:ties=update")).result().learner
        lenient = finished(problem, name).result().learner
        assert strict.state.memory.tobytes() == lenient.state.memory.tobytes()


@pytest.mark.parametrize("name", ["i", "iii", "longest-survival"])
@pytest.mark.parametrize(
    "text",
    ["pa1", "arow:r=0.5", "gaussian_nb", "dfop", "sop", "majority_class", "mc_softmax", "perceptron:intercept=false"],
)
def test_any_binary_learner_can_be_trained(text, name):
    problem = noisy(2, 150)
    procedure = finished(problem, name, Spec.parse(text))
    result = procedure.result()
    score = np.empty((150, 1))
    result.learner.predict(np.ascontiguousarray(problem.rows[:, :-1]), score)
    wrong = (score[:, 0] >= 0.0) != (problem.y == 1.0)
    assert result.complete
    assert result.empirical_error == wrong.mean()
    if name == "i":
        assert result.report["errors"] <= result.report["removed"] < 150


@pytest.mark.parametrize("seed", [-1, 2**64])
def test_a_seed_has_64_bits(seed):
    with pytest.raises(ParameterError, match="seed must be a whole number of 64 bits"):
        new_procedure(noisy(0), "i", seed=seed)


@pytest.mark.parametrize("text", ["pa_regressor", "rls:mu=3", "no_such"])
def test_unsuitable_learners_are_refused(text):
    with pytest.raises(ValueError, match=r"does not learn binary|no parameter|no learner|did you mean"):
        new_procedure(noisy(0), "i", Spec.parse(text))


@pytest.mark.parametrize(
    ("name", "parameters", "message"),
    [
        ("ii", {"phi_max": 0}, "phi_max must be >= 1"),
        ("ii", {"phy": 1}, "no parameter 'phy'"),
        ("iii", {"ratio": 1}, "ratio must be > 1"),
        ("iii-weak", {"Z": -1}, "Z must be >= 0"),
        ("longest-survival", {"mult": 0}, "mult must be >= 1"),
        ("iv", {}, "no batch algorithm 'iv'; available: i, ii,"),
    ],
)
def test_parameters_are_checked(name, parameters, message):
    with pytest.raises(ParameterError, match=message):
        new_procedure(noisy(0), name, **parameters)
