"""What pyproject.toml cannot say: a package knows its commit, and a source archive has the folders of the checkout."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py
from setuptools.command.sdist import sdist

ROOT = Path(__file__).resolve().parent
LINKED = "learners", "producers", "workbench", "worker"
"""Folders at the top to which driftway/ holds links (docs/decisions/0038)."""
FILE = Path("driftway", "commit.txt")


def commit() -> str:
    """Return the commit that is built, with ``+changes`` if files differ from it; empty if it is not known."""
    if given := os.environ.get("DRIFTWAY_BUILD_COMMIT", "").strip():  # an image's build has no repository
        return given if re.fullmatch(r"[0-9a-f]{40}(\+changes)?", given) else ""
    if (ROOT / FILE).exists():  # a source archive
        return (ROOT / FILE).read_text(encoding="utf-8").strip()
    if not (ROOT / ".git").exists():
        return ""
    try:
        found = _git("rev-parse", "HEAD")
        return f"{found}+changes" if _git("status", "--porcelain", "--untracked-files=no") else found
    except (OSError, subprocess.CalledProcessError):
        return ""


def _git(*words: str) -> str:
    return subprocess.run(["git", *words], cwd=ROOT, check=True, capture_output=True, text=True).stdout.strip()


def _write(folder: Path) -> None:
    if found := commit():
        (folder / FILE).write_text(f"{found}\n", encoding="utf-8")


class BuildPy(build_py):
    """Writes the commit into what is built, never into the checkout."""

    def run(self) -> None:
        """Build, then write."""
        super().run()
        if not self.editable_mode:
            _write(Path(self.build_lib))


class Sdist(sdist):
    """Keeps the links of driftway/ as links: each file is in the archive once, where the tests expect it."""

    def make_release_tree(self, base_dir: str, files: list[str]) -> None:
        """Make the tree, with the commit and the links."""
        top = tuple(f"driftway{os.sep}{name}{os.sep}" for name in LINKED)
        super().make_release_tree(base_dir, [name for name in files if not os.path.normpath(name).startswith(top)])
        for name in LINKED:
            link = Path(base_dir, "driftway", name)
            if link.is_dir() and not link.is_symlink():
                shutil.rmtree(link)
            link.unlink(missing_ok=True)
            link.symlink_to(f"../{name}")
        _write(Path(base_dir))


setup(cmdclass={"build_py": BuildPy, "sdist": Sdist})
