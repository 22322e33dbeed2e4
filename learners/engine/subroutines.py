"""Functions that kernels call: compiled to a module of their own, but optimised and translated only within a kernel.

numba makes machine code of every function that another calls, with all that it calls in turn: of a helper three calls
deep it does so four times. Here a helper is typed and lowered once for its types, and linked into each kernel
(docs/decisions/0048).
"""

import inspect
from functools import cached_property
from typing import Any

from llvmlite.binding import Linkage
from numba import types
from numba._dynfunc import make_function
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import register_pass
from numba.core.registry import CPUDispatcher
from numba.core.typed_passes import InlineOverloads, NativeLowering, NopythonRewrites, NopythonTypeInference
from numba.core.untyped_passes import InlineClosureLikes, InlineInlinables, MakeFunctionToJitFunction, WithLifting

from driftway.learners.engine.kernel_cache import unlock
from driftway.learners.engine.lowering import Lowering
from driftway.learners.engine.separate_kernels import KernelLibrary, Library, call_type
from driftway.learners.engine.type_inference import TypeInference

OPTIONS = {
    "nopython": True,
    "boundscheck": None,
    "nogil": True,
    "fastmath": False,
    "error_model": "numpy",
    "_nrt": False,
    "no_cfunc_wrapper": True,
}
SKIPPED = (
    InlineClosureLikes,
    InlineInlinables,
    InlineOverloads,
    MakeFunctionToJitFunction,
    NopythonRewrites,
    WithLifting,
)
"""Passes of numba for what kernels do not contain: functions in functions, `with`, expressions of whole arrays."""


class _Module(Library):
    """The LLVM module of one function; a kernel links it, and those of the functions that it calls."""

    def finalize(self) -> None:
        """Allow several kernels to contain this function; each is optimised as a whole."""
        for function in self._final_module.functions:
            if not function.is_declaration and function.linkage == Linkage.external:
                function.linkage = "linkonce_odr"
        self._shared_module = self._final_module
        self._finalized = True


class _Lowering(NativeLowering):
    _name: Any = None

    @property
    def lowering_class(self) -> Any:
        return Lowering


@register_pass(mutates_CFG=True, analysis_only=False)
class _KernelLowering(_Lowering):
    _name = "driftway_kernel"

    def run_pass(self, state: Any) -> bool:
        """Lower a kernel; its library knows which other ones it calls."""
        state.library = KernelLibrary(state.targetctx.codegen(), state.func_id.func_qualname)
        state.library.enable_object_caching()
        return bool(super().run_pass(state))


@register_pass(mutates_CFG=True, analysis_only=False)
class _SubroutineLowering(_Lowering):
    _name = "driftway_subroutine"

    def run_pass(self, state: Any) -> bool:
        """Lower the function into a `_Module`; it gets no address, so only kernels can call it."""
        state.library = _Module(state.targetctx.codegen(), state.func_id.func_qualname)
        state.flags.no_compile = True
        super().run_pass(state)
        lowered, described = state.cr, state.cr.fndesc
        never_called = make_function(
            described.lookup_module(), described.qualname, "", 0, lowered.env, (state.library,)
        )
        state.targetctx.insert_user_function(never_called, described, [state.library])
        state.cr = lowered._replace(cfunc=never_called)  # noqa: SLF001
        return True


class _KernelCompiler(CompilerBase):
    lowering: Any = _KernelLowering

    def define_pipelines(self) -> Any:
        """Return numba's passes with our type inference and lowering, without those that are skipped."""
        manager: Any = DefaultPassBuilder.define_nopython_pipeline(self.state)
        own = {NativeLowering: self.lowering, NopythonTypeInference: TypeInference}
        manager.passes = [(own.get(one, one), why) for one, why in manager.passes if one not in SKIPPED]
        manager.finalize()
        return [manager]


class _SubroutineCompiler(_KernelCompiler):
    lowering = _SubroutineLowering


class CompiledFunction(CPUDispatcher):
    """A function that Python calls as a kernel, and kernels as a subroutine.

    Parameters
    ----------
    function : function
        In the subset of Python that numba compiles; it must neither create nor return an array.
    inline : bool
        Whether it becomes part of every function that calls it; if not, LLVM decides.
    """

    _cache: Any
    """numba's, which keeps nothing, until `driftway.learners.engine.kernel_cache` attaches its own."""

    def __init__(self, function: Any, inline: bool) -> None:
        super().__init__(function, targetoptions=OPTIONS, pipeline_class=_KernelCompiler)
        self.inline = inline

    def compile(self, sig: Any) -> Any:
        """Compile the kernel for a signature, unless the cache has it; without success, too, it is then unlocked."""
        try:
            return super().compile(sig)
        finally:
            unlock(self._cache)

    @cached_property
    def subroutine(self) -> Any:
        """What kernels call; most processes find their kernels in the cache and need none."""
        options = OPTIONS | {"no_cpython_wrapper": True, "forceinline": self.inline}
        return CPUDispatcher(self.py_func, targetoptions=options, pipeline_class=_SubroutineCompiler)

    @property
    def _numba_type_(self) -> Any:
        return types.Dispatcher(self.subroutine)


class SeparateKernel(CompiledFunction):
    """A kernel that others call by its address, see `driftway.learners.engine.separate_kernels`.

    The type that it returns must be annotated: None, int or float.
    """

    @cached_property
    def _numba_type_(self) -> Any:
        returned = inspect.get_annotations(self.py_func, eval_str=True)["return"]
        return call_type(self, {None: types.none, int: types.int64, float: types.float64}[returned])
