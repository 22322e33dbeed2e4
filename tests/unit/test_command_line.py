"""The command line as far as it works without Kafka: help, configuration, `evaluate`, `learners`, wrong usage."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import click
import numpy as np
import pytest

from driftway import __version__, learners
from driftway.commands import COMMANDS, leaves, load, options_of
from driftway.config import read_config
from driftway.learners.metrics.prequential import prequential
from driftway.producers.streams import open_stream
from driftway.worker.errors import UsageFailure
from driftway.worker.evaluation.prequential import Evaluation
from driftway.worker.wire.events import Target
from tests.support.cli_runner import run

ROWS = "sea:rows=1500"


def refusal(*arguments: str, **env: str) -> str:
    """Return the one sentence on standard error; fail unless the exit code is 2."""
    done = run(*arguments, **env)
    assert done.exit_code == 2, done.output
    assert done.stdout == ""
    assert "Traceback" not in done.stderr
    lines = done.stderr.splitlines()
    if lines[0].startswith("driftway: "):
        assert len(lines) == 1, done.stderr
    else:
        assert lines[-1].startswith("Error: ")
    return lines[-1]


def every_command() -> list[tuple[str, ...]]:
    return [(name, sub) if sub else (name,) for name in COMMANDS for sub in leaves(load(name))]


# Help.


@pytest.mark.parametrize("name", COMMANDS)
def test_help_of_every_command_says_what_it_does_with_examples(name: str) -> None:
    for flag in ("--help", "-h"):
        done = run(name, flag)
        assert done.exit_code == 0
        assert done.stdout.startswith(
            f"Usage: main {name}" if "Usage: main" in done.stdout else f"Usage: driftway {name}"
        )
    examples = done.stdout.partition("Examples:\n")[2]
    assert re.search(rf"^ +driftway {name}\b", examples, re.MULTILINE), done.stdout


@pytest.mark.parametrize("names", every_command(), ids=" ".join)
def test_every_option_has_a_help_text_and_its_own_variable(names: tuple[str, ...]) -> None:
    command = leaves(load(names[0]))[names[1] if len(names) > 1 else ""]
    for key, option in options_of(command).items():
        assert option.help, key
        assert str(option.envvar).startswith("DRIFTWAY_")
        assert option.envvar in (
            f"DRIFTWAY_{key.upper()}",
            "DRIFTWAY_DATA",
            f"DRIFTWAY_{names[0].upper()}_{key.upper()}",
        )
        assert key == "data_dir" or option.envvar != "DRIFTWAY_DATA", "that is the folder of streams, and nothing else"


def test_help_lists_every_command_and_version_is_printed() -> None:
    text = run("--help").stdout
    for name, (_, words) in COMMANDS.items():
        assert re.search(rf"^  {name} +{re.escape(words[:40])}", text, re.MULTILINE), name
    assert __version__ in run("--version").stdout


def examples_of(text: str) -> list[str]:
    lines = text.partition("Examples:\n")[2].partition("\n\n")[0].splitlines()
    return [line.strip() for line in lines if line.strip().startswith("driftway ")]


@pytest.mark.parametrize(
    "names", [(), *((name,) for name in COMMANDS)], ids=lambda names: " ".join(names) or "driftway"
)
def test_examples_name_options_that_exist(names: tuple[str, ...]) -> None:
    for example in examples_of(run(*names, "--help").stdout):
        _, name, *words = example.split()
        commands = leaves(load(name))
        command = commands[words.pop(0)] if "" not in commands else commands[""]
        with click.Context(command, help_option_names=["-h", "--help"]) as ctx:  # click caches the first names
            command.make_parser(ctx).parse_args(words)


# Configuration.


def window_of(config: str | None, tmp_path: Path, *flags: str, **env: str) -> int:
    """Return the --metric-window that `evaluate` uses."""
    before: tuple[str, ...] = ()
    if config is not None:
        (tmp_path / "config.toml").write_text(config)
        before = ("--config", str(tmp_path / "config.toml"))
    done = run(*before, "evaluate", ROWS, "--json", "--learner", "no_change", *flags, **env)
    assert done.exit_code == 0, done.output
    found: int = json.loads(done.stdout)[0]["window"]
    return found


def test_flag_wins_over_environment_over_file_over_default(tmp_path: Path) -> None:
    file = "metric_window = 30\n[evaluate]\nmetric_window = 20\n"
    assert window_of(file, tmp_path, "--metric-window", "10", DRIFTWAY_METRIC_WINDOW="15") == 10
    assert window_of(file, tmp_path, DRIFTWAY_METRIC_WINDOW="15") == 15
    assert window_of(file, tmp_path) == 20
    assert window_of("metric_window = 30\n[worker]\nmetric_window = 20\n", tmp_path) == 30
    assert window_of(None, tmp_path) == 1000


def test_config_file_may_come_from_the_environment(tmp_path: Path) -> None:
    (tmp_path / "c.toml").write_text("[evaluate]\nmetric_window = 12\n")
    assert window_of(None, tmp_path, DRIFTWAY_CONFIG=str(tmp_path / "c.toml")) == 12


def config_of(tmp_path: Path, text: str) -> dict[str, Any]:
    (tmp_path / "config.toml").write_text(text)
    return read_config(str(tmp_path / "config.toml"))


def test_options_are_called_as_on_the_command_line_with_dashes_or_underscores(tmp_path: Path) -> None:
    own = 'commit-interval = 0.5\nsnapshot_rows = 9\nformat = "packed"\noutput-format = "packed"\n'
    written_config = config_of(tmp_path, f'input = "E"\n[worker]\n{own}')
    expected = {"input_": "E", "commit_interval": 0.5, "snapshot_rows": 9, "form": "packed", "output_form": "packed"}
    assert written_config["worker"] == expected
    assert written_config["topics"]["create"] == {"input_topic": "E"}
    assert written_config["evaluate"] == {}


def test_repeatable_options_take_one_value_or_a_list(tmp_path: Path) -> None:
    written_config = config_of(tmp_path, 'learner = "arow"\n[worker]\nlearner = ["dfop", "pa1"]\nX = ["a=b", "c=d"]\n')
    assert written_config["evaluate"]["learner"] == ["arow"]
    assert written_config["worker"]["learner"] == ["dfop", "pa1"]
    assert written_config["worker"]["properties"] == ["a=b", "c=d"]
    assert run("--config", str(tmp_path / "config.toml"), "evaluate", ROWS, "--json").exit_code == 0


def test_a_list_for_all_commands_does_not_trouble_those_that_take_one_value(tmp_path: Path) -> None:
    path = tmp_path / "c.toml"
    path.write_bytes(b'\xef\xbb\xbflearner = ["arow", "pa1"]\r\n')  # as Windows' editors write it
    found = run("--config", str(path), "evaluate", ROWS, "--json")
    assert found.exit_code == 0, found.stderr
    assert [row["learner"] for row in json.loads(found.stdout)] == ["arow", "pa1"]


def test_commands_of_a_group_take_its_table_and_their_own(tmp_path: Path) -> None:
    written_config = config_of(
        tmp_path, '[topics]\ninput = "E"\npartitions = 3\n[topics.create]\npartitions = 4\nreplication_factor = 2\n'
    )
    assert written_config["topics"]["create"] == {"input_topic": "E", "partitions": 4, "replication": 2}
    assert written_config["topics"]["check"] == {"input_topic": "E", "partitions": 3}
    words = refusal("--config", str(tmp_path / "config.toml"), "topics", "check", "-X", "group.id=g")
    assert "client property group.id cannot be set" in words, "input and partitions were taken from the file"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("metric_windw = 5\n", "no option 'metric_windw' of any command; did you mean 'metric_window'?"),
        ("[evaluate]\ncommit-interval = 5\n", "no option 'commit_interval' of evaluate"),
        ("[evaluate]\nas_json = true\n", "no option 'as_json' of evaluate"),
        ("[wrker]\nmetric_window = 5\n", "no command 'wrker'; tables are named after commands"),
        ("[topics.make]\npartitions = 5\n", "topics has no command 'make'"),
        ("[topics.check]\nreplication_factor = 5\n", "no option 'replication_factor' of topics check"),
        ("[worker.create]\nmetric_window = 5\n", "worker has no command 'create'"),
        ("[evaluate]\nmetric_window = [5, 6]\n", "'metric_window' takes one value, not a list"),
        ("metric_window = [5, 6]\n", "'metric_window' takes one value, not a list"),
        ("metric_window = 5.5\n", "'metric_window' takes a whole number, not 5.5"),
        ("coverage = true\n", "'coverage' takes a value, not true"),
        ("metric_window = \n", "is not TOML: "),
        ("metric_window = 5\nmetric_window = 6\n", "is not TOML: "),
        ("metric_window = " + "9" * 5000, "is not TOML: "),
        ("learner = " + "[" * 50_000, "its lists are nested too deeply"),
        ("#" * (1 << 24) + "\n", "has more than 16,777,216 bytes"),
    ],
)
def test_wrong_config_is_refused_in_one_sentence(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "config.toml"
    path.write_text(text)
    found = refusal("--config", str(path), "evaluate", ROWS)
    assert found.startswith(f"driftway: config {path}")
    assert words in found


def test_config_that_cannot_be_read_is_refused_in_one_sentence(tmp_path: Path) -> None:
    assert "cannot read config absent.toml: No such file" in refusal("--config", "absent.toml", "learners")
    assert "Is a directory" in refusal("--config", str(tmp_path), "learners")
    (tmp_path / "binary").write_bytes(b"\xff\xfe=1")
    assert "is not TOML" in refusal("--config", str(tmp_path / "binary"), "learners")


def test_wrong_value_in_the_file_or_the_environment_is_refused(tmp_path: Path) -> None:
    (tmp_path / "c.toml").write_text("[evaluate]\nmetric_window = 0\n")
    assert "'--metric-window'" in refusal("--config", str(tmp_path / "c.toml"), "evaluate", ROWS)
    assert "'--metric-window'" in refusal("evaluate", ROWS, DRIFTWAY_METRIC_WINDOW="many")


def test_no_config_is_no_defaults() -> None:
    assert read_config(None) == {}
    with pytest.raises(UsageFailure):
        read_config("absent.toml")


# evaluate.


def test_evaluate_json_is_a_list_of_objects_per_stream_and_learner() -> None:
    done = run(
        "evaluate", ROWS, "hyperplane_staged:rows=1200", "--learner", "dfop:mu=0.01", "--learner", "no_change", "--json"
    )
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    assert [(row["learner"], row["rows"]) for row in found] == [
        ("dfop:mu=0.01", 1500), ("no_change", 1500), ("dfop:mu=0.01", 1200), ("no_change", 1200),
    ]  # fmt: skip
    for row in found:
        assert 0.3 < row["accuracy"] <= 1.0
        assert {
            "stream",
            "labels",
            "window_accuracy",
            "kappa",
            "kappa_temporal",
            "no_change_accuracy",
            "seconds",
        } <= set(row)
        assert row["rejected"] == 0
        assert "partition" not in row
    assert found[0]["no_change_accuracy"] == found[1]["accuracy"]


def test_evaluate_shows_a_table_otherwise() -> None:
    text = run("evaluate", ROWS, "--learner", "arow", "--learner", "majority_class").stdout
    assert all(word in text for word in ("stream", "accuracy", "arow", "majority_class", "1,500", " %"))


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


@pytest.mark.parametrize(("spec", "flags"), [("dfop:mu=0.01", ()), ("arow", ("--no-standardize",))])
def test_scores_are_those_of_the_learners_package_bit_for_bit(
    spec: str, flags: tuple[str, ...], tmp_path: Path
) -> None:
    path = tmp_path / "scores.jsonl"
    assert run("evaluate", ROWS, "--learner", spec, "--scores", str(path), *flags).exit_code == 0
    learner = learners.Spec.parse(spec).create(3, standardize=not flags)
    blocks = [(block.X, block.y) for block in open_stream(ROWS, seed=1).blocks(331)]
    score = np.concatenate(list(prequential(learner, blocks)))[:, 0]
    found = lines(path)
    assert np.array([row["score"] for row in found]).tobytes() == score.tobytes()
    assert [row["row"] for row in found] == list(range(1500))
    assert [row["prediction"] for row in found] == (score >= 0).astype(int).tolist()
    assert [row["y"] for row in found] == np.concatenate([y for _, y in blocks]).tolist()


def test_partitions_equal_separate_runs(tmp_path: Path) -> None:
    (block,) = open_stream(ROWS, seed=1).blocks(10_000)
    whole = tmp_path / "whole.jsonl"
    results = json.loads(run("evaluate", ROWS, "--partitions", "4", "--scores", str(whole), "--json").stdout)
    scores = {row["row"]: row["score"] for row in lines(whole)}
    for p in range(4):
        share, own = tmp_path / f"share{p}.csv", tmp_path / f"{p}.jsonl"
        rows = [",".join(map(repr, [*x, int(y)])) for x, y in zip(block.X[p::4].tolist(), block.y[p::4], strict=True)]
        share.write_text("\n".join(["a,b,c,y", *rows]) + "\n")
        alone = json.loads(run("evaluate", str(share), "--scores", str(own), "--json").stdout)[0]
        assert [scores[p + 4 * i] for i in range(len(rows))] == [row["score"] for row in lines(own)]
        mine = results[p]
        assert mine["partition"] == p
        assert all(mine[key] == alone[key] for key in alone if key not in {"stream", "seconds"})


def test_partitions_count_on_from_block_to_block() -> None:
    """Blocks need not be a multiple of the partitions: row i stays in partition i mod N."""
    target, spec = Target(), learners.Spec.parse("arow")
    (block,) = open_stream(ROWS, seed=1).blocks(10_000)
    cut, whole = (Evaluation(spec, target, 3, partitions=4) for _ in range(2))
    expected, _ = whole.step(block.X, block.y)
    found = [cut.step(part.X, part.y)[0] for part in open_stream(ROWS, seed=1).blocks(331)]
    assert np.concatenate(found).tobytes() == expected.tobytes()


def test_limit_takes_the_first_rows_as_in_replay(tmp_path: Path) -> None:
    """It does not squeeze the generator's concepts into fewer rows."""
    whole, head = tmp_path / "whole", tmp_path / "head"
    run("evaluate", "sea", "--limit", "1500", "--scores", str(head))
    run("evaluate", "sea", "--scores", str(whole))
    assert lines(head) == lines(whole)[:1500]


CSV = "a,b,y\n1,2,0\n3,4,1\n5,6,2\n"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("evaluate",), "Missing argument 'STREAM...'"),
        (("evaluate", "absent.csv"), "there is no file absent.csv"),
        (("evaluate", "quux"), "there is no stream 'quux'"),
        (("evaluate", "{csv}"), "label 2 in row 2 is not one of 0, 1: give the number of classes with --classes,"),
        (("evaluate", "{csv}", "--label", "z"), "'z'"),
        (("evaluate", "{csv}", "--labels", "0"), "name two or more different labels"),
        (("evaluate", "{csv}", "--scores", "{dir}/no/such"), "cannot write"),
        (("evaluate", "sea", "--learner", "dfob"), "no learner 'dfob'; did you mean 'dfop'?"),
        (("evaluate", "sea", "--learner", "dfop:mu=2"), "learner dfop:mu=2: mu must be < 1, got 2"),
        (("evaluate", "sea", "--learner", "dfop:nu=2"), "no parameter 'nu'"),
        (("evaluate", "sea", "--learner", "dfop:mu"), "is not parameter=value"),
        (("evaluate", "sea", "--learner", ""), "it is empty"),
        (("evaluate", "sea", "--learner", "arow", "--task", "regression"), "arow does not learn regression"),
        (("evaluate", "sea", "--metric-window", "0"), "'--metric-window'"),
        (("evaluate", "sea", "--protocol", "cross"), "'--protocol'"),
        (("evaluate", "sea", "--colour"), "No such option"),
        (("evaluate", "sea:noise=7"), "noise must be a number from 0 to 1"),
        (("learners", "dfob"), "no learner 'dfob'; did you mean 'dfop'?"),
        (("worker",), "Missing option '--input'"),
        (("worker", "--input", "E"), "Missing option '--group'"),
        (("worker", "--input", "E", "--group", "g", "--commit-interval", "0"), "'--commit-interval'"),
        (("worker", "--input", "E", "--group", "g", "--output-format", "xml"), "'xml' is not one of 'json', 'packed'"),
        (("worker", "--input", "E", "--group", "g", "--output-format", "packed", "--classes", "65536",
          "--learner", "no_change"), "packed predictions hold at most 65535 scores"),
        (("worker", "--input", "E", "--group", "g", "--output-format", "avro"),
         "--output-format avro needs a schema registry: give --registry URL"),
        (("worker", "--input", "E", "--group", "g", "--registry", "http://h:1"), "--format json needs no --registry"),
        (("bench", "--output-format", "json,avro"), "'avro' is not one of 'json', 'packed'"),
        (("worker", "--input", "E", "--group", "g", "--http-port", "70000"), "'--http-port'"),
        (("worker", "--input", "E", "--group", "g", "--labels", "a,a"), "two or more different labels"),
        (("worker", "--input", "E", "--group", "g", "--labels", 'a, "b, c"'), "no class can have a comma in its name"),
        (("worker", "--input", "E", "--group", "g", "-X", "acks"), "client property 'acks' is not key=value"),
        (("worker", "--input", "E", "--group", "g", "-X", "sasl.password"), "is not key=value"),
        (("topics", "create", "--input", "E"), "Missing option '--partitions'"),
        (("wrk",), "No such command 'wrk'"),
    ],
)  # fmt: skip
def test_wrong_usage_is_exit_code_2_and_one_sentence(arguments: tuple[str, ...], words: str, tmp_path: Path) -> None:
    (tmp_path / "three.csv").write_text(CSV)
    places = {"{csv}": str(tmp_path / "three.csv"), "{dir}": str(tmp_path)}
    given = [re.sub(r"\{\w+\}", lambda found: places[found[0]], argument) for argument in arguments]
    assert words in refusal(*given)


def test_a_group_without_a_command_shows_its_help() -> None:
    done = run("topics")
    assert done.exit_code == 2
    assert "Commands:" in done.output


# learners.


def test_learners_json_describes_what_the_registry_has() -> None:
    found = json.loads(run("learners", "--json").stdout)
    assert [row["name"] for row in found] == list(learners.LEARNERS)
    for row in found:
        described = {"name", "family", "tasks", "parameters", "state", "description", "cost", "source", "score"}
        assert set(row) == {*described, "shares"}
        assert all(row[key] for key in ("family", "tasks", "cost", "source", "score")), row["name"]
        assert "---" not in row["description"], "ends where the docstring's sections begin"
        assert set(row["tasks"]) <= {"binary", "multiclass", "regression"}
        assert row["description"]
        for parameter in row["parameters"]:
            assert set(parameter) == {"name", "default", "values", "text"}
        assert row["state"]
        for field in row["state"]:
            assert set(field) == {"name", "shape", "text"}
            assert all(field.values())
    dfop = next(row for row in found if row["name"] == "dfop")
    assert dfop["state"][1]["name"] == "P"
    assert dfop["state"][1]["shape"] == "f8[d, d]"
    mu = dfop["parameters"][0]
    assert (mu["name"], mu["default"], mu["values"]) == ("mu", 0.005, "number, 0 <= value < 1")
    assert mu["text"].startswith("Forgetting factor")
    assert "Zhao and Zhou" in dfop["source"]
    assert (dfop["family"], dfop["cost"]) == ("least_squares", "O(d^2) per row; 8 d^2 + 8 d + 8 bytes.")


def test_learners_lists_all_and_describes_the_named_ones() -> None:
    listed = run("learners").stdout.splitlines()
    assert [line.split()[0] for line in listed] == list(learners.LEARNERS)
    text = run("learners", "dfop", "arow").stdout
    assert "Source: " in text
    assert "\nCost: O(d^2) per row; 8 d^2 + 8 d + 8 bytes.\n" in text
    assert "mu           number, 0 <= value < 1, default 0.005" in text
    assert "P            f8[d, d]     inverse of the ridge" in text
    assert "perceptron" not in text
