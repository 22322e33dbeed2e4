"""`--inject` on the command line: what `driftway streams` reports, what `driftway evaluate` learns from, and errors."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from driftway.producers.streams import open_stream
from driftway.producers.streams.injection.registry import KINDS
from tests.support.cli_runner import run
from tests.unit.producers.injected import read

GRADUAL = "gradual:at=5000,width=1000,to=sea:thresholds=5,noise=0"
CHAIN = (GRADUAL, "imbalance:share=0.3", "missing:share=0.02,from=100")


def injected(texts: tuple[str, ...] = CHAIN) -> list[str]:
    return [word for text in texts for word in ("--inject", text)]


def test_describe_reports_what_the_injected_stream_has() -> None:
    facts = json.loads(run("streams", "describe", "sea:rows=20000", *injected(), "--json").stdout)
    stream = open_stream("sea:rows=20000", inject=CHAIN)
    X, y, concept = read(stream)
    assert facts["injections"] == list(CHAIN)
    assert facts["rows"] == len(y)
    assert facts["drift_points"] == list(stream.drift_points)
    assert facts["rows_per_concept"] == [int((concept == k).sum()) for k in range(len(facts["concepts"]))]
    assert facts["concepts"] == [*(f"sea stage {k}" for k in (1, 2, 3, 4)), "sea:thresholds=5,noise=0"]
    assert facts["rows_with_missing_features"] == sum(any(v != v for v in row) for row in X.tolist())
    assert {change["kind"] for change in facts["changes"]} >= {"gradual", "missing"}
    for change in facts["changes"]:
        assert set(change) == {"kind", "at", "start", "end", "drift"}
        assert change["drift"] == (change["at"] in facts["drift_points"])
    assert [option["name"] for option in facts["parameters"]] == ["rows", "thresholds", "noise"]
    page = run("streams", "sea:rows=20000", *injected()).stdout
    assert f"  injected      {GRADUAL}\n" in page
    assert "no drift" in page
    assert f"  concept       4: sea:thresholds=5,noise=0, {facts['rows_per_concept'][4]:,} rows\n" in page


def test_describe_reports_what_a_stream_without_injection_has() -> None:
    facts = json.loads(run("streams", "sea", "--json").stdout)
    assert facts["injections"] == []
    assert facts["concepts"] == [f"sea stage {k}" for k in (1, 2, 3, 4)]
    assert [(change["kind"], change["at"]) for change in facts["changes"]] == [
        ("stage", 12_500),
        ("stage", 25_000),
        ("stage", 37_500),
    ]


def test_a_file_can_be_injected(tmp_path: Path) -> None:
    (tmp_path / "power.csv").write_text(
        "a,b,y\n" + "".join(f"{i},{-i},{'off' if i % 3 else 'on'}\n" for i in range(90))
    )
    given = ("power", "--labels", "off,on", "--data-dir", str(tmp_path))
    facts = json.loads(run("streams", *given, "--inject", "sudden:at=50,to=power", "--json").stdout)
    assert (facts["kind"], facts["rows"], facts["drift_points"]) == ("file", 140, [50])
    facts = json.loads(run("streams", *given, "--inject", "recurring:period=40,to=power", "--json").stdout)
    assert (facts["rows"], facts["drift_points"]) == (170, [40, 80, 120, 160])
    assert facts["rows_per_concept"] == [90, 80]
    facts = json.loads(run("streams", *given, "--inject", "label_flip:at=45,until=95", "--json").stdout)
    assert (facts["rows"], facts["drift_points"], len(facts["changes"])) == (90, [45], 1)


def test_the_options_of_files_hold_for_a_second_file_too_and_not_for_a_generator(tmp_path: Path) -> None:
    for name in ("one.csv", "other.csv"):
        rows = "".join(f"row {i};{i},5;{-i};{i % 7};{i % 2}\n" for i in range(60))
        (tmp_path / name).write_text(f"id;a;b;c;y\n{rows}")
    given = ("--data-dir", str(tmp_path), "--drop", "id", "--separator", "semicolon", "--decimal", "comma")
    for to, length in (("other", 110), ("sea:rows=200", 250)):
        done = run("evaluate", "one", *given, "--inject", f"sudden:at=50,to={to}", "--learner", "pa1", "--json")
        assert done.exit_code == 0, done.output
        assert json.loads(done.stdout)[0]["labelled"] == length


@pytest.mark.parametrize("command", [("replay", "--dry-run", "-"), ("streams",), ("evaluate", "--learner", "pa1")])
def test_options_of_files_are_refused_with_a_generator(command: tuple[str, ...]) -> None:
    for option, value in (("--separator", "semicolon"), ("--missing-values", "999"), ("--width", "9")):
        done = run(command[0], "sea", *command[1:], option, value)
        sentence = f"driftway: sea is a generator; {option} says how a file is read: leave it out\n"
        assert (done.exit_code, done.stdout, done.stderr) == (2, "", sentence)


@pytest.mark.parametrize("name", KINDS)
def test_every_kind_is_described(name: str) -> None:
    facts = json.loads(run("streams", name, "--json").stdout)
    assert (facts["name"], facts["kind"]) == (name, "injection")
    assert facts["source"]
    assert {option["name"] for option in facts["parameters"]} >= {"seed"}
    assert all(option["meaning"] and option["values"] for option in facts["parameters"])
    page = run("streams", name).stdout
    assert all(f"parameter     {option['name']}" in page for option in facts["parameters"])
    assert f"  {name} " in run("streams").stdout


def test_evaluate_learns_from_the_injected_rows() -> None:
    given = ("evaluate", "sea:rows=3000,noise=0,thresholds=8", "--learner", "arow", "--json")
    plain, flipped, holes, filled = (
        json.loads(run(*given, *injected(texts)).stdout)[0]
        for texts in ((), ("label_flip:at=1500",), ("missing:share=0.1",), ("missing:share=0.1,fill=5",))
    )
    assert plain["stream"] == "sea"
    assert flipped["stream"] == "sea+label_flip:at=1500"
    assert flipped["accuracy"] < plain["accuracy"] - 0.05
    X = read(open_stream("sea:rows=3000,noise=0,thresholds=8", inject=["missing:share=0.1"]))[0]
    assert holes["rejected"] == sum(any(v != v for v in row) for row in X.tolist()) > 0
    assert (plain["rejected"], holes["rows"] + holes["rejected"]) == (0, 3000)
    assert (filled["rejected"], filled["rows"]) == (0, 3000)
    assert filled["accuracy"] < plain["accuracy"] - 0.02


def test_several_injections_come_from_the_environment() -> None:
    facts = json.loads(run("streams", "sea", "--json", DRIFTWAY_INJECT="label_flip:at=5 missing:share=0.5").stdout)
    assert facts["injections"] == ["label_flip:at=5", "missing:share=0.5"]


@pytest.mark.parametrize("command", ["streams", "evaluate", "replay"])
@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("quux:at=1", "there is no injection 'quux'"),
        ("sudden:at=5,to=quux", "there is no stream 'quux'"),
        ("sudden:at=5,to=hyperplane_staged", "have 3 and 10 features"),
        ("label_noise:share=2", "share must be a number from 0 to 1, got 2"),
    ],
)
def test_wrong_injections_end_with_exit_code_2_and_one_sentence(command: str, text: str, words: str) -> None:
    more = ("--learner", "arow") if command == "evaluate" else ()
    done = run(command, "sea", "--inject", text, *more)
    assert done.exit_code == 2, done.output
    assert words in done.stderr
    assert done.stderr.count("\n") == 1
    assert done.stdout == ""


@pytest.mark.parametrize("command", ["streams", "evaluate", "replay"])
def test_help_has_an_example(command: str) -> None:
    text = run(command, "--help").stdout
    assert f"driftway {command} sea " in text
    assert "--inject gradual:at=5000" in text or "--inject sudden:at=20000" in text
