"""The command line in the process of the test."""

from __future__ import annotations

from click.testing import CliRunner, Result

from driftway.cli import main


def run(*words: object, **env: str) -> Result:
    """Run `driftway` with these words and variables of the environment, without a folder of public streams."""
    return CliRunner(env={"DRIFTWAY_DATA": None, **env}).invoke(main, [str(word) for word in words])
