"""The stages of `make test`: they stop at the first failure and report what was not reached."""

from __future__ import annotations

import re

import pytest

from tests import stages
from tests.support.examples import THOROUGH

FINE, BROKEN, LONG = ("this",), ("json.tool", "there-is-no-such-file"), ("timeit", "-n1", "-r1", "while True: pass")


@pytest.fixture(autouse=True)
def short_stages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stages, "STAGES", {"one": FINE, "two": BROKEN, "three": FINE, "four": FINE})


def test_the_first_failure_ends_it_and_the_rest_is_named(capfd: pytest.CaptureFixture[str]) -> None:
    assert stages.main(["one", "two", "three", "four"]) != 0
    out = capfd.readouterr().out
    assert re.search(r"one +0:0\d  passed\ntwo +0:0\d  FAILED \(exit code \d\)\nnot reached: three, four \(", out)
    assert re.search(r"-m tests.stages three four\)\n$", out)
    assert "--- three" not in out


def test_stages_that_pass_are_timed_and_nothing_is_left(capfd: pytest.CaptureFixture[str]) -> None:
    assert stages.main(["one", "three"]) == 0
    out = capfd.readouterr().out
    assert re.search(r"--- stages\none +0:0\d  passed\nthree +0:0\d  passed\n$", out)


def test_a_stage_of_one_process_runs_beside_the_next_one(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(stages, "BESIDE", {"one", "three"})
    assert stages.main(["one", "four", "three"]) == 0
    out = capfd.readouterr().out
    assert out.index("--- one: this, beside four") < out.index("--- four: this\n") < out.index("--- three: this\n")
    assert out.count("Beautiful is better than ugly.") == 3
    assert re.search(r"--- stages\none +0:0\d  passed\nfour +0:0\d  passed\nthree +0:0\d  passed\n$", out)


@pytest.mark.parametrize("names", [["two", "long", "one"], ["long", "two", "one"]])
def test_whichever_of_two_fails_ends_the_other(
    names: list[str], monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(stages, "STAGES", {**stages.STAGES, "long": LONG})
    monkeypatch.setattr(stages, "BESIDE", {names[0]})
    assert stages.main(names) != 0
    out = capfd.readouterr().out
    assert re.search(r"--- stages\ntwo +0:0\d  FAILED \(exit code \d\)\nnot reached: long, one \(", out)


def test_an_unknown_stage_is_refused_in_one_sentence(capfd: pytest.CaptureFixture[str]) -> None:
    assert stages.main(["five"]) == 2
    assert capfd.readouterr().err == "there is no stage five: stages are one, two, three, four\n"


def test_the_default_leaves_out_slow_tests_real_streams_and_what_the_unit_tests_include(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.undo()
    assert stages.DEFAULT[-1] not in stages.BESIDE, "nothing is left to run it beside"
    assert set(stages.STAGES) - set(stages.DEFAULT) == {
        "rules", "data", "slow-broker", "cluster", "slow-unit", "slow-examples",
    }  # fmt: skip
    assert stages.STAGES["rules"][-1] == "tests/meta"
    assert stages.STAGES["slow-examples"][-1] == f"--hypothesis-profile={THOROUGH}"
    assert "(hypothesis or random_cases) and not slow" in stages.STAGES["slow-examples"]
    ignored = {argument.removeprefix("--ignore=") for argument in stages.STAGES["unit"] if "tests" in argument}
    taken = {argument for argument in stages.STAGES["broker"] if "tests" in argument}
    assert taken == set(stages.WITH_BROKER)
    assert ignored == taken | {"tests/bench"}, "all tests are looked through, but for benchmarks"
    assert not any(argument.startswith("tests") for argument in stages.STAGES["unit"])


def test_whatever_takes_fewer_random_cases_by_default_takes_all_in_a_stage() -> None:
    counted = re.compile(r"^from tests\.support\.examples import .*\b(repetitions|thorough|BYTES)\b", re.MULTILINE)
    texts = {path: path.read_text(encoding="utf-8") for path in (stages.ROOT / "tests").rglob("test_*.py")}
    using = [path for path, text in texts.items() if counted.search(text)]
    assert len(using) > 15
    assert [path for path in using if "pytest.mark.random_cases" not in texts[path]] == []
