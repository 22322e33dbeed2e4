"""The command lines in deploy/ and in the image are those of this version."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from driftway.config import read_config, require_known_variables
from driftway.learners.spec import Spec
from tests.support.process import ROOT
from tests.unit.deployment.commands import COMPOSE, command_lines, compose, container, unit
from tests.unit.test_readme import parsed

LINES = [(path, words) for path, words in command_lines()]


@pytest.mark.parametrize(("path", "words"), LINES, ids=[f"{path}:{' '.join(words[:3])}" for path, words in LINES])
def test_the_command_line_is_one_of_this_version(path: str, words: list[str]) -> None:
    words = words[2:] if words[0] == "--config" else words
    if words[1:] or words[0] != "worker":  # the unit's worker has all from its file
        name, given = parsed(shlex.join(["driftway", *words]))
        assert name in ("worker", "topics", "replay", "warm")
        for learner in given.get("learner") or ():
            Spec.parse(learner).create(4, 2, given["task"])


def test_command_lines_of_every_kind_of_file_are_found() -> None:
    assert {path for path, _ in LINES} == {
        *COMPOSE, "Dockerfile", "deploy/systemd/driftway@.service", "deploy/kubernetes/statefulset.yaml",
    }  # fmt: skip


def test_the_example_options_of_the_unit_exist() -> None:
    worker = read_config(str(ROOT / "deploy/systemd/fraud.toml"))["worker"]
    assert {"input_", "group", "bootstrap", "labels", "http_port", "feature", "label_wait"} <= set(worker)


def test_a_check_takes_the_options_of_the_worker_from_its_file(tmp_path: Path) -> None:
    given = read_config(str(ROOT / "deploy/systemd/fraud.toml"))
    assert given["check"] == given["worker"]
    file = tmp_path / "config.toml"
    file.write_text('[worker]\ninput = "A"\ngroup = "g"\n[check]\ninput = "B"\nrows = 10\n')
    given = read_config(str(file))
    assert given["check"] == {"input_": "B", "group": "g", "rows": 10}
    assert given["worker"] == {"input_": "A", "group": "g"}


def test_environment_variables_belong_to_options() -> None:
    login = (ROOT / "deploy/systemd/login.conf").read_text()
    (line,) = [line for line in login.splitlines() if line.startswith("Environment=")]
    name, _, value = line.removeprefix("Environment=").partition("=")
    given = {name: value} | {one["name"]: one.get("value", "") for one in container()["env"]}
    for path in COMPOSE:
        for service in compose(path)["services"].values():
            given |= {key: str(value) for key, value in service.get("environment", {}).items()}
    assert len([name for name in given if name.startswith("DRIFTWAY_")]) == 2
    require_known_variables(given)


def test_a_mistyped_variable_is_detected() -> None:
    with pytest.raises(Exception, match="did you mean DRIFTWAY_CLIENT_PROPERTIES"):
        require_known_variables({"DRIFTWAY_CLIENT_PROPERTY": "x"})


def test_the_unit_restarts_after_exit_codes_for_which_a_restart_helps() -> None:
    from driftway.worker.errors import CannotRestore, Failure, Fenced, Unreachable, UsageFailure

    given = dict(unit())
    kept_down = {int(code) for code in given["RestartPreventExitStatus"].split()}
    assert kept_down == {one.exit_code for one in (Failure, UsageFailure, Fenced, CannotRestore)}
    assert Unreachable.exit_code not in kept_down
    assert given["Restart"] == "on-failure"
