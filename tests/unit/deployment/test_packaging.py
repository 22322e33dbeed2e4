"""What is in a release: metadata, files of the wheel and of the source archive, versions, commit."""

from __future__ import annotations

import fnmatch
import os
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import driftway
from driftway.version import commit, described
from tests.regenerate.constraints import EXTRAS, PYTHONS
from tests.support.process import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
PACKAGES = "driftway", "learners", "producers", "workbench", "worker"
COMMIT = "0123456789abcdef0123456789abcdef01234567"


def tracked(*folders: str) -> list[str]:
    """Paths of the files below folders at the top, without links."""
    words = ["git", "ls-files", "-z", *folders]
    listed = subprocess.run(words, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    return [path for path in listed.split("\0") if path and (ROOT / path).is_file() and not (ROOT / path).is_symlink()]


def in_package(path: str) -> str:
    """Return a path as it is in the wheel: the folders at the top are in `driftway`."""
    return path if path.startswith("driftway/") else f"driftway/{path}"


def test_every_file_that_is_no_module_is_package_data() -> None:
    patterns = [
        f"{package.replace('.', '/')}/{pattern}"
        for package, found in PROJECT["tool"]["setuptools"]["package-data"].items()
        for pattern in found
    ]
    files = [in_package(path) for path in tracked(*PACKAGES) if not path.endswith((".py", ".md"))]
    assert "driftway/py.typed" in files
    assert [path for path in files if not any(fnmatch.fnmatchcase(path, one) for one in patterns)] == []
    assert [one for one in patterns if not fnmatch.filter(files, one)] == []


def test_every_folder_of_modules_is_a_package() -> None:
    folders = {str(Path(path).parent) for path in tracked(*PACKAGES) if path.endswith(".py")}
    assert [folder for folder in folders if not (ROOT / folder / "__init__.py").exists()] == []


def test_the_release_has_the_same_version_everywhere() -> None:
    import yaml

    chart = yaml.safe_load((ROOT / "deploy/helm/driftway/Chart.yaml").read_text())
    assert {chart["version"], chart["appVersion"]} == {driftway.__version__}
    assert f'image.version="{driftway.__version__}"' in (ROOT / "Dockerfile").read_text()
    assert f"## [{driftway.__version__}] - " in (ROOT / "CHANGELOG.md").read_text()
    assert f"# What Driftway {driftway.__version__} " in (ROOT / "constraints.txt").read_text()


def test_constraints_satisfy_the_requirements() -> None:
    optional = PROJECT["project"]["optional-dependencies"]
    wanted = [*PROJECT["project"]["dependencies"], *(one for extra in EXTRAS for one in optional[extra])]
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    given = [Requirement(line) for line in lines if line and not line.startswith("#")]
    for python in PYTHONS:
        here = {"python_version": python}
        pins = {canonicalize_name(one.name): one for one in given if one.marker is None or one.marker.evaluate(here)}
        for requirement in map(Requirement, wanted):
            (pin,) = pins[canonicalize_name(requirement.name)].specifier
            assert pin.operator == "=="
            assert requirement.specifier.contains(pin.version), requirement


def test_constraints_have_every_extra_but_those_of_developers() -> None:
    extras = PROJECT["project"]["optional-dependencies"]
    assert set(EXTRAS) == set(extras) - {"all", "docker", "docs", "dev"}
    assert set(EXTRAS) >= Requirement(*extras["all"]).extras


def test_requirements_of_tests_are_not_in_the_extra_all() -> None:
    optional = PROJECT["project"]["optional-dependencies"]
    assert not any("docker" in one or "testcontainers" in one for one in optional["all"])


@pytest.mark.parametrize(
    ("found", "shown"),
    [
        (None, "0.1.0"),
        (COMMIT, "0.1.0 (commit 0123456789ab)"),
        (f"{COMMIT}+changes", "0.1.0 (commit 0123456789ab+changes)"),
    ],
)
def test_a_version_is_shown_with_its_commit(found: str | None, shown: str) -> None:
    assert described("0.1.0", found) == shown


@pytest.mark.parametrize("kind", ["branch", "packed", "detached", "worktree", "new", "built", "installed"])
def test_the_commit_is_read_from_gits_own_files(kind: str, tmp_path: Path) -> None:
    package, git = tmp_path / "driftway", tmp_path / ".git"
    for folder in (package, tmp_path / "learners", git / "refs" / "heads"):
        folder.mkdir(parents=True)
    (tmp_path / "pyproject.toml").touch()
    (git / "HEAD").write_text("ref: refs/heads/main\n" if kind != "detached" else f"{COMMIT}\n")
    branch, expected = git / "refs" / "heads" / "main", COMMIT
    match kind:
        case "branch":
            branch.write_text(f"{COMMIT}\n")
        case "packed":
            (git / "packed-refs").write_text(f"# pack-refs\n{'f' * 40} refs/heads/other\n{COMMIT} refs/heads/main\n")
        case "worktree":
            git.rename(tmp_path / "common")
            own = tmp_path / "common" / "worktrees" / "w"
            own.mkdir(parents=True)
            git.write_text(f"gitdir: {own}\n")
            (own / "HEAD").write_text("ref: refs/heads/main\n")
            (own / "commondir").write_text(f"{tmp_path / 'common'}\n")
            (tmp_path / "common" / "refs" / "heads" / "main").write_text(f"{COMMIT}\n")
        case "new":
            expected = ""
        case "built" | "installed":
            branch.write_text(f"{'f' * 40}\n")
            (package / "commit.txt").write_text(f"{COMMIT}\n")
            if kind == "installed":  # below somebody's repository
                (tmp_path / "pyproject.toml").unlink()
            else:
                (git / "HEAD").unlink()
    assert commit(package) == (expected or None)


def test_this_checkout_knows_its_commit() -> None:
    head = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    assert driftway.__commit__ == head.strip()


@pytest.mark.slow
def test_wheel_and_archive_have_the_expected_files(tmp_path: Path) -> None:
    checkout = tmp_path / "checkout"
    subprocess.run(["git", "clone", "--quiet", ROOT, checkout], check=True)
    command = [sys.executable, "-m", "build", "--outdir", tmp_path / "dist", checkout]
    subprocess.run(command, check=True, capture_output=True, env={**os.environ, "PIP_QUIET": "1"})
    (wheel,) = (tmp_path / "dist").glob("*.whl")
    (archive,) = (tmp_path / "dist").glob("*.tar.gz")
    names = set(zipfile.ZipFile(wheel).namelist())
    wanted = {in_package(path) for path in tracked(*PACKAGES) if not path.endswith(".md")}
    modules = {name for name in names if not name.startswith("driftway-")}
    assert modules == {*wanted, "driftway/commit.txt"}
    head = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    assert zipfile.ZipFile(wheel).read("driftway/commit.txt").decode() == head
    assert {Path(name).name for name in names if "/licenses/" in name} == {"LICENSE"}
    with tarfile.open(archive) as opened:
        members = opened.getmembers()
    inside = {member.name.partition("/")[2] for member in members if not member.isdir()}
    links = {member.name.partition("/")[2] for member in members if member.issym()}
    assert links == {f"driftway/{name}" for name in PACKAGES[1:]}  # each file is there once
    assert set(tracked()) <= inside
