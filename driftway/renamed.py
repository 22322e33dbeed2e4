"""Former names of options, accepted in one release: on the command line, in the environment, in a config file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

PREFIX = "DRIFTWAY_"
STILL = "the old name will stop working in 0.2"


class RenamedOption(NamedTuple):
    """The present name of an option, as it is typed.

    Attributes
    ----------
    name : str
        The name.
    values : Mapping of str to str
        Former value -> present value, where values have other names, too.
    warns : bool
        Whether the user is told; not for a second name that stays.
    """

    name: str
    values: Mapping[str, str] = {}
    warns: bool = True


RENAMED = {
    "--if-unrestorable": RenamedOption("--on-restore-failure", {"refuse": "fail", "fresh": "reset"}),
    "--if-offset-lost": RenamedOption("--on-offset-out-of-range", {"refuse": "fail"}),
    "--give-up-after": RenamedOption("--unavailable-timeout"),
    "--outputs": RenamedOption("--output-prefix"),
    "--window": RenamedOption("--metric-window"),
    "--share": RenamedOption("--share-models"),
    "--relearn-share": RenamedOption("--relearn-cpu-share"),
    "--transactional-prefix": RenamedOption("--transactional-id-prefix"),
    "--transactional": RenamedOption("--transactional-id"),
    "--profile": RenamedOption("--load-profile"),
    "--truth": RenamedOption("--concept-headers"),
    "--replication": RenamedOption("--replication-factor"),
    "--bootstrap-server": RenamedOption("--bootstrap", warns=False),  # what Kafka's own tools call it
}
"""Former name -> present name, in all commands."""


def present_words(words: Sequence[str], warnings: list[str]) -> list[str]:
    """Return a command line with present names.

    Parameters
    ----------
    words : Sequence of str
        What follows the command's name.
    warnings : list of str
        Gets a sentence for each former name.
    """
    found: list[str] = []
    values: Mapping[str, str] = {}
    for at, word in enumerate(words):
        if word == "--":
            return [*found, *words[at:]]
        name, equals, value = word.partition("=")
        if name in RENAMED:
            _warn(warnings, name, RENAMED[name].name, RENAMED[name])
            values = {} if equals else RENAMED[name].values
            found.append(RENAMED[name].name + equals + RENAMED[name].values.get(value, value))
        else:
            found.append(values.get(word, word))
            values = {}
    return found


def present_keys(table: Mapping[str, Any], place: str, warnings: list[str]) -> dict[str, Any]:
    """Return a table of a config file with present names, those of the tables in it, too.

    Parameters
    ----------
    table : Mapping of str to Any
        Keys with - or _.
    place : str
        The file, for the sentences.
    warnings : list of str
        Gets a sentence for each former name.
    """
    found: dict[str, Any] = {}
    for key, value in table.items():
        if isinstance(value, dict):
            found[key] = present_keys(value, place, warnings)
            continue
        new = RENAMED.get("--" + key.replace("_", "-"))
        if new is None:
            found[key] = value
        else:
            now = _as_key(new.name)
            _warn(warnings, f"{place}: {key}", now, new)
            found.setdefault(now, new.values.get(value, value) if isinstance(value, str) else value)
    return found


def former_variables(environ: Mapping[str, str], warnings: list[str]) -> dict[str, str]:
    """Return what variables with former names say, by present key.

    Parameters
    ----------
    environ : Mapping of str to str
        The environment.
    warnings : list of str
        Gets a sentence for each former name.
    """
    found = {}
    for old, new in RENAMED.items():
        variable = variable_of(old)
        if variable in environ:
            _warn(warnings, variable, variable_of(new.name), new)
            found[_as_key(new.name)] = new.values.get(environ[variable], environ[variable])
    return found


def variable_of(option: str) -> str:
    """Return the environment variable of an option, given as it is typed."""
    return PREFIX + _as_key(option).upper()


def _as_key(option: str) -> str:
    return option.removeprefix("--").replace("-", "_")


def _warn(warnings: list[str], old: str, now: str, new: RenamedOption) -> None:
    if new.warns:
        other = ", ".join(f"{before} is now {after}" for before, after in new.values.items())
        warnings.append(f"{old} is now {now}{f' ({other})' if other else ''}; {STILL}")
