"""Values that no option can use end in one sentence and exit code 2, before any library sees them."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from click.testing import CliRunner

from driftway.cli import main
from driftway.commands import load
from driftway.config import read_config
from driftway.worker.errors import UsageFailure
from driftway.worker.settings import WorkerSettings
from tests.unit.worker.rows import model_settings

EMPTY, LONG, ODD, LARGE = "it is empty", "more than 10,000", "not valid UTF-8", "not a finite number"
LINE, DIGITS = "it ends with a line break", "a number in it has more than 1,000 digits"


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (("worker", "--input", "", "--group", "g"), EMPTY),
        (("worker", "--input", "E", "--group", " "), EMPTY),
        (("worker", "--input", "E", "--group", "g", "--output-prefix", ""), EMPTY),
        (("worker", "--input", "E", "--group", "g", "--bootstrap", ""), EMPTY),
        (("worker", "--input", "E", "--group", "g", "--learner", ""), EMPTY),
        (("worker", "--input", "E", "--group", "g" * 40_000), LONG),
        (("worker", "--input", "E" * 200, "--group", "g" * 60), "with --output-prefix"),
        (("topics", "create", "--input", "E" * 200, "--group", "g" * 60, "--partitions", "1"), "with --output-prefix"),
        (("worker", "--input", "E", "--group", "\udcff"), ODD),
        (("worker", "--input", "E", "--group", "g", "-X", "client.id=\udcff"), ODD),
        (("worker", "--input", "E", "--group", "g", "--commit-interval", "inf"), LARGE),
        (("worker", "--input", "E", "--group", "g", "--unavailable-timeout", "1e308"), LARGE),
        (("worker", "--input", "E", "--group", "g", "--commit-interval", "nan"), LARGE),
        (("worker", "--input", "E", "--group", "g", "--metric-window", "9" * 400), "64 bits"),
        (("topics", "create", "--input", "", "--partitions", "1"), EMPTY),
        (("topics", "create", "--input", "E", "--partitions", "9" * 400), "64 bits"),
        (("replay", "sea", "--to", ""), EMPTY),
        (("replay", "sea", "--resume", "f", "--transactional-id", ""), EMPTY),
        (("watch", "--input", "E", "--group", "", "--once"), EMPTY),
        (("audit", "--input", "E", "--group", ""), EMPTY),
        (("snapshot", "list", "--input", "E", "--group", ""), EMPTY),
        (("demo", "--rate", "nan"), LARGE),
        (("worker", "--input", "E", "--group", "g\r"), LINE),
        (("worker", "--input", "E", "--group", "g", "--labels", "DOWN,UP\r\n"), LINE),
        (("worker", "--input", "E", "--group", "g", "--bootstrap", "broker:9092\n"), LINE),
        (("worker", "--input", "E", "--group", "größe", "--client", "python"), "give --client native"),
        (("evaluate", "sea\r"), LINE),
        (("evaluate", ""), EMPTY),
        (("replay", " "), EMPTY),
        (("schema", "infer", ""), EMPTY),
        (("models", "drop", "", "--input", "E", "--group", "g"), EMPTY),
        (("models", "set", "pa1", "", "--input", "E", "--group", "g"), EMPTY),
        (("snapshot", "show", ""), EMPTY),
        (("worker", "--input", "E", "--group", "g", "--classes", "2.5"), "'2.5' is not a valid integer."),
        (("worker", "--input", "E", "--group", "g", "--commit-interval", "1s"), "'1s' is not a valid number."),
        (("worker", "--input", "E", "--group", "g", "--features=--5"), "'--5' is not a number of features"),
        (("worker", "--input", "E", "--group", "g", "--features", "9" * 5000), "9' is not a number of features"),
        (("replay", "sea", "--loop", "9" * 5000), DIGITS),
        (("replay", "sea", "--label-delay", "9" * 5000), DIGITS),
        (("evaluate", "sea", "--feature", f"v:hash={'9' * 5000}"), DIGITS),
    ],
)
def test_a_value_that_no_option_can_use_is_refused_in_one_sentence(arguments: tuple[str, ...], why: str) -> None:
    done = CliRunner().invoke(main, list(arguments))
    assert (done.exit_code, done.stdout) == (2, ""), done
    assert why in done.stderr.splitlines()[-1]


def test_an_empty_variable_counts_as_unset() -> None:
    done = CliRunner().invoke(main, ["worker", "--input", "E"], env={"DRIFTWAY_GROUP": ""})
    assert done.exit_code == 2
    assert "Missing option '--group'" in done.stderr


def test_a_line_break_of_an_environment_file_is_refused_but_not_that_of_a_certificate() -> None:
    done = CliRunner().invoke(main, ["worker", "--input", "E"], env={"DRIFTWAY_GROUP": "g\r"})
    assert (done.exit_code, done.stderr.splitlines()[-1]) == (
        2,
        f"Error: Invalid value for '--group': {LINE}, as in a file with Windows line ends; leave the line break out.",
    )
    certificate = "ssl.ca.pem=-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----\n"
    done = CliRunner().invoke(main, ["worker", "--input", "E", "--group", "g", "-X", certificate, "--learner", "no"])
    assert "no learner 'no'" in done.stderr


def test_a_config_file_is_checked_too(tmp_path) -> None:
    (tmp_path / "e.toml").write_text('group = ""\n')
    done = CliRunner().invoke(main, ["--config", str(tmp_path / "e.toml"), "worker", "--input", "E"])
    assert done.exit_code == 2
    assert EMPTY in done.stderr


@pytest.mark.parametrize(("topic", "group"), [("", "g"), ("E", ""), ("E", "  ")])
def test_settings_without_a_name_are_refused(topic: str, group: str) -> None:
    with pytest.raises(UsageFailure, match="is empty"):
        WorkerSettings("nowhere:1", topic, group, model_settings("pa1"))


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("[worker]\nstop-at-end = 1\n", "'stop_at_end' takes true or false, not 1"),
        ("[worker]\nclasses = 2026-01-01\n", "'2026-01-01' is not a valid integer."),
        ("[worker]\nlearner = {name = 'pa1'}\n", "'learner' takes a value, not a table"),
        ("[worker.X]\n'client.id' = 'x'\n", "'X' takes a value, not a table"),
    ],
)
def test_a_value_of_another_type_in_a_config_file_is_refused_in_one_sentence(tmp_path, text: str, why: str) -> None:
    (tmp_path / "e.toml").write_text(text)
    done = CliRunner().invoke(main, ["--config", str(tmp_path / "e.toml"), "worker", "--input", "E", "--group", "g"])
    assert (done.exit_code, done.stderr.splitlines()[-1].endswith(why)) == (2, True), done.stderr


def test_a_time_may_have_an_offset_in_a_config_file_too(tmp_path) -> None:
    def taken(config: str, *more: str) -> datetime:
        (tmp_path / "e.toml").write_text(config)
        defaults = read_config(str(tmp_path / "e.toml")).get("models", {}).get("drop")
        line = ["pa1", "--input", "E", *more]
        return load("models").commands["drop"].make_context("drop", line, default_map=defaults).params["at_time"]

    for text in ("2026-01-01T12:00:00Z", "2026-01-01T14:00:00+02:00"):
        for found in (taken("", "--at-time", text), taken(f"[models.drop]\nat-time = {text}\n")):
            assert found == datetime(2026, 1, 1, 12, tzinfo=UTC)
    assert taken("[models.drop]\nat-time = 2026-01-01\n").isoformat() == "2026-01-01T00:00:00"
