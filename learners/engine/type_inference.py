"""Type inference that caches what an operation on given types returns.

numba tries up to ten templates for each operator, attribute and item of every line, most of them with types that it has
just tried.
"""

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from numba.core import types
from numba.core.compiler_machinery import register_pass
from numba.core.typed_passes import NopythonTypeInference


class _CachingContext:
    """A typing context that caches its answers about builtin operations; all else is the context's own."""

    def __init__(self, context: Any) -> None:
        self._context = context
        self._cached: dict[Any, Any] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._context, name)

    def resolve_function_type(self, function: Any, args: Any, kws: Mapping[str, Any]) -> Any:
        resolve = self._context.resolve_function_type
        if not isinstance(function, types.Function):  # subroutines may call themselves, see numba's call stack
            return resolve(function, args, kws)
        key = "call", function, tuple(args), tuple(kws.items())
        return self._once(key, resolve, function, args, kws)

    def resolve_getattr(self, kind: Any, name: str) -> Any:
        return self._once(("attribute", kind, name), self._context.resolve_getattr, kind, name)

    def resolve_setitem(self, target: Any, index: Any, value: Any) -> Any:
        return self._once(("item", target, index, value), self._context.resolve_setitem, target, index, value)

    def _once(self, key: Any, resolve: Callable[..., Any], *given: Any) -> Any:
        if (found := self._cached.get(key)) is None:
            found = self._cached[key] = resolve(*given)
        return found


caching = cache(_CachingContext)
"""Return the caching context of a typing context, the same each time."""


@register_pass(mutates_CFG=True, analysis_only=False)
class TypeInference(NopythonTypeInference):
    """numba's type inference with the answers that earlier functions got."""

    _name = "driftway_type_inference"

    def run_pass(self, state: Any) -> bool:
        """Infer the types of a function's variables."""
        own = state.typingctx
        state.typingctx = caching(own)
        try:
            return bool(super().run_pass(state))
        finally:
            state.typingctx = own
