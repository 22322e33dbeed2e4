"""A kernel's digest: what changes it, and what does not."""

from __future__ import annotations

import importlib
import sys
import textwrap
from pathlib import Path
from types import ModuleType

import numba
import pytest

from driftway.learners.engine.dependencies import digest_of
from driftway.learners.engine.kernel_cache import type_text
from driftway.learners.engine.subroutines import CompiledFunction
from tests.meta.sources import files, module

MODULES = {
    "helpers": """
        import numpy as np
        from driftway.learners.engine.jit import fragment, kernel

        RATE = 0.5
        TABLE = np.array([1.0, 2.0])

        @fragment
        def inner(x):
            return RATE * x + TABLE[1]

        @fragment
        def unrelated(x):
            return x
        """,
    "kernels": """
        from typing import NamedTuple

        import helpers
        from helpers import inner
        from driftway.learners.engine.jit import fragment, kernel, trailing_zeros

        class Pair(NamedTuple):
            a: float
            b: float

        @fragment
        def outer(x):
            \"\"\"Says what it does.\"\"\"
            return inner(x) + 1.0

        def made(part, power):
            def run(x):
                return part(x) ** power
            return kernel(run)

        @kernel
        def by_name(x):
            return outer(x) + trailing_zeros(4)

        @kernel
        def by_module(x):
            return helpers.inner(x)

        @kernel
        def by_type(pair):
            return pair.a - pair.b

        by_closure = made(outer, 2)
        """,
}
KERNELS = "by_name", "by_module", "by_closure", "by_type"


class Project:
    """Two modules with kernels, in a folder of their own."""

    def __init__(self, folder: Path, patch: pytest.MonkeyPatch) -> None:
        self.folder, self.patch = folder, patch
        patch.syspath_prepend(folder)
        patch.setattr(sys, "dont_write_bytecode", True)
        for name, text in MODULES.items():
            (folder / f"{name}.py").write_text(textwrap.dedent(text))

    def edit(self, name: str, old: str, new: str) -> None:
        path = self.folder / f"{name}.py"
        text = path.read_text()
        assert old in text
        path.write_text(text.replace(old, new))

    def loaded(self) -> ModuleType:
        """Import the modules anew, as another process would."""
        for name in MODULES:
            self.patch.delitem(sys.modules, name, raising=False)
        importlib.invalidate_caches()
        return importlib.import_module("kernels")

    def digests(self) -> dict[str, str]:
        kernels = self.loaded()
        pair = numba.typeof(kernels.Pair(3.0, 1.0))
        return {name: f"{digest_of(getattr(kernels, name).py_func)} {type_text(pair)}" for name in KERNELS}

    def changed(self, module: str, old: str, new: str) -> set[str]:
        """Edit a module; return the kernels that need other machine code."""
        before = self.digests()
        assert before == self.digests()
        self.edit(module, old, new)
        return {name for name, digest in self.digests().items() if digest != before[name]}


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    return Project(tmp_path, monkeypatch)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("@fragment\n", "# why\n\n@fragment\n"),
        ("Says what it does.", "Says it in other words."),
        ("class Pair(NamedTuple):\n", 'class Pair(NamedTuple):\n    """Two numbers."""\n\n'),
    ],
)
def test_comments_and_docstrings_do_not_change_the_digest(project: Project, old: str, new: str) -> None:
    assert project.changed("kernels", old, new) == set()


@pytest.mark.parametrize(
    ("module", "old", "new", "changed"),
    [
        ("helpers", "    return x\n", "    return -x\n", set()),
        ("helpers", "RATE = 0.5", "RATE = 1.5", {"by_name", "by_module", "by_closure"}),
        ("helpers", "[1.0, 2.0]", "[1.0, 3.0]", {"by_name", "by_module", "by_closure"}),
        ("helpers", "RATE * x", "RATE / x", {"by_name", "by_module", "by_closure"}),
        ("kernels", "+ 1.0", "+ 2.0", {"by_name", "by_closure"}),
        ("kernels", "made(outer, 2)", "made(outer, 3)", {"by_closure"}),
        ("kernels", "made(outer, 2)", "made(inner, 2)", {"by_closure"}),
        ("kernels", "trailing_zeros(4)", "trailing_zeros(8)", {"by_name"}),
        ("kernels", "x) ** power", "x) ** -power", {"by_closure"}),
        ("helpers", "@fragment\ndef inner", "@kernel\ndef inner", {"by_name", "by_module", "by_closure"}),
    ],
)
def test_only_kernels_that_run_changed_code_get_another_digest(
    project: Project, module: str, old: str, new: str, changed: set[str]
) -> None:
    assert project.changed(module, old, new) == changed


def test_the_order_of_fields_changes_the_digest(project: Project) -> None:
    """Kernels find fields by their positions."""
    assert project.changed("kernels", "    a: float\n    b: float\n", "    b: float\n    a: float\n") == {*KERNELS}


def test_a_value_that_cannot_be_compared_between_processes_is_refused(project: Project) -> None:
    project.edit("helpers", "TABLE = np.array([1.0, 2.0])", "TABLE = {1: object()}")
    with pytest.raises(TypeError, match=r"helpers.inner: TABLE is a object, which cannot be compared between"):
        project.digests()


def test_every_kernel_of_the_package_has_a_digest() -> None:
    modules = [importlib.import_module(module(path)) for path in files("learners", "producers", "worker")]
    kernels = [value for one in modules for value in vars(one).values() if isinstance(value, CompiledFunction)]
    assert len({digest_of(found.py_func) for found in kernels}) > 500
