"""Machine code on disk: found by the next process, and never used when it is damaged."""

from __future__ import annotations

import errno
import logging
import os
import signal
import struct
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import pytest
from numba.core.errors import TypingError

from driftway.learners.engine import kernel_cache
from driftway.learners.engine.jit import fragment, kernel

FACTOR = 3.25


def scaled(x):
    return FACTOR * x


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A cache of the test's own, set up as at the start of a process."""
    monkeypatch.setattr(kernel_cache, "FOLDER", tmp_path / "kernels")
    monkeypatch.setattr(kernel_cache, "KEEP_CODE", kernel_cache._keep_code())
    kernel_cache._warn.cache_clear()
    yield kernel_cache.FOLDER
    kernel_cache._warn.cache_clear()


def started():
    """Call the kernel as a new process would; return its result, and whether the cache had the machine code."""
    compiled = kernel(scaled)
    result = compiled(2.0)
    return result, sum(compiled.stats.cache_hits.values()) == 1


def files(folder):
    assert not list(folder.rglob("*.lock")), "nothing is compiled any more"
    return sorted(folder.rglob("*.kernel"))


def test_a_later_process_finds_what_an_earlier_one_compiled(folder):
    first, second = kernel(scaled), kernel(scaled)
    assert first(2.0) == second(2.0) == 2 * FACTOR
    assert (sum(first.stats.cache_misses.values()), sum(second.stats.cache_hits.values())) == (1, 1)
    assert first.stats.cache_path.startswith(str(folder))


def made_of(part):
    """Return a kernel that calls `part`, as the update loop does."""

    def run(x):
        return part(x)

    return kernel(run)


def halved(x):
    return 0.5 * x


def test_a_composed_kernel_is_found_by_the_functions_that_it_calls(folder):
    first, second, other = made_of(fragment(scaled)), made_of(fragment(scaled)), made_of(fragment(halved))
    assert (first(2.0), second(2.0), other(2.0)) == (2 * FACTOR, 2 * FACTOR, 1.0)
    found = [sum(one.stats.cache_hits.values()) for one in (first, second, other)]
    assert found == [0, 1, 0]


def test_a_kernel_that_has_moved_to_another_module_is_compiled_anew(folder, tmp_path):
    """A cached kernel names its module, which a later version may no longer have."""
    source = COMPILING + "assert __name__ == 'before' or missed"
    for name in ("before", "after"):
        (tmp_path / f"{name}.py").write_text(source, encoding="utf-8")
        environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path), "PYTHONPATH": str(tmp_path)}
        run = [sys.executable, "-c", f"import {name}"]
        done = subprocess.run(run, env=environment, capture_output=True, text=True, timeout=60, check=False)
        assert (done.returncode, done.stdout) == (0, "3.5 compiled\n"), done.stderr
        (tmp_path / f"{name}.py").unlink()


COMPILING = """
from driftway.learners.engine.jit import kernel

@kernel
def added(x):
    return x + 1.5

total, missed = added(2.0), sum(added.stats.cache_misses.values())
print(total, "compiled" if missed else "found")
"""

LOCKING = "import fcntl, sys; f = open(sys.argv[1], 'w'); fcntl.flock(f, fcntl.LOCK_EX); print(flush=True); input()"

DAMAGES = {
    "empty": lambda content: b"",
    "half": lambda content: content[: len(content) // 2],
    "short_of_a_byte": lambda content: content[:-1],
    "hole": lambda content: content[:100] + bytes(len(content) - 200) + content[-100:],
    "one_bit": lambda content: content[:150] + bytes([content[150] ^ 4]) + content[151:],
    "other": lambda content: b"not what numba writes",
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_file_is_compiled_anew_and_repaired(folder, damage):
    assert started() == (2 * FACTOR, False)
    (path,) = files(folder)
    path.write_bytes(DAMAGES[damage](path.read_bytes()))
    assert started() == (2 * FACTOR, False)
    assert started() == (2 * FACTOR, True)


def test_altered_machine_code_is_not_used(folder):
    started()
    (path,) = files(folder)
    content, factor = path.read_bytes(), struct.pack("<d", FACTOR)
    assert factor in content
    path.write_bytes(content.replace(factor, struct.pack("<d", 100.0)))
    assert started() == (2 * FACTOR, False)


def test_a_file_that_is_gone_is_compiled_anew(folder):
    started()
    (path,) = files(folder)
    path.unlink()
    assert started() == (2 * FACTOR, False)
    assert started() == (2 * FACTOR, True)


def test_processes_that_need_a_kernel_at_once_compile_it_once(tmp_path):
    tmp_path.chmod(0o700)
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    started = [
        subprocess.Popen([sys.executable, "-c", COMPILING], stdout=subprocess.PIPE, text=True, env=environment)
        for _ in range(3)
    ]
    results = sorted(process.communicate(timeout=300)[0] for process in started)
    assert results == ["3.5 compiled\n", "3.5 found\n", "3.5 found\n"]
    assert len(files(tmp_path)) == 1


def test_a_process_killed_while_it_compiles_blocks_no_other(folder):
    arguments = [sys.executable, "-c", LOCKING, str(lock_of(folder))]
    with subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as waits:
        assert waits.stdout.readline()
        threading.Timer(0.5, waits.kill).start()
        assert started() == (2 * FACTOR, False)
        assert waits.wait() == -signal.SIGKILL, "it waited for the process"
    assert len(files(folder)) == 1


def test_a_failed_compilation_leaves_no_lock(folder):
    broken = kernel(lambda x: x.no_such_attribute)
    for _ in range(2):
        with pytest.raises(TypingError):
            broken(2.0)
    assert files(folder) == []


def lock_of(folder):
    """Return the path of the lock that `started` takes."""
    started()
    (path,) = files(folder)
    path.unlink()
    return path.with_suffix(".lock")


def test_kernels_of_other_machines_are_counted_separately(folder):
    started()
    (path,) = files(folder)
    name, machine, digest = path.stem.split("-")
    for other in ("00000000", "11111111"):
        (folder / f"{name}-{other}-{digest}.kernel").write_bytes(path.read_bytes())
    assert machine == kernel_cache._machine()
    assert kernel_cache.count_cached() == (1, 2)


def test_within_cached_only_nothing_is_compiled(folder):
    with pytest.raises(kernel_cache.NotCached), kernel_cache.cached_only():
        started()
    assert started() == (2 * FACTOR, False)
    with kernel_cache.cached_only():
        assert started() == (2 * FACTOR, True)


def test_unused_kernels_are_deleted(folder):
    started()
    (path,) = files(folder)
    long_ago = time.time() - (kernel_cache.UNUSED_DAYS + 1) * 86_400
    for name in ("unused.kernel", path.name):
        (folder / name).touch()
        os.utime(folder / name, (long_ago, long_ago))
    assert started() == (2 * FACTOR, True)
    kernel_cache._delete_unused.cache_clear()
    assert made_of(fragment(halved))(2.0) == 1.0
    assert path in files(folder), "it was used"
    assert not (folder / "unused.kernel").exists()


def test_a_kernel_that_cannot_be_written_is_reported_once(folder, caplog, monkeypatch):
    def full(*_given, **_options):
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patched, caplog.at_level(logging.WARNING, "driftway"):
        patched.setattr(kernel_cache, "_digest", full)
        assert started() == (2 * FACTOR, False)
        assert started() == (2 * FACTOR, False)
    (record,) = caplog.records
    assert record.getMessage() == (
        f"compiled kernels cannot be kept in {folder}, so that every start compiles them: No space left on device; "
        "NUMBA_CACHE_DIR moves it"
    )
    assert [path for path in folder.rglob("*") if path.is_file()] == []
    assert started() == (2 * FACTOR, False)
    assert started() == (2 * FACTOR, True)


def test_a_folder_without_room_for_a_file_is_not_used(folder, caplog, monkeypatch):
    def full(*_given, **_options):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(tempfile, "TemporaryFile", full)
    with caplog.at_level(logging.WARNING, "driftway"):
        assert not kernel_cache._keep_code()
    assert len(caplog.records) == 1


def test_kernels_in_a_read_only_folder_are_used(folder, caplog, monkeypatch):
    """As in an image whose files are read-only."""
    started()

    def read_only(*_given, **_options):
        raise OSError(errno.EROFS, "Read-only file system")

    for name in ("TemporaryFile", "NamedTemporaryFile"):
        monkeypatch.setattr(tempfile, name, read_only)
    with caplog.at_level(logging.WARNING, "driftway"):
        assert kernel_cache._keep_code()
        assert started() == (2 * FACTOR, True)
        assert caplog.records == []
        assert made_of(fragment(halved))(2.0) == 1.0
    assert [record.getMessage().partition(";")[0] for record in caplog.records] == [
        f"compiled kernels cannot be kept in {folder}, so that every start compiles them: Read-only file system"
    ]


@pytest.mark.parametrize(
    ("variables", "place"),
    [
        ({"HOME": "/h"}, "/h/.cache/driftway"),
        ({"HOME": "/h", "XDG_CACHE_HOME": "/x"}, "/x/driftway"),
        ({"HOME": "/h", "XDG_CACHE_HOME": "/x", "NUMBA_CACHE_DIR": "/n"}, "/n"),
    ],
)
def test_environment_variables_move_the_folder(monkeypatch, variables, place):
    for name in ("HOME", "XDG_CACHE_HOME", "NUMBA_CACHE_DIR"):
        monkeypatch.setenv(name, variables.get(name, ""))
    assert str(kernel_cache._parent()) == place


@pytest.mark.parametrize("name", ["NUMBA_CACHE_DIR", "XDG_CACHE_HOME", "HOME"])
@pytest.mark.parametrize("folder", ["cache", "."])
def test_a_relative_folder_is_ignored(monkeypatch, name, folder):
    """It would lie below wherever the process starts, where somebody else may write."""
    for variable in ("NUMBA_CACHE_DIR", "XDG_CACHE_HOME"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("HOME", "/h")
    monkeypatch.setenv(name, folder)
    own = Path(tempfile.gettempdir(), f"driftway-{os.getuid()}")
    assert kernel_cache._parent() == (own if name == "HOME" else Path("/h/.cache/driftway"))


def test_a_user_without_a_home_gets_a_folder_of_their_own(monkeypatch, tmp_path):
    """Outside the working folder, and named after the user: in a container there may be neither HOME nor an entry."""
    for variable in ("NUMBA_CACHE_DIR", "XDG_CACHE_HOME", "HOME"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setattr(os.path, "expanduser", lambda path: path)
    monkeypatch.chdir(tmp_path)
    assert kernel_cache._parent() == Path(tempfile.gettempdir(), f"driftway-{os.getuid()}")


def test_without_a_writable_folder_one_is_named_nevertheless(monkeypatch):
    """As in a container whose root file system is read-only: every start compiles, but it starts."""
    for variable in ("NUMBA_CACHE_DIR", "XDG_CACHE_HOME"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setattr(os.path, "expanduser", lambda path: path)
    monkeypatch.setattr(tempfile, "tempdir", None)
    monkeypatch.setattr(tempfile, "_candidate_tempdir_list", lambda: ["/absent"])
    assert kernel_cache._parent() == Path(f"/tmp/driftway-{os.getuid()}")


def refuses(caplog, folder):
    """Whether the cache is refused with one warning that names the folder and says why."""
    kernel_cache._warn.cache_clear()
    caplog.clear()
    with caplog.at_level(logging.WARNING, "driftway"):
        kept = kernel_cache._keep_code()
    texts = [record.getMessage() for record in caplog.records]
    return not kept and texts == [
        f"compiled kernels cannot be kept in {folder}, so that every start compiles them: somebody else could write "
        "there; NUMBA_CACHE_DIR moves it"
    ]


@pytest.mark.parametrize("mode", [0o770, 0o707, 0o777, 0o722, 0o1777, 0o1770])
def test_a_folder_that_others_may_write_to_is_refused(folder, caplog, mode):
    folder.chmod(mode)
    assert refuses(caplog, folder)
    folder.chmod(0o755)
    assert kernel_cache._keep_code()


def test_a_folder_below_one_that_everybody_may_write_to_is_refused_unless_it_is_sticky(folder, caplog):
    """As /tmp is: there nobody can exchange the folder of another user."""
    folder.parent.chmod(0o777)
    assert refuses(caplog, folder)
    folder.parent.chmod(0o1777)
    assert kernel_cache._keep_code()


def test_a_link_is_not_followed(folder, caplog, tmp_path):
    target = tmp_path / "target"
    folder.rename(target)
    folder.symlink_to(target)
    assert refuses(caplog, folder)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder away")
def test_a_folder_of_another_user_is_refused(folder, caplog):
    os.chown(folder, 54321, 54321)
    assert refuses(caplog, folder)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder away")
def test_a_folder_below_that_of_another_user_is_refused(folder, caplog):
    os.chown(folder.parent, 54321, 54321)
    assert refuses(caplog, folder)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder away")
def test_the_kernels_of_an_image_serve_whoever_runs_it(folder, tmp_path):
    """As a container whose user somebody else has chosen: the image's own user owns the other folder."""
    shipped = tmp_path / "shipped"
    shipped.mkdir()
    assert kernel_cache._choose(folder, shipped) == folder
    os.chown(folder, 54321, 54321)
    assert kernel_cache._choose(folder, shipped) == folder, "there are none"
    (shipped / "one.kernel").touch()
    assert kernel_cache._choose(folder, shipped) == shipped
    shipped.chmod(0o777)
    assert kernel_cache._choose(folder, shipped) == folder
    assert kernel_cache._choose(tmp_path / "another", shipped) == tmp_path / "another"


def test_a_created_folder_is_private(folder):
    assert folder.stat().st_mode & 0o777 == 0o700


NUMBA_FIRST = """
import sys, numba
from driftway import learners
import numpy as np
learner = learners.create("perceptron", n_features=3)
learner.predict_then_update(np.zeros((5, 3)), np.ones(5), np.empty((5, 1)))
from driftway.learners.engine import kernel_cache
print(numba.config.USING_SVML, len(list(kernel_cache.FOLDER.glob("*.kernel"))))
"""


def test_the_cache_is_used_when_numba_was_imported_first(tmp_path):
    tmp_path.chmod(0o700)
    kept = {key: value for key, value in os.environ.items() if not key.startswith("NUMBA_")}
    ran = subprocess.run(
        [sys.executable, "-c", NUMBA_FIRST], capture_output=True, text=True, timeout=300, check=False,
        env={**kept, "XDG_CACHE_HOME": str(tmp_path)},
    )  # fmt: skip
    answer, count = ran.stdout.split()
    assert (answer, int(count), ran.stderr) == ("False", 1, "")
