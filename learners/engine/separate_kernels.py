"""Kernels that other kernels call by their address: compiled separately, once, whichever kernels call them.

Otherwise, what a kernel calls is a part of it, and one process compiles both. A large learner that consists of separate
kernels is compiled by several processes in parallel, and shares them with other kernels that call them.
"""

from typing import Any

from numba.core import cgutils, types
from numba.core.codegen import JITCodeLibrary
from numba.core.imputils import lower_builtin
from numba.core.typing.templates import AbstractTemplate, signature

from driftway.learners.engine.kernel_cache import PREFIX, is_linked, link, name_of

_CALLED: dict[str, tuple[Any, tuple[Any, ...]]] = {}
"""Symbol -> the kernel and the types of its arguments, for each call that this process has compiled."""


class Library(JITCodeLibrary):
    """Code whose functions are not optimised before they are linked: that of the whole takes no longer for it."""

    def _optimize_functions(self, ll_module: Any) -> None:
        ll_module.data_layout = self._codegen._data_layout  # noqa: SLF001

    def _optimize_final_module(self) -> None:
        """Optimise once; numba's first optimisation is for reference counts, of which kernels have none."""
        made = self._codegen._module_pass_manager()  # noqa: SLF001
        manager, *builder = made if isinstance(made, tuple) else (made,)  # numba 0.61 has no builder
        manager.run(self._final_module, *builder)


class KernelLibrary(Library):
    """The machine code of a kernel, and the names of the separate kernels that it calls."""

    called: tuple[str, ...] = ()

    def finalize(self) -> None:
        """Link once each subroutine that the kernel calls, directly or through others."""
        found: dict[Any, None] = {}
        left = self._linking_libraries
        while left:
            library = left.pop()
            if library not in found:
                found[library] = None
                left += library._linking_libraries if isinstance(library, Library) else ()  # noqa: SLF001
        self._linking_libraries = list(found)
        super().finalize()

    def _finalize_final_module(self) -> None:
        declared = [one.name for one in self._final_module.functions if one.is_declaration]
        self.called = tuple(name.removeprefix(PREFIX) for name in declared if name.startswith(PREFIX))
        for name in self.called:
            if not is_linked(name):
                kernel, arguments = _CALLED[name]
                kernel.compile(arguments)
                link(name, kernel.overloads[arguments])
        super()._finalize_final_module()


def call_type(kernel: Any, result: Any) -> Any:
    """Return the type of a separate kernel in others: a function that is called by its symbol.

    `kernel` is a `driftway.learners.engine.subroutines.CompiledFunction`, `result` the type that it returns. It is not
    compiled, nor typed, until the caller is linked.
    """

    class Call(AbstractTemplate):
        key = kernel

        def generic(self, args: Any, _kws: Any) -> Any:
            return signature(result, *map(types.unliteral, args))

    def generate(context: Any, builder: Any, called: Any, arguments: Any) -> Any:
        name = name_of(kernel.py_func, called.args)
        _CALLED[name] = kernel, called.args
        kind = context.call_conv.get_function_type(called.return_type, called.args)
        function = cgutils.get_or_insert_function(builder.module, kind, PREFIX + name)
        status, value = context.call_conv.call_function(builder, function, called.return_type, called.args, arguments)
        with cgutils.if_unlikely(builder, status.is_error):
            context.call_conv.return_status_propagate(builder, status)
        return value

    lower_builtin(kernel, types.VarArg(types.Any))(generate)
    return types.Function(Call)
