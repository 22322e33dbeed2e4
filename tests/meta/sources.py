"""The project's source files and their imports, found without importing anything."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("learners", "worker", "producers", "workbench")
"""Top-level folders, each imported as `driftway.FOLDER`."""
KERNELS = ("kernel", "fragment")
"""Names of the decorators in `driftway.learners.engine.jit`."""


@cache
def files(*packages: str) -> tuple[Path, ...]:
    """Python files of the given packages; by default those of all packages, the command line and the library."""
    found = [p for package in packages or PACKAGES for p in sorted((ROOT / package).rglob("*.py"))]
    own = [*(ROOT / "driftway").glob("*.py"), *(ROOT / "driftway/library").glob("*.py")]  # the rest of it are links
    return tuple(found if packages else [*sorted(own), *found])


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(text(path))


@cache
def text(path: Path) -> str:
    return path.read_text(encoding="utf-8")


@cache
def nodes(path: Path) -> tuple[ast.AST, ...]:
    """All nodes of a file's tree; a walk takes as long as to parse it, and several rules need one."""
    return tuple(ast.walk(tree(path)))


def place(path: Path) -> str:
    """Path relative to the repository's root, with slashes."""
    return path.relative_to(ROOT).as_posix()


def module(path: Path) -> str:
    """Dotted module name of a file."""
    name = place(path).removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    return f"driftway.{name}" if within(name, PACKAGES) else name


@cache
def imports(path: Path) -> tuple[tuple[int, str], ...]:
    """(line, dotted name) of everything a file imports, lazily or not; `from a import b` gives a and a.b."""
    found = []
    for node in nodes(path):
        if isinstance(node, ast.Import):
            found += [(node.lineno, alias.name) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            origin = node.module or ""
            if node.level:
                parts = module(path).split(".")
                keep = len(parts) - node.level + (path.name == "__init__.py")
                origin = ".".join([*parts[:keep], *filter(None, [origin])])
            found.append((node.lineno, origin))
            found += [(node.lineno, f"{origin}.{alias.name}") for alias in node.names]
        elif isinstance(node, ast.Call) and getattr(node.func, "attr", getattr(node.func, "id", "")) in (
            "import_module",
            "__import__",
        ):
            found += [(node.lineno, a.value) for a in node.args if isinstance(a, ast.Constant)]
    return tuple(found)


def within(name: str, allowed: tuple[str, ...]) -> bool:
    """Whether `name` is one of `allowed` or inside one of them."""
    return any(name == a or name.startswith(a + ".") for a in allowed)
