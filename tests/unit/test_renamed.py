"""Former names of options: each is accepted, with one sentence, wherever options come from, and is nowhere in help."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from driftway.cli import main
from driftway.commands import COMMANDS, leaves, load, options_of
from driftway.renamed import RENAMED, RenamedOption, former_variables, present_keys, present_words

OPTIONS = {
    (name, sub): {word for option in options_of(one).values() for word in option.opts}
    for name in COMMANDS
    for sub, one in leaves(load(name)).items()
}
SENTENCE = "--window is now --metric-window; the old name will stop working in 0.2"
BAD = "'--metric-window': 0 is not in the range"


def evaluated(*words: str, **env: str) -> str:
    """What an evaluation with a wrong window says on standard error."""
    done = CliRunner(env=env).invoke(main, [*words, "evaluate", "sea:rows=9"])
    assert done.exit_code == 2
    return done.stderr


def test_each_present_name_exists_and_no_former_name_does() -> None:
    every = set().union(*OPTIONS.values())
    assert {new.name for new in RENAMED.values()} <= every
    assert not every & RENAMED.keys()


@pytest.mark.parametrize("old", RENAMED)
def test_a_former_name_is_replaced_with_its_values(old: str) -> None:
    new, warnings = RENAMED[old], list[str]()
    for before, after in (*new.values.items(), ("x=1", "x=1")):
        assert present_words(["a", old, before, "--", old], warnings) == ["a", new.name, after, "--", old]
        assert present_words([f"{old}={before}", before], warnings) == [f"{new.name}={after}", before]
    assert len(warnings) == (2 * len(new.values) + 2) * new.warns
    assert all(sentence.startswith(f"{old} is now {new.name}") for sentence in warnings)


def test_the_command_line_says_it_once() -> None:
    done = CliRunner().invoke(main, ["evaluate", "sea:rows=9", "--window", "0"])
    assert done.exit_code == 2
    assert done.stderr.startswith(f"driftway: {SENTENCE}\n")
    assert done.stderr.count("old name") == 1
    assert BAD in done.stderr


def test_a_worker_says_it_too_if_its_log_does_not_begin() -> None:
    done = CliRunner().invoke(main, ["worker", "--input", "E", "--group", "g", "--give-up-after", "-1"])
    assert done.exit_code == 2
    assert done.stderr.startswith("driftway: --give-up-after is now --unavailable-timeout; ")
    assert "'--unavailable-timeout'" in done.stderr


def test_the_environment_and_a_config_file_say_it_once(tmp_path: Path) -> None:
    said = evaluated(DRIFTWAY_WINDOW="0")
    assert said.startswith("driftway: DRIFTWAY_WINDOW is now DRIFTWAY_METRIC_WINDOW; ")
    assert BAD in said
    file = tmp_path / "c.toml"
    for text in ("window = 0", "[evaluate]\nwindow = 0"):
        file.write_text(text)
        said = evaluated("--config", str(file))
        assert said.startswith(f"driftway: config {file}: window is now metric_window; ")
        assert said.count("old name") == 1
        assert BAD in said


def test_present_names_win() -> None:
    assert present_keys({"give-up-after": 1, "unavailable_timeout": 2}, "f", []) == {"unavailable_timeout": 2}
    assert "0 is not in the range" not in evaluated(DRIFTWAY_WINDOW="0", DRIFTWAY_METRIC_WINDOW="-7")


def test_values_follow_in_the_environment_and_in_files() -> None:
    warnings: list[str] = []
    assert former_variables({"DRIFTWAY_IF_UNRESTORABLE": "fresh"}, warnings) == {"on_restore_failure": "reset"}
    assert present_keys({"worker": {"if-unrestorable": "refuse"}}, "f", warnings) == {
        "worker": {"on_restore_failure": "fail"}
    }
    assert len(warnings) == 2


def test_kafkas_own_word_for_the_address_is_accepted_without_a_word() -> None:
    warnings: list[str] = []
    assert RENAMED["--bootstrap-server"] == RenamedOption("--bootstrap", warns=False)
    assert present_words(["--bootstrap-server", "h:1"], warnings) == ["--bootstrap", "h:1"]
    assert warnings == []
