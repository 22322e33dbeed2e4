"""What the machine code of a kernel depends on, as a digest: the functions that it runs and the values that they use.

Functions enter by their bytecode, so that comments, docstrings and line numbers do not count.
"""

import dis
import hashlib
import sys
from collections.abc import Iterator
from enum import Enum
from functools import cache
from itertools import pairwise
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np

LIBRARIES = {"numba", "numpy", *sys.stdlib_module_names}
"""Packages whose functions enter by name: their versions are part of the key of the cache."""
ATOMS = bool, int, float, complex, str, bytes, type(None), type(...)


def digest_of(function: FunctionType) -> str:
    """Return a digest of a function, of every function that it calls, and of all constants in them.

    Raises
    ------
    TypeError
        One of them uses a value that cannot be compared between processes.
    """
    digest, known, waiting = hashlib.blake2b(digest_size=16), {function}, [function]
    while waiting:
        text, called = _described(waiting.pop())
        digest.update(text.encode())
        new = [one for one in called if one not in known]
        known.update(new)
        waiting += new
    return digest.hexdigest()


@cache
def _described(function: FunctionType) -> tuple[str, tuple[FunctionType, ...]]:
    """Return a function's own code and values as text, and the functions that it refers to."""
    called: dict[FunctionType, None] = {}
    values: dict[str, Any] = {"defaults": function.__defaults__, "keywords": function.__kwdefaults__}
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    values |= {name: cell.cell_contents for name, cell in cells}
    values |= dict(_globals(function.__code__, function.__globals__))
    text = [_code(function.__code__, function.__doc__)]
    for name, value in values.items():
        try:
            text.append(f"{name}={_text(value, called)}")
        except TypeError as error:
            raise TypeError(f"{function.__module__}.{function.__qualname__}: {name} is {error}") from None
    return "\n".join(text), tuple(called)


def _code(code: CodeType, documentation: str | None = None) -> str:
    """Return what a function does, without what only describes it."""
    constants = [
        _code(one) if isinstance(one, CodeType) else None if at == 0 and one == documentation else one
        for at, one in enumerate(code.co_consts)
    ]
    signature = code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_varnames, code.co_freevars
    return f"{signature} {code.co_code.hex()} {code.co_names} {[_text(one, {}) for one in constants]}"


def _globals(code: CodeType, known: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield the globals that a function looks up, and what it looks up in modules of this project."""
    for one, after in pairwise(dis.get_instructions(code)):
        if one.opname == "LOAD_GLOBAL" and one.argval in known:
            value = known[one.argval]
            if isinstance(value, ModuleType) and not _is_library(value.__name__):
                yield f"{one.argval}.{after.argval}", getattr(value, after.argval)
            else:
                yield one.argval, value
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from _globals(inner, known)


def _text(value: Any, called: dict[FunctionType, None]) -> str:
    """Return a value as text that is the same in every process; functions are added to `called`."""
    if isinstance(value, ATOMS):
        return f"{type(value).__name__} {value!r}"
    if isinstance(value, tuple | list):
        return f"{type(value).__qualname__}({', '.join(_text(one, called) for one in value)})"
    if isinstance(value, frozenset):
        return f"set{sorted(_text(one, called) for one in value)}"
    if isinstance(value, dict):
        return f"dict{[(key, _text(one, called)) for key, one in value.items()]}"
    if isinstance(value, np.ndarray | np.generic):
        return f"{value.dtype.str} {value.shape} {value.tobytes().hex()}"
    function = getattr(value, "py_func", getattr(value, "_defn", value))
    if isinstance(function, FunctionType):
        if not _is_library(function.__module__):
            called[function] = None
        inline = " inline" if getattr(value, "inline", False) is True else ""
        return f"{function.__module__}.{function.__qualname__}{inline}"
    if isinstance(value, type):
        members = [_text(one.value, called) for one in value] if issubclass(value, Enum) else ()
        return f"{value.__module__}.{value.__qualname__} {getattr(value, '_fields', ())} {members}"
    if isinstance(value, ModuleType | BuiltinFunctionType | np.ufunc):
        return value.__name__
    if type(value).__module__.partition(".")[0] in ("numba", "numpy"):  # a type of numba, a dtype
        return repr(value)
    raise TypeError(f"a {type(value).__qualname__}, which cannot be compared between processes")


def _is_library(module: str) -> bool:
    return module.partition(".")[0] in LIBRARIES
