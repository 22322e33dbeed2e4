"""Declarations of a learner's memory: stored and scratch fields, symbolic shapes, field offsets."""

import pickle
from typing import NamedTuple

import numpy as np
import pytest

from driftway import learners
from driftway.learners.contract import Array, Counts, Parameters, choice, field, flag, integer, number, part, scratch
from driftway.learners.engine.state import State
from driftway.learners.engine.state_layout import (
    allocate_scratch,
    as_views,
    field_specs,
    fields_of,
    group_views,
    shape_of,
    write_defaults,
)
from driftway.learners.registry import find

SIZES = {"d": 3, "K": 2, "form": (3, 3)}


class Inner(NamedTuple):
    rows: Counts = field("i8[1]", "rows")
    least: Array = field("f8[2]", "least", start=1.0)


class Outer(NamedTuple):
    weight: Array = field("f8[K, d]", "weights")
    covariance: Array = field("f8[K, form]", "covariances")
    inner: Inner = part(Inner, "a part")
    age: Counts = field("i8[2 d]", "ages", start=7)
    k: Array = scratch("f8[d]", "products")


def made():
    return State(fields_of(Outer, SIZES))


def test_fields_are_in_the_declared_order():
    assert list(fields_of(Outer, SIZES).items()) == [
        ("weight", ("f8", (2, 3))),
        ("covariance", ("f8", (2, 3, 3))),
        ("inner.rows", ("i8", (1,))),
        ("inner.least", ("f8", (2,))),
        ("age", ("i8", (6,))),
    ]
    assert [name for name, one in field_specs(Outer).items() if not one.in_state] == ["k"]


@pytest.mark.parametrize(
    ("text", "shape"), [("1", (1,)), ("2, K, d", (2, 2, 3)), ("2 d", (6,)), ("form", (3, 3)), ("K d, d", (6, 3))]
)
def test_shapes_are_read_from_letters(text, shape):
    assert shape_of(text, SIZES) == shape


def test_a_letter_without_a_length_is_an_error():
    with pytest.raises(KeyError):
        shape_of("B", SIZES)


def test_fields_start_with_their_declared_values():
    state = made()
    write_defaults(Outer, state)
    assert (state["age"] == 7).all()
    assert (state["inner.least"] == 1.0).all()
    assert not state["weight"].any()


def test_parts_are_views_of_the_state():
    state = made()
    memory = as_views(Outer, state, **allocate_scratch(Outer, SIZES))
    memory.inner.rows[0] = 5
    memory.weight[1, 2] = 2.0
    assert (state["inner.rows"][0], state["weight"][1, 2], memory.k.shape) == (5, 2.0, (3,))
    assert allocate_scratch(Outer, SIZES, 4)["k"].shape == (4, 3)


def test_parts_of_stacked_views_are_found_too():
    views = {name: np.zeros(1) for name in ("weight", "covariance", "inner.rows", "inner.least", "age", "k")}
    assert group_views(Outer, views).inner.least is views["inner.least"]


class ExampleParameters(Parameters):
    eta: float = number(0.5, "Step.", above=0.0)
    words: str = choice("a", ("a", "b"), "Word.")
    rows: int = integer(3, "Rows.")
    steep: bool = flag(True, "Steep.")


def test_kernels_take_numbers_and_flags_by_their_names():
    numbers = ExampleParameters(rows=4).numbers()
    assert numbers._asdict() == {"eta": 0.5, "rows": 4, "steep": True}


def test_classes_of_numbers_are_found_by_other_processes():
    """Cached machine code that takes them refers to their class by its import path."""
    for name in learners.LEARNERS:
        numbers = find(name).Params.Numbers
        assert pickle.loads(pickle.dumps(numbers)) is numbers


def test_parameters_of_a_family_come_after_a_learners_own():
    names = [one["name"] for one in find("arow").Params.describe()]
    assert names == ["r", "a", "cov", "q", "intercept"]
