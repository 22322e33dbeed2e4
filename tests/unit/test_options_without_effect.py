"""An option that would have no effect is refused; a default for all commands, in the environment or a file, is not."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from driftway import learners
from driftway.cli import main
from tests.unit.worker.trained import written

PLACE = "--input", "E", "--group", "g"
WORKER = "worker", *PLACE, "-X", "nonsense"
"""Client properties are checked after the model, so an error about them means that the model was accepted."""
ACCEPTED = "client property 'nonsense' is not key=value"
NO_ADDRESS = "--http-host needs --http-port: without it nothing is served"
NO_REGISTRY = "--registry-property needs a schema registry: give --registry URL"


def refusal(*arguments: object, **env: str) -> str:
    """Return the one sentence with which a command line is refused."""
    done = CliRunner(env=env).invoke(main, [str(one) for one in arguments])
    assert (done.exit_code, done.stdout) == (2, ""), (done.output, done.exception)
    return done.stderr.strip().splitlines()[-1].removeprefix("driftway: ").removeprefix("Error: ")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("worker", *PLACE, "--registry-property", "timeout=5"), NO_REGISTRY),
        (("explain", *PLACE, "--partition", "0", "--offset", "0", "--registry-property", "timeout=5"), NO_REGISTRY),
        (("check", *PLACE, "--http-host", "0.0.0.0"), NO_ADDRESS),
        (("evaluate", "sea", "--label-wait", "10"), "No such option '--label-wait'"),
        (("train", "sea", "--out", "m", "--label-wait", "10"), "No such option '--label-wait'"),
        (("train", "sea", "--out", "m", "--registry", "http://h:1"), "No such option '--registry'"),
        (("evaluate", "sea", "--format", "avro"), "--format needs --topic"),
        (("evaluate", "sea", "--registry", "http://h:1"), "--registry needs --topic"),
        (("evaluate", "sea", "-X", "acks=1"), "-X needs --topic"),
    ],
)
def test_an_option_without_effect_is_refused(arguments: tuple[str, ...], words: str) -> None:
    assert refusal(*arguments).startswith(words)


def test_defaults_for_all_commands_are_not_refused() -> None:
    variables = {
        "DRIFTWAY_LABEL_WAIT": "10", "DRIFTWAY_REGISTRY": "http://h:1", "DRIFTWAY_REGISTRY_PROPERTY": "timeout=5",
        "DRIFTWAY_BOOTSTRAP": "h:1", "DRIFTWAY_HTTP_HOST": "0.0.0.0",
    }  # fmt: skip
    done = CliRunner(env=variables).invoke(main, ["evaluate", "sea", "--learner", "no_change", "--limit", "10"])
    assert done.exit_code == 0, done.output
    assert refusal(*WORKER, **variables) == ACCEPTED
    del variables["DRIFTWAY_REGISTRY"]
    assert refusal(*WORKER, **variables) == ACCEPTED


def test_a_registry_for_all_commands_is_not_used_with_events_in_json(tmp_path: Path) -> None:
    config = tmp_path / "all.toml"
    config.write_text('registry = "http://h:1"\n[worker]\nregistry_property = ["timeout=5"]\n')
    assert refusal("--config", config, *WORKER) == ACCEPTED
    assert refusal(*WORKER, "--registry", "http://h:1") == "--format json needs no --registry"


def test_models_can_be_shared_only_if_one_of_them_learns(tmp_path: Path) -> None:
    file = tmp_path / "m.driftway"
    written(file, learners.create("pa1", 2))
    frozen = *WORKER, "--warm-start", file, "--frozen", "--share-models", "average"
    assert refusal(*frozen).startswith("--share-models: a frozen model learns nothing that it could share; linear")
    assert refusal(*frozen, "--learner", "auto").startswith("--share-models: auto has nothing to share; linear")
    assert refusal(*frozen, "--learner", "arow") == ACCEPTED
    assert refusal(*(one for one in frozen if one != "--frozen")) == ACCEPTED
