"""Type inference that asks numba once what an operation on given types returns.

numba tries up to ten templates for each operator, attribute and item of every line, most of them with types that it
has just been asked about.
"""

from collections.abc import Mapping
from functools import cache
from typing import Any

from numba.core import types
from numba.core.compiler_machinery import register_pass
from numba.core.typed_passes import NopythonTypeInference


class _RememberingContext:
    """A typing context that keeps its answers about builtin operations; all else is the context's own."""

    def __init__(self, context: Any) -> None:
        self._context = context
        self._calls: dict[Any, Any] = {}
        self._attributes: dict[Any, Any] = {}
        self._stores: dict[Any, Any] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._context, name)

    def resolve_function_type(self, function: Any, args: Any, kws: Mapping[str, Any]) -> Any:
        if not isinstance(function, types.Function):  # subroutines may call themselves, see numba's call stack
            return self._context.resolve_function_type(function, args, kws)
        key = function, tuple(args), tuple(kws.items())
        if (found := self._calls.get(key)) is None:
            found = self._calls[key] = self._context.resolve_function_type(function, args, kws)
        return found

    def resolve_getattr(self, kind: Any, name: str) -> Any:
        key = kind, name
        if (found := self._attributes.get(key)) is None:
            found = self._attributes[key] = self._context.resolve_getattr(kind, name)
        return found

    def resolve_setitem(self, target: Any, index: Any, value: Any) -> Any:
        key = target, index, value
        if (found := self._stores.get(key)) is None:
            found = self._stores[key] = self._context.resolve_setitem(target, index, value)
        return found


@cache
def _remembering(context: Any) -> _RememberingContext:
    return _RememberingContext(context)


@register_pass(mutates_CFG=True, analysis_only=False)  # type: ignore[no-untyped-call]
class TypeInference(NopythonTypeInference):
    """numba's type inference with the answers of earlier functions."""

    _name = "driftway_type_inference"

    def run_pass(self, state: Any) -> bool:
        """Infer the types of a function's variables."""
        own = state.typingctx
        state.typingctx = _remembering(own)
        try:
            return bool(super().run_pass(state))  # type: ignore[no-untyped-call]
        finally:
            state.typingctx = own
