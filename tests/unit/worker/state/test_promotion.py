"""Promotions by workers: what points of accuracy lead to which decision, and what alpha is spent on."""

from __future__ import annotations

import itertools
import math
from typing import Any

import pytest

from driftway.learners.spec import Spec
from driftway.worker.errors import UsageFailure
from driftway.worker.settings import AT_LEAST_ONCE, WorkerSettings
from driftway.worker.settings.option_values import PromoteOption
from driftway.worker.state.plans.model_plan import ModelPlan, PlannedModel
from driftway.worker.state.plans.promotion import MAX_SHOWN, PromotionRule, champion_since, levels
from tests.unit.worker.rows import model_settings

OPTION = PromoteOption(0.01, 1000, 10_000)
NEEDED = 200.0
"""The e-value that the only challenger of the first plan needs: half of alpha is for the tests that begin with it."""


def plan(number: int, *names: str) -> ModelPlan:
    return ModelPlan(number, tuple(PlannedModel(Spec.parse(name)) for name in names))


FIRST = plan(1, "pa1", "arow")


def point(offset: int, e: float = 1.0, partition: int = 0, learner: str = "arow", **more: Any) -> dict[str, Any]:
    """An accuracy point of a challenger; `worse` is the e-value of the other side."""
    tested = {"better_log_e": math.log(e), "worse_log_e": math.log(more.pop("worse", 0.1))}
    return {"partition": partition, "offset": offset, "learner": learner, **tested, **more}


def decided(*points: dict[str, Any], plans: tuple[ModelPlan, ...] = (FIRST,), partitions: int = 1) -> str | None:
    """Name of the challenger that these points promote."""
    rule = PromotionRule(OPTION, plans, partitions)
    for one in points:
        rule.add(one)
    found = rule.decide()
    return None if found is None else found.challenger


def test_a_challenger_is_promoted_when_its_test_is_significant() -> None:
    assert decided() is None
    assert decided(point(0), point(1000, NEEDED * 0.999)) is None
    assert decided(point(0), point(1000, NEEDED * 1.001)) == "arow"


def test_only_the_newest_point_counts() -> None:
    assert decided(point(0), point(1000, 10 * NEEDED), point(1500, NEEDED / 2)) is None
    assert decided(point(0), point(1000, 10 * NEEDED, worse=20 * NEEDED)) is None, "a drift has turned the tables"


def test_a_promotion_waits_for_rows_of_all_partitions() -> None:
    assert decided(point(0), point(999, 10 * NEEDED)) is None
    two = point(0), point(500, partition=1), point(600, 2 * NEEDED), point(900, 2 * NEEDED, partition=1)
    assert decided(*two, partitions=2) == "arow"
    assert decided(*two[:-1], partitions=2) is None


def test_a_partition_on_an_earlier_plan_neither_adds_nor_blocks() -> None:
    winning = point(0), point(2000, 4.1 * NEEDED)
    assert decided(*winning, partitions=4) == "arow"
    assert decided(*winning, partitions=5) is None
    others = [point(2000, 0.1, partition=p) for p in (1, 2, 3)]
    assert decided(*winning, *others, partitions=4) == "arow"
    lagging = [point(2000, 100 * NEEDED, partition=1)]
    assert decided(point(0, plan=2), *lagging, point(2000, NEEDED, plan=2), partitions=4) is None


def test_only_points_of_the_newest_plan_count() -> None:
    plans = FIRST, plan(2, "pa1", "arow", "dfop")
    rich = 100 * NEEDED
    assert decided(point(0), point(5000, rich), plans=plans) is None
    assert decided(point(0, plan=2), point(5000, rich, plan=2), plans=plans) == "arow"
    ahead = point(10, rich, partition=1, plan=3)
    assert decided(point(0, plan=2), point(5000, rich, plan=2), ahead, plans=plans) is None, "plan 3 is taken already"


def test_a_champion_stays_during_the_cool_down() -> None:
    plans = FIRST, plan(2, "arow", "pa1"), plan(3, "arow", "pa1", "dfop")
    rich = 1000 * NEEDED
    since = point(400, learner="pa1", plan=2), point(8000, learner="pa1", plan=3)
    assert decided(*since, point(10_399, rich, learner="pa1", plan=3), plans=plans) is None
    assert decided(*since, point(10_400, rich, learner="pa1", plan=3), plans=plans) == "pa1"
    late = point(9900, learner="pa1", plan=3), point(10_899, rich, learner="pa1", plan=3)
    assert decided(since[0], *late, plans=plans) is None, "1,000 rows under plan 3 are wanted too"


def test_the_challenger_with_the_most_evidence_is_promoted() -> None:
    three = (plan(1, "pa1", "arow", "dfop", "no_change"),)
    begins = [point(0, learner=name) for name in ("arow", "dfop", "no_change")]
    assert decided(*begins, point(2000, 2 * NEEDED), plans=three) is None, "three share the level"
    both = point(2000, 4 * NEEDED), point(2000, 5 * NEEDED, learner="dfop")
    assert decided(*begins, *both, plans=three) == decided(*begins, *both[::-1], plans=three) == "dfop"


def test_points_of_champions_and_points_without_tests_promote_no_model() -> None:
    bare = {"partition": 0, "offset": 5000, "learner": "arow"}
    assert decided({**bare, "offset": 0}, bare) is None
    assert decided(point(0, learner="pa1"), point(5000, 10 * NEEDED, learner="pa1")) is None


@pytest.mark.parametrize(
    "wrong",
    [
        {}, [], None, 7, {**point(0), "offset": "x"}, {**point(0), "partition": []}, {**point(0), "plan": None},
        {**point(0), "better_log_e": None}, {**point(0), "worse_log_e": 1e9},
    ],
)  # fmt: skip
def test_an_invalid_point_raises_an_error_that_the_reader_catches(wrong: Any) -> None:
    rule = PromotionRule(OPTION, (FIRST,), 1)
    with pytest.raises((KeyError, TypeError, AttributeError, OverflowError)):
        rule.add(wrong)
    rule.add(point(0))
    rule.add(point(1000, 2 * NEEDED))
    assert rule.decide() is not None


def test_all_tests_of_a_group_share_alpha() -> None:
    """However plans follow each other: each test counts once, with the level that it had at its beginning or less."""
    histories = itertools.product(["pa1", "arow"], ["", "dfop", "dfop rls"], ["no_change", ""])
    plans = [
        plan(number, champion, *more.split(), *last.split(), *({"pa1", "arow"} - {champion}))
        for number, (champion, more, last) in enumerate(histories, start=1)
    ]
    spent, champion, tested = 0.0, "", dict[str, float]()
    for number in range(1, len(plans) + 1):
        now = levels(plans[:number], 0.01)
        assert now.keys() == set(plans[number - 1].names[1:])
        goes_on = plans[number - 1].champion == champion
        for name, level in now.items():
            if goes_on and name in tested:
                assert level == tested[name], (number, name)
            else:
                spent += level
        champion, tested = plans[number - 1].champion, now
    assert 0.005 < spent <= 0.01


def test_a_test_that_continues_keeps_its_level() -> None:
    begun = levels([FIRST], 0.12)
    assert begun == {"arow": pytest.approx(0.06)}
    added = levels([FIRST, plan(2, "pa1", "arow", "dfop", "rls")], 0.12)
    assert added == {"arow": begun["arow"], "dfop": pytest.approx(0.01), "rls": pytest.approx(0.01)}
    dropped = levels([plan(1, "pa1", "arow", "dfop"), plan(2, "pa1", "arow")], 0.12)
    assert dropped == {"arow": pytest.approx(0.03)}, "what was promised to the other one is spent"
    assert levels([FIRST, plan(2, "arow", "pa1")], 0.12) == {"pa1": pytest.approx(0.02)}
    assert levels([FIRST, plan(3, "pa1", "arow")], 0.12) == {"arow": pytest.approx(0.01)}, "plan 2 is unknown"


def test_the_time_since_the_champion_was_promoted_is_known() -> None:
    plans = [FIRST, plan(2, "arow", "pa1"), plan(3, "arow"), plan(4, "arow", "dfop")]
    assert [champion_since(plans[:n]).number for n in range(1, 5)] == [1, 2, 2, 2]


def test_the_description_of_a_promotion_has_the_evidence() -> None:
    rule = PromotionRule(OPTION, (FIRST,), 40)
    for partition in range(40):
        rule.add(point(99, partition=partition))
        rule.add(point(199 + partition, 400.0, partition=partition))
    promotion = rule.decide()
    assert promotion is not None
    start = (
        "promote arow (by a worker: better than pa1, p <= 2.5e-03, 5.0e-03 is enough; 4,780 rows, up to 0:199 1:200 "
    )
    assert promotion.change.startswith(start)
    assert promotion.change.endswith(f" {MAX_SHOWN - 1}:{199 + MAX_SHOWN - 1} and 24 more)")


@pytest.mark.parametrize(
    ("text", "option"),
    [
        ("never", None),
        ("when-better", PromoteOption()),
        ("when-better=0.05", PromoteOption(0.05)),
        ("when-better=1e-3,0", PromoteOption(0.001, 0)),
        (" when-better=0.05, 10 ,20 ", PromoteOption(0.05, 10, 20)),
    ],
)
def test_the_promotion_option_is_parsed(text: str, option: PromoteOption | None) -> None:
    assert PromoteOption.parse(text) == option
    assert option is None or PromoteOption.parse(str(option)) == option


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("better", "write never, when-better"), ("never=1", "write never"), ("when-better=0.1,1,2,3", "write never"),
        ("when-better=", "alpha is a probability"), ("when-better=0", "alpha is a probability"),
        ("when-better=1", "alpha is a probability"), ("when-better=nan", "alpha is a probability"),
        ("when-better=x", "alpha is a probability"), ("when-better=0.1,-1", "whole numbers"),
        ("when-better=0.1,1,1.5", "whole numbers"), ("when-better=0.1,,5", "whole numbers"),
        ("when-better=0.1,¹", "write never"), ("when-better=0.1," + "9" * 19, "whole numbers"),
    ],
)  # fmt: skip
def test_an_invalid_promotion_option_is_refused_in_one_sentence(text: str, message: str) -> None:
    with pytest.raises(UsageFailure, match=message):
        PromoteOption.parse(text)


def test_at_least_once_has_no_promotions() -> None:
    with pytest.raises(UsageFailure, match="--promote needs --guarantee exactly-once"):
        WorkerSettings("b", "E", "g", model_settings("pa1"), guarantee=AT_LEAST_ONCE, promote=OPTION)
