"""A procedure that is saved after any step and resumed elsewhere ends with the same bits."""

from __future__ import annotations

import json

import pytest

from driftway.learners.spec import Spec
from tests.unit.learners.online_to_batch.rows import LINEAR, QUADRATIC, finished, new_procedure, noisy

GIVEN = {
    "i": {},
    "ii": {"phi_max": 4},
    "iii-weak": {"Z": 6},
    "iii": {},
    "random-stopping": {"mult": 7},
    "longest-survival": {"mult": 4},
    "average": {"mult": 4},
    "cutoff-average": {"mult": 4},
}
SPECS = (LINEAR, QUADRATIC, Spec.parse("pa1"))
CASES = [(name, spec) for name in GIVEN for spec in SPECS if spec is LINEAR or "average" not in name]


REFUSED = r"the saved batch procedure is damaged|not a saved batch procedure"


def everything(procedure):
    result = procedure.result()
    report = json.dumps(result.report)
    return procedure.save(), procedure.progress, result.learner.snapshot(), report, result.complete


@pytest.mark.parametrize(("name", "spec"), CASES, ids=str)
def test_a_procedure_resumed_after_any_step_ends_with_the_same_bits(name, spec):
    problem = noisy(6, 70)
    expected = everything(finished(problem, name, spec, **GIVEN[name]))
    walking = new_procedure(problem, name, spec, **GIVEN[name])
    while True:
        taken_up = new_procedure(problem, name, spec, **GIVEN[name])
        taken_up.load(walking.save())
        assert everything(taken_up) == everything(walking)
        walking = taken_up
        if walking.done:
            break
        walking.advance()
    assert everything(walking) == expected
    walking.advance()
    assert everything(walking) == expected, "a step after the end changes something"


@pytest.mark.parametrize("name", GIVEN)
def test_the_same_seed_gives_the_same_bits_and_another_seed_others(name):
    problem = noisy(6, 70)
    one = finished(problem, name, seed=4, **GIVEN[name])
    assert everything(one) == everything(finished(problem, name, seed=4, **GIVEN[name]))
    other = finished(problem, name, seed=5, **GIVEN[name])
    assert one.result().learner.snapshot() != other.result().learner.snapshot()


@pytest.mark.parametrize("name", GIVEN)
def test_rows_are_not_changed(name):
    problem = noisy(6, 70)
    before = problem.rows.tobytes(), problem.y.tobytes()
    finished(problem, name, **GIVEN[name])
    assert (problem.rows.tobytes(), problem.y.tobytes()) == before


def test_a_state_saved_by_another_procedure_is_refused():
    problem = noisy(6, 70)
    procedure = new_procedure(problem, "ii", phi_max=4)
    procedure.advance()
    blob = procedure.save()
    for other, what in [
        (new_procedure(noisy(7, 70), "ii", phi_max=4), "problem"),
        (new_procedure(problem, "ii", phi_max=5), "parameters"),
        (new_procedure(problem, "ii", QUADRATIC, phi_max=4), "learner"),
        (new_procedure(problem, "ii", seed=4, phi_max=4), "seed"),
        (new_procedure(problem, "i"), "algorithm"),
    ]:
        before = other.save()
        with pytest.raises(ValueError, match=f"the saved batch procedure has {what} "):
            other.load(blob)
        assert other.save() == before


def test_a_damaged_state_is_refused():
    procedure = new_procedure(noisy(6, 70), "iii")
    procedure.advance()
    blob, before = procedure.save(), procedure.save()
    for place in range(0, len(blob), 97):
        broken = bytearray(blob)
        broken[place] ^= 1
        with pytest.raises(ValueError, match=REFUSED):
            procedure.load(bytes(broken))
    for cut in (0, 3, 4, 20, len(blob) - 1):
        with pytest.raises(ValueError, match=REFUSED):
            procedure.load(blob[:cut])
    assert procedure.save() == before
