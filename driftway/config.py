"""Option defaults from a TOML file, and a check for unknown environment variables."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import date
from datetime import time as clock
from typing import Any

import click

from driftway.commands import COMMANDS, leaves, load, options_of, plain
from driftway.renamed import PREFIX, RENAMED, former_variables, present_keys, variable_of
from driftway.worker.errors import UsageFailure, read_file

EVENT = "event"
EVENT_KEYS = ("feature", "label", "id", "time", "envelope", "missing", "missing_indicators")
"""Keys of a config file's table `event`: how events are read, for every command that has all of these options."""
EVENT_KEYS_OF_SOME = ("unknown_fields",)
"""Further keys of that table, for those of these commands that have the option."""
OTHER_VARIABLES = (
    "DRIFTWAY_CONFIG",
    "DRIFTWAY_BENCH",
    "DRIFTWAY_FAULT_SEED",
    "DRIFTWAY_GOLDEN",
    "DRIFTWAY_DATA",
    "DRIFTWAY_KAFKA_VERSION",
)
"""Variables that belong to no command's option: those for the config file and for the local Kafka, and for tests."""


def read_config(
    path: str | None,
    environ: Mapping[str, str] | None = None,
    warnings: list[str] | None = None,
    wanted: str | None = None,
) -> dict[str, Any]:
    """Read defaults per command from a TOML file: top-level keys apply to all commands that have them, a table to one.

    The table of a group (`topics`) applies to its commands, and may contain a table for each. `check` also reads that
    of `worker`. The table `event` says how events are read, for every command that reads them. Variables with former
    names win over the file.

    Parameters
    ----------
    path : str or None
        The file.
    environ : Mapping of str to str, optional
        The environment.
    warnings : list of str, optional
        Gets a sentence for each former name of an option.
    wanted : str, optional
        The command that is called. A list for all commands counts only for this one: others may take one value.

    Raises
    ------
    UsageFailure
        The file cannot be read or names a command or option that does not exist.
    """
    warnings = [] if warnings is None else warnings
    former = former_variables(environ or {}, warnings)
    if path is None:
        return {} if not former else _per_command("the environment", {}, {}, {}, former, wanted)
    import tomllib

    try:
        given = tomllib.loads(read_file(path, f"config {path}").decode("utf-8-sig"))
    except RecursionError:
        raise UsageFailure(f"config {path} is not TOML that can be read: its lists are nested too deeply") from None
    except ValueError as error:  # no TOML, no UTF-8, or a number of thousands of digits
        raise UsageFailure(f"config {path} is not TOML: {error}") from None
    given = present_keys(given, f"config {path}", warnings)
    event, inside = _parted(given.pop(EVENT, {})) if isinstance(given.get(EVENT, {}), dict) else ({}, {})
    if inside:
        raise UsageFailure(f"config {path}: [{EVENT}] takes keys, not tables such as {min(inside)!r}")
    _require_known(path, f"[{EVENT}]", event, EVENT_KEYS + EVENT_KEYS_OF_SOME)
    common, tables = _parted(given)
    for name in tables:
        if name not in COMMANDS:
            raise UsageFailure(f"config {path}: no command {name!r}; tables are named after commands")
    return _per_command(path, common, tables, event, former, wanted)


def _per_command(
    path: str,
    common: dict[str, Any],
    tables: dict[str, dict[str, Any]],
    event: dict[str, Any],
    former: Mapping[str, str],
    wanted: str | None,
) -> dict[str, Any]:
    """Return each command's defaults."""
    commands = {name: leaves(load(name)) for name in COMMANDS}
    _require(path, "any command", common, [c for group in commands.values() for c in group.values()])
    defaults: dict[str, Any] = {}
    for name, group in commands.items():
        own, inner = _parted(tables.get(name, {}))
        _require(path, name, own, list(group.values()))
        for sub in inner:
            if any(plain(sub) in options_of(one) for one in group.values()):
                raise UsageFailure(f"config {path}: {plain(sub)!r} takes a value, not a table")
            if sub not in group:
                raise UsageFailure(f"config {path}: {name} has no command {sub!r}")
            _require(path, f"{name} {sub}", inner[sub], [group[sub]])
        if name == "check":  # has all options of a worker, and is run with the same file
            own = {**tables.get("worker", {}), **own}
        general = common
        if wanted not in (None, name):
            general = {key: value for key, value in common.items() if not isinstance(value, list)}
        filled = {
            sub: _filled(path, one, {**general, **_of_events(one, event), **own, **inner.get(sub, {}), **former})
            for sub, one in group.items()
        }
        defaults[name] = filled.get("", filled)
    return defaults


def require_compiler(environ: Mapping[str, str]) -> None:
    """Fail if numba is told not to compile, as kernels have parts that plain Python cannot run, or cannot start.

    Raises
    ------
    UsageFailure
        It is told so.
    """
    if environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0"):
        raise UsageFailure("NUMBA_DISABLE_JIT is set, but kernels run only compiled: unset it")
    threads = environ.get("NUMBA_NUM_THREADS") or "1"
    if not threads.isdecimal() or int(threads) < 1:
        raise UsageFailure(f"NUMBA_NUM_THREADS={threads} is not an integer of at least 1: unset it")


def require_known_variables(environ: Mapping[str, str]) -> None:
    """Fail on a variable DRIFTWAY_... that no command reads, because it would be ignored silently.

    Raises
    ------
    UsageFailure
        There is one; the message suggests the nearest name.
    """
    others = {*OTHER_VARIABLES, *map(variable_of, RENAMED)}
    given = [name for name in environ if name.startswith(PREFIX) and name not in others]
    if not given:
        return
    from driftway.learners.engine.suggestion import did_you_mean

    options = (options_of(one).values() for name in COMMANDS for one in leaves(load(name)).values())
    known = {str(option.envvar) for some in options for option in some}
    for name in given:
        if name not in known:
            bare = [one.removeprefix(PREFIX) for one in known]
            otherwise = "variables are DRIFTWAY_ followed by an option's name"
            hint = did_you_mean(name.removeprefix(PREFIX), bare, otherwise, write=PREFIX.__add__)
            raise UsageFailure(f"environment variable {name} is not known; {hint}")


def _parted(table: dict[str, Any]) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
    """Split a TOML table into its options and the tables inside it."""
    options = {plain(key): value for key, value in table.items() if not isinstance(value, dict)}
    inside = {key: value for key, value in table.items() if isinstance(value, dict)}
    return options, {key: {plain(k): v for k, v in value.items()} for key, value in inside.items()}


def _require(path: str, owner: str, given: dict[str, Any], commands: list[click.Command]) -> None:
    """Fail on the first key that is not an option of any of the commands."""
    _require_known(path, owner, given, {key for command in commands for key in options_of(command)})


def _of_events(command: click.Command, event: dict[str, Any]) -> dict[str, Any]:
    """Return the table `event` for a command that reads events, else nothing: its --label may mean something else."""
    return event if options_of(command).keys() >= set(EVENT_KEYS) else {}


def _require_known(path: str, owner: str, given: dict[str, Any], known: Collection[str]) -> None:
    """Fail on the first key that is not known."""
    from driftway.learners.engine.suggestion import did_you_mean

    for key in given:
        if key not in known:
            hint = did_you_mean(key, known, "")
            raise UsageFailure(f"config {path}: no option {key!r} of {owner}{hint and f'; {hint}'}")


def _filled(path: str, command: click.Command, given: dict[str, Any]) -> dict[str, Any]:
    """Return a command's defaults as click takes them; a repeatable option may be given as one value."""
    defaults: dict[str, Any] = {}
    for key, option in options_of(command).items():
        if key not in given or option.name is None:
            continue
        value = given[key]
        if isinstance(value, list) and not option.multiple:
            raise UsageFailure(f"config {path}: {key!r} takes one value, not a list")
        flag = isinstance(option.type, click.types.BoolParamType)
        for one in value if isinstance(value, list) else [value]:
            if flag and not isinstance(one, bool | str):
                raise UsageFailure(f"config {path}: {key!r} takes true or false, not {one}")
            if isinstance(one, float) and isinstance(option.type, click.types.IntParamType):
                raise UsageFailure(f"config {path}: {key!r} takes a whole number, not {one}")
            if isinstance(one, bool) and not flag:
                raise UsageFailure(f"config {path}: {key!r} takes a value, not {str(one).lower()}")
        value = [_as_typed(one) for one in value] if isinstance(value, list) else _as_typed(value)
        defaults[option.name] = [value] if option.multiple and not isinstance(value, list) else value
    return defaults


def _as_typed(value: Any) -> Any:
    """Return a date or time of TOML as a user would type it; other values as they are."""
    return value.isoformat() if isinstance(value, date | clock) else value
