"""`driftway replay` and `driftway streams` as far as they work without Kafka."""

from __future__ import annotations

import json
from pathlib import Path

import click
import pytest

from driftway.cli import main
from driftway.producers.streams import GENERATORS
from driftway.producers.streams.catalogue import CATALOGUE
from tests.support.cli_runner import run


def test_streams_lists_generators_and_files(tmp_path: Path) -> None:
    (tmp_path / "power.csv").write_text("a,y\n1,0\n")
    listed = json.loads(run("streams", "--json", "--data-dir", str(tmp_path)).stdout)
    assert [(row["name"], row["kind"]) for row in listed] == [
        *((name, "generator") for name in GENERATORS),
        ("power", "file"),
        *((name, "catalogue") for name in CATALOGUE),
    ]
    assert "hyperplane_staged" in run("streams").stdout


def test_a_file_named_like_a_generator_is_listed_with_its_suffix(tmp_path: Path) -> None:
    (tmp_path / "sea.csv").write_text("a,y\n1,0\n")
    given = ("--json", "--data-dir", str(tmp_path))
    (name,) = (row["name"] for row in json.loads(run("streams", *given).stdout) if row["kind"] == "file")
    assert name == "sea.csv"
    assert json.loads(run("streams", name, *given).stdout)["rows"] == 1


def test_a_file_that_the_catalogue_knows_by_name_has_its_citation(tmp_path: Path) -> None:
    (tmp_path / "electricity.csv").write_text("a,y\n1,0\n")
    (tmp_path / "mine.csv").write_text("a,y\n1,0\n")
    known, mine = (json.loads(run("streams", name, "--json", "--data-dir", str(tmp_path)).stdout)
                   for name in ("electricity", "mine"))  # fmt: skip
    assert (known["rows"], known["catalogue"]["rows"]) == (1, 45_312)
    assert "Harries" in known["catalogue"]["source"]
    assert mine["catalogue"] is None
    page = run("streams", "electricity", "--data-dir", str(tmp_path)).stdout
    assert "catalogue     whether the price in New South Wales" in page
    assert "citation      M. Harries" in page


def test_a_page_shows_a_dozen_drift_points_and_says_how_many_more() -> None:
    page = run("streams", "archive:1CDT").stdout
    assert "drift points  400, 800," in page
    assert "4800, ... and 27 more (--json shows all)\n" in page
    assert "drift points  none\n" in run("streams", "random_rbf").stdout


@pytest.mark.parametrize("words", [("sea",), ("describe", "sea")])
def test_streams_describes_a_generator(words: tuple[str, ...]) -> None:
    facts = json.loads(run("streams", *words, "--json").stdout)
    assert (facts["rows"], facts["n_features"], facts["drift_points"]) == (50_000, 3, [12_500, 25_000, 37_500])
    assert [option["name"] for option in facts["parameters"]] == ["rows", "thresholds", "noise"]
    assert "Street and Kim" in facts["source"]
    assert "thresholds=8/9/7/9.5" in run("streams", *words).stdout


def test_streams_counts_the_rows_of_a_file(tmp_path: Path) -> None:
    (tmp_path / "power.csv").write_text("a,b,y\n1,2,0\n,2,1\n1,2,\n")
    facts = json.loads(run("streams", "power", "--json", DRIFTWAY_DATA=str(tmp_path)).stdout)
    assert (facts["rows"], facts["rows_without_label"], facts["rows_with_missing_features"]) == (3, 1, 1)
    assert "features      2: a, b" in run("streams", "power", DRIFTWAY_DATA=str(tmp_path)).stdout


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("replay", "quux"), "there is no stream 'quux'"),
        (("replay", "absent.csv"), "there is no file absent.csv"),
        (("replay", "sea:noise=7"), "noise must be a number from 0 to 1"),
        (("replay", "sea", "--loop", "0"), "--loop takes a whole number of at least 1 or nothing, got '0'"),
        (("replay", "sea", "--rate", "0"), "--rate"),
        (("replay", "sea", "--format", "xml"), "--format"),
        (("replay", "sea", "--format", "packed", "--named"), "--named needs --format json"),
        (("replay", "sea", "--key", "z"), "no column 'z'"),
        (("replay", "sea", "-X", "acks"), "is not key=value"),
        (("replay", "sea", "-X", "enable.idempotence=false"), "cannot be set"),
        (("replay", "sea", "-X", "queue.buffering.max.kbytes=1"), "cannot be set"),
        (("replay", "sea", "--skip", "50000"), "sea has no rows after the first 50000"),
        (("replay", "sea", "--client-properties", "absent"), "cannot read client properties absent"),
        (("replay", "sea", "--labels", "a"), "labels must be at least two different names"),
        (("streams", "quux"), "there is no stream 'quux'"),
        (("streams", "sea", "quux"), "one stream at a time"),
        (("streams", "--data-dir", "absent"), "there is no folder absent, which --data-dir or DRIFTWAY_DATA names"),
    ],
)
def test_wrong_usage_ends_with_exit_code_2_and_one_sentence(arguments: tuple[str, ...], words: str) -> None:
    done = run(*arguments)
    assert done.exit_code == 2, done.output
    assert words in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""


@pytest.mark.parametrize("command", ["replay", "streams"])
def test_help_has_a_paragraph_and_examples(command: str) -> None:
    text = run(command, "--help").stdout
    assert f"\n    driftway {command}" in text.replace("      ", "    ")
    assert "Examples:" in text


def test_every_option_has_its_environment_variable() -> None:
    command = main.get_command(click.Context(main), "replay")
    assert command is not None
    named = {option.envvar for option in command.params if isinstance(option, click.Option)}
    assert {"DRIFTWAY_BOOTSTRAP", "DRIFTWAY_FORMAT", "DRIFTWAY_TO", "DRIFTWAY_RATE", "DRIFTWAY_JSON"} <= named
    assert "there is no stream" in run("replay", "quux", DRIFTWAY_RATE="5").stderr
    assert "--rate" in run("replay", "sea", DRIFTWAY_RATE="0").stderr
