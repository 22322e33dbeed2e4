"""A start imports the project's own code, whatever files are in the user's working folder."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.meta.sources import PACKAGES, ROOT, files, place, tree
from tests.support.process import Finished, clean_environment

USERS_FILES = ("worker.py", "learners/__init__.py", "click.py", "producers.py", "workbench.py")
"""Named like a folder of the project or one of its libraries; each raises an exception when imported."""
LOADED = "import driftway, driftway.learners as l; print(type(l.create('pa1', n_features=3)).__name__)"
THREADS = """
import os, sys
from driftway.cli import main
main(sys.argv[1:], standalone_mode=False)
import numpy
print(len(os.listdir("/proc/self/task")))
"""
EVALUATE = ("evaluate", "sea", "--limit", "200", "--learner", "no_change", "--json")


@pytest.fixture
def users_folder(tmp_path: Path) -> Path:
    for name in USERS_FILES:
        file = tmp_path / name
        file.parent.mkdir(exist_ok=True)
        file.write_text(f"raise RuntimeError('the user has a file {name}')\n")
    return tmp_path


def start(folder: Path, *arguments: str) -> Finished:
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env=clean_environment(),
        capture_output=True,
        check=False,
        text=True,
        timeout=120,
    )
    return Finished(done.returncode, done.stdout, done.stderr)


def lists_that_start_python(source: ast.Module) -> list[ast.List | ast.Tuple]:
    """Return every list or tuple, literal or part of a sum, whose first element is `sys.executable`."""
    return [
        node
        for node in ast.walk(source)
        if isinstance(node, ast.List | ast.Tuple) and node.elts and is_executable(node.elts[0])
    ]


def is_executable(node: ast.AST) -> bool:
    return isinstance(node, ast.Attribute) and node.attr == "executable" and ast.unparse(node) == "sys.executable"


def files_that_name_it() -> list[Path]:
    return [path for path in files() if "executable" in path.read_text(encoding="utf-8")]


def looks_into_the_current_folder(argv: ast.List | ast.Tuple) -> bool:
    """Return whether neither -P nor -I comes right after `sys.executable`."""
    second = argv.elts[1] if len(argv.elts) > 1 else None
    return not (isinstance(second, ast.Constant) and second.value in ("-P", "-I"))


def test_users_files_are_what_the_folder_gives(users_folder: Path) -> None:
    assert "the user has a file click.py" in start(users_folder, "-c", "import click").stderr
    assert "the user has a file learners/__init__.py" in start(users_folder, "-c", "import learners").stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("-m", "driftway", "--version"), "driftway, version"),
        (("-c", LOADED), "PA1"),
        pytest.param(("-m", "driftway", *EVALUATE), '"no_change"', marks=pytest.mark.slow),
        (("-m", "driftway", *EVALUATE, "--learner", "majority_class", "--jobs", "2"), '"majority_class"'),
    ],
    ids=["version", "import", "evaluate", "evaluate in two processes"],
)
def test_start_from_a_folder_with_such_files(arguments: tuple[str, ...], said: str, users_folder: Path) -> None:
    done = start(users_folder, *arguments)
    assert done.code == 0, done.stderr
    assert said in done.stdout


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="threads are counted by Linux' /proc")
def test_a_command_starts_no_threads_for_linear_algebra(tmp_path: Path) -> None:
    """Each would be busy for a while after every start, on every processor."""
    done = start(tmp_path, "-c", THREADS, "streams", "--help")
    assert done.stdout.splitlines()[-1] == "1", done.stderr


@pytest.mark.parametrize("start_by", [("-m", "driftway"), ("-c", "from driftway.cli import main; main()")])
def test_a_working_folder_that_was_deleted_is_named(tmp_path: Path, start_by: tuple[str, ...]) -> None:
    """As a release's folder is, while a service manager starts its program again."""
    script = 'mkdir gone && cd gone && rmdir "$OLDPWD/gone" && exec "$0" "$@"'
    argv = ["sh", "-c", script, sys.executable, "-P", *start_by, *EVALUATE]
    done = subprocess.run(
        argv, cwd=tmp_path, env=clean_environment(), capture_output=True, check=False, text=True, timeout=120
    )
    assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
    assert "does not exist any more: cd to another one" in done.stderr


def test_every_child_of_ours_is_started_past_the_current_folder() -> None:
    argvs = [(place(path), argv) for path in files_that_name_it() for argv in lists_that_start_python(tree(path))]
    assert argvs
    assert [f"{path}:{argv.lineno}" for path, argv in argvs if looks_into_the_current_folder(argv)] == []


def test_executable_is_named_in_such_lists_only() -> None:
    """If it were assembled in another way, the test above would miss it."""
    for path in files_that_name_it():
        source = tree(path)
        named = sum(map(is_executable, ast.walk(source)))
        assert named == len(lists_that_start_python(source)), place(path)


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("[sys.executable, '-P', '-m', 'driftway']", False),
        ("[sys.executable, '-I', '-S', file, *more]", False),
        ("[sys.executable, '-m', 'driftway']", True),
        ("(sys.executable, '-u', '-P', 'file.py')", True),
        ("[sys.executable]", True),
        ("run([sys.executable] + words)", True),
        ("[sys.executable, *words]", True),
    ],
)
def test_starts_are_distinguished(text: str, wrong: bool) -> None:
    (argv,) = lists_that_start_python(ast.parse(text))
    assert looks_into_the_current_folder(argv) is wrong


@pytest.mark.parametrize("package", PACKAGES)
def test_link_in_the_checkout_leads_to_the_folder(package: str) -> None:
    link = ROOT / "driftway" / package
    assert link.is_symlink()
    assert os.readlink(link) == os.path.join(os.pardir, package)
    assert link.resolve() == ROOT / package
    assert (link / "__init__.py").is_file()


def test_checkout_has_no_other_links() -> None:
    assert {path.name for path in (ROOT / "driftway").iterdir() if path.is_symlink()} == set(PACKAGES)
