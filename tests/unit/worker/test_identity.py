"""How a refusal says in what a stored state differs from the options: in words, never as Python writes values."""

from __future__ import annotations

from typing import Any

import pytest

from driftway.worker.settings.identity import features_in_words, in_words, is_plannable
from driftway.worker.wire.events import Schema

SCHEMA = {"features": ["amount", "country"], "units": True}
MANY = [f"f{i}" for i in range(20)]


@pytest.mark.parametrize(
    ("key", "made", "has", "words"),
    [
        ("n_classes", 2, 3, ("n_classes", "2", "3")),
        ("standardize", True, False, ("standardize", "on", "off")),
        ("missing_indicators", True, None, ("missing_indicators", "on", "none")),
        ("labels", [], ["no", "yes"], ("labels", "none", "no and yes")),
        ("learners", ["arow"], ["arow", "pa1", "nb"], ("learners", "arow", "arow, pa1 and nb")),
        ("event", SCHEMA, None, ("event features", "amount and country", "none")),
        ("event", SCHEMA, SCHEMA | {"label": "fraud"}, ("event label", "the default", "fraud")),
        ("event", SCHEMA, SCHEMA | {"features": ["a", "b"]}, ("event features", "amount and country", "a and b")),
        ("event", {"features": MANY}, {"features": [*MANY[1:], "new"]}, ("event features", "f0", "new")),
        ("event", {"features": MANY}, {"features": MANY[::-1]},
         ("event features", "f0, f1, f2, f3, f4, f5, f6, f7 and others",
          "f19, f18, f17, f16, f15, f14, f13, f12 and others")),
        ("event", SCHEMA, 5, ("event features", "amount and country", "5")),
        ("event", "all", {}, ("event", "all", "{}")),
        ("event", {}, None, ("event", "{}", "none")),
        ("learners", MANY[:9], 5, ("learners", "f0, f1, f2, f3, f4, f5, f6, f7 and others", "5")),
        ("learners", [5] * 9, "arow", ("learners", "5, 5, 5, 5, 5, 5, 5, 5 and others", "arow")),
    ],
)  # fmt: skip
def test_a_difference_is_told_in_words(key: str, made: Any, has: Any, words: tuple[str, str, str]) -> None:
    assert in_words(key, made, has) == words


def test_a_plan_changes_learners_unless_feature_maps_are_in_front_of_them() -> None:
    assert is_plannable("learners", ["arow"], ["pa1"])
    assert not is_plannable("learners", ["arow behind fourier"], ["arow"])
    assert not is_plannable("n_classes", 2, 3)


def test_features_are_told_in_words() -> None:
    assert features_in_words(None) == "no event yet"
    assert features_in_words(Schema(1)) == "1 feature without a name"
    assert features_in_words(Schema(2, ("a", "b"))) == "2 features named a and b"
