"""--task, --classes, --labels, --learner: what they mean together, and the sentence if they contradict."""

from __future__ import annotations

import pytest

from worker.cli.learning import make_model_settings, make_target
from worker.errors import UsageFailure
from worker.events import Target


@pytest.mark.parametrize(
    ("task", "classes", "labels", "target"),
    [
        ("classification", None, None, Target("classification", 2)),
        ("classification", 5, None, Target("classification", 5)),
        ("classification", None, "DOWN,UP", Target("classification", 2, ("DOWN", "UP"))),
        ("classification", None, " a , b ,c", Target("classification", 3, ("a", "b", "c"))),
        ("classification", 2, "-1,+1", Target("classification", 2, ("-1", "+1"))),
        ("regression", None, None, Target("regression", 0)),
    ],
)
def test_target(task: str, classes: int | None, labels: str | None, target: Target) -> None:
    assert make_target(task, classes, labels) == target


@pytest.mark.parametrize(
    ("task", "classes", "labels", "words"),
    [
        ("classification", None, "UP", "--labels UP: name two or more different labels, separated by commas"),
        ("classification", None, "a,a", "--labels a,a: name two or more different labels, separated by commas"),
        ("classification", None, "a,,b", "--labels a,,b: name two or more different labels, separated by commas"),
        ("classification", None, "1,1.0", "--labels 1,1.0: two of them are the same number"),
        ("classification", 3, "a,b", "--classes 3 contradicts 2 --labels"),
        ("regression", 2, None, "--classes and --labels belong to classification"),
        ("regression", None, "a,b", "--classes and --labels belong to classification"),
    ],
)
def test_contradiction_is_one_sentence(task: str, classes: int | None, labels: str | None, words: str) -> None:
    with pytest.raises(UsageFailure) as caught:
        make_target(task, classes, labels)
    assert str(caught.value) == words


@pytest.mark.parametrize(
    ("specs", "target", "words"),
    [
        (("dfob",), Target(), "no learner 'dfob'; did you mean 'dfop'?"),
        (("zzz",), Target(), "no learner 'zzz'; see `driftway learners`"),
        (("dfop:nu=1",), Target(), "learner dfop:nu=1: no parameter 'nu'; there is: mu, delta, p_max, intercept"),
        (("dfop:mu=1",), Target(), "learner dfop:mu=1: mu must be < 1, got 1"),
        (("dfop:mu=x",), Target(), "learner dfop:mu=x: mu must be a number, got 'x'"),
        (("dfop:mu",), Target(), "learner dfop:mu: 'mu' in 'dfop:mu' is not parameter=value"),
        (("dfop:mu=0.1,mu=0.2",), Target(), "learner dfop:mu=0.1,mu=0.2: mu is given twice in 'dfop:mu=0.1,mu=0.2'"),
        (
            ("dfop",),
            Target("classification", 3),
            "learner dfop: dfop does not learn 3 classes; it does: binary, regression",
        ),
        (("arow", "arow"), Target(), "the same --learner is given twice"),
        ((), Target(), "name at least one --learner"),
    ],
)
def test_wrong_learner_is_one_sentence(specs: tuple[str, ...], target: Target, words: str) -> None:
    with pytest.raises(UsageFailure) as caught:
        make_model_settings(specs, target)
    assert str(caught.value) == words


def test_learners_keep_their_order_and_text() -> None:
    made = make_model_settings(("dfop: mu = 0.01 ", "arow"), Target(), n_features=7, window=9)
    assert [spec.text for spec in made.specs] == ["dfop:mu=0.01", "arow"]
    assert (made.n_features, made.window) == (7, 9)
