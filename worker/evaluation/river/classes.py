"""Models of River by name: find the class, and create the model with parameters given as text. Needs the extra `river`.

A parameter is a number, true, false, none, or a text. If it is a model, an optimiser or a similar object, it is written
as its class in River, followed by its own parameters after slashes:
``model=tree.HoeffdingTreeClassifier/grace_period=50``. Several are separated by +.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from pkgutil import iter_modules
from typing import Any

from driftway.learners.engine.parameters import ParameterError, parse_pairs
from driftway.learners.engine.suggestion import did_you_mean

PREFIX = "river"
INSTALL = "models of River need additional packages: pip install 'driftway[river]'"
CONSTANTS: dict[str, Any] = {"true": True, "false": False, "none": None}
NESTED = re.compile(r"([a-z_]+\.)+[A-Za-z]\w*(/[^+]*)?")
SEED = "seed"
FIRST_SEED = 1
"""Seed of a model that takes one and is given none: River would draw one from the clock."""


def import_river() -> Any:
    """Import River.

    Raises
    ------
    ParameterError
        It is not installed.
    """
    try:
        return import_module(PREFIX)
    except ImportError:
        raise ParameterError(INSTALL) from None


def find_class(path: str) -> type[Any]:
    """Return a public class of River, given as ``module.Class``, the module perhaps with another in it.

    Raises
    ------
    ParameterError
        River is not installed, or has no such class; the message suggests the closest one.
    """
    package = import_river()
    modules = [one.name for one in iter_modules(package.__path__) if not one.name.startswith("_")]
    module, _, name = path.rpartition(".")
    found = import_module(f"{PREFIX}.{module}") if _is_module(module, modules) else None
    if found is None:
        hint = did_you_mean(module, modules, f"write it as in {PREFIX}:tree.HoeffdingTreeClassifier")
        what = f"no module {module!r}" if module else f"no class {path!r}"
        raise ParameterError(f"River {package.__version__} has {what}; {hint}")
    names = [one for one in getattr(found, "__all__", ()) if inspect.isclass(getattr(found, one, None))]
    if name not in names:
        hint = did_you_mean(name, names, f"it has {', '.join(names) or 'no class'}")
        raise ParameterError(f"River {package.__version__} has no class {name!r} in {PREFIX}.{module}; {hint}")
    chosen: type[Any] = getattr(found, name)
    return chosen


def _is_module(name: str, modules: Sequence[str]) -> bool:
    """Whether River has a public module of this name, as ``tree`` or ``drift.binary``."""
    top, *_ = parts = name.split(".")
    return top in modules and all(map(str.isidentifier, parts)) and find_spec(f"{PREFIX}.{name}") is not None


def create(path: str, given: Mapping[str, str]) -> Any:
    """Create a model, or whatever else a parameter takes.

    Parameters
    ----------
    path : str
        Its class within River.
    given : mapping
        Its parameters as text. Without a `seed` it gets FIRST_SEED, if it takes one.

    Raises
    ------
    ParameterError
        There is no such class or parameter, one is missing, or the class refuses a value.
    """
    found = find_class(path)
    takes = inspect.signature(found).parameters
    open_ended = any(one.kind is inspect.Parameter.VAR_KEYWORD for one in takes.values())
    known = [name for name, one in takes.items() if one.kind in (one.POSITIONAL_OR_KEYWORD, one.KEYWORD_ONLY)]
    for name in given:
        if name not in known and not open_ended:
            has = f"it has {', '.join(known)}" if known else "it has none"
            raise ParameterError(f"{PREFIX}:{path} has no parameter {name!r}; {has}")
    values = {name: value_of(text) for name, text in given.items()}
    if SEED in takes:
        values.setdefault(SEED, FIRST_SEED)
    lacks = [name for name in known if takes[name].default is inspect.Parameter.empty and name not in values]
    if lacks:
        raise ParameterError(f"{PREFIX}:{path} needs the parameter {lacks[0]!r}")
    try:
        return found(**values)
    except Exception as error:
        raise ParameterError(f"{PREFIX}:{path} does not take these parameters: {in_words(error)}") from None


def seed_of(path: str, given: Mapping[str, str]) -> int | None:
    """Return the seed that `create` gives to a model, if it takes one."""
    if SEED not in inspect.signature(find_class(path)).parameters:
        return None
    seed = value_of(given.get(SEED, str(FIRST_SEED)))
    return seed if isinstance(seed, int) else None


def value_of(text: str) -> Any:
    """Return the value of a parameter.

    Raises
    ------
    ParameterError
        It names a class that cannot be created.
    """
    if text.lower() in CONSTANTS:
        return CONSTANTS[text.lower()]
    for number in (int, float):
        try:
            return number(text)
        except ValueError:
            continue
    parts: Sequence[str] = re.split(r"\+(?!\d)", text)
    if not all(NESTED.fullmatch(part) for part in parts):
        return text
    made = [_nested(part) for part in parts]
    return made if len(made) > 1 else made[0]


def _nested(text: str) -> Any:
    path, _, rest = text.partition("/")
    return create(path, parse_pairs(rest.replace("/", ","), text))


def in_words(error: Exception) -> str:
    """Return an exception of River as part of a sentence."""
    return f"{type(error).__name__}: {' '.join(str(error).split())}".removesuffix(": ")
