"""The commit of the checkout, or of the checkout that the package was built from, without running git."""

from __future__ import annotations

import re
from pathlib import Path

COMMIT = re.compile(r"[0-9a-f]{40}")
PACKAGE = Path(__file__).resolve().parent
BUILT = "commit.txt"
"""Written by setup.py into what it builds; a checkout has none."""
SHOWN = 12
"""Digits of a commit that a person is shown."""


def commit(package: Path = PACKAGE) -> str | None:
    """Return the commit in full, with ``+changes`` if the build's files had others; None if it is not known.

    Parameters
    ----------
    package : Path
        The folder of the package `driftway`.
    """
    # Elsewhere a repository around an installed package is somebody else's.
    is_checkout = (package.parent / "pyproject.toml").exists() and (package.parent / "learners").exists()
    return (_of_checkout(package.parent / ".git") if is_checkout else None) or _read(package / BUILT)


def described(version: str, found: str | None) -> str:
    """Return a version with its commit, as ``driftway --version`` shows it."""
    if found is None:
        return version
    digits, changes = found[:40], found[40:]
    return f"{version} (commit {digits[:SHOWN]}{changes})"


def _of_checkout(git: Path) -> str | None:
    """Return the commit that a checkout is at, from git's own files."""
    if (link := _read(git)) is not None and link.startswith("gitdir: "):  # a worktree
        git = (git.parent / link.removeprefix("gitdir: ")).resolve()
    head = _read(git / "HEAD")
    if head is None or not head.startswith("ref: "):
        return _checked(head)
    name = head.removeprefix("ref: ")
    common = git / (_read(git / "commondir") or ".")  # of a worktree
    for folder in (git, common):
        if (found := _checked(_read(folder / name))) is not None:
            return found
    packed = _read(common / "packed-refs") or ""
    return next((_checked(line.partition(" ")[0]) for line in packed.splitlines() if line.endswith(f" {name}")), None)


def _checked(text: str | None) -> str | None:
    return text if text is not None and COMMIT.fullmatch(text) else None


def _read(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8").strip() or None
    except (OSError, ValueError):
        return None
