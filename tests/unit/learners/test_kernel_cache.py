"""Machine code on disk: found by the next process, and never used when it is damaged."""

from __future__ import annotations

import errno
import logging
import struct
import tempfile

import numba
import pytest

from driftway.learners.engine import kernel_cache
from driftway.learners.engine.jit import fragment, kernel, kernel_without_refcounts

FACTOR = 3.25


def scaled(x):
    return FACTOR * x


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A cache of the test's own, set up as at the start of a process."""
    monkeypatch.setattr(kernel_cache, "FOLDER", tmp_path / "kernels")
    monkeypatch.setattr(numba.config, "CACHE_DIR", "")
    monkeypatch.setattr(kernel_cache, "KEEP_CODE", kernel_cache._keep_code())
    kernel_cache._warn.cache_clear()
    yield kernel_cache.FOLDER
    kernel_cache._warn.cache_clear()


def started():
    """Call the kernel as a new process would; return its result, and whether the cache had the machine code."""
    compiled = kernel(scaled)
    result = compiled(2.0)
    return result, sum(compiled.stats.cache_hits.values()) == 1


def files(folder, suffix):
    return sorted(folder.rglob(f"*{suffix}"))


@pytest.mark.parametrize("decorator", [kernel, kernel_without_refcounts])
def test_a_later_process_finds_what_an_earlier_one_compiled(folder, decorator):
    first, second = decorator(scaled), decorator(scaled)
    assert first(2.0) == second(2.0) == 2 * FACTOR
    assert (sum(first.stats.cache_misses.values()), sum(second.stats.cache_hits.values())) == (1, 1)
    assert first.stats.cache_path.startswith(str(folder))


def made_of(part):
    """Return a kernel that calls `part`, built as the driver builds them."""

    def run(x):
        return part(x)

    return kernel(run)


def halved(x):
    return 0.5 * x


def test_a_kernel_made_of_others_is_found_by_what_it_is_made_of(folder):
    first, second, other = made_of(fragment(scaled)), made_of(fragment(scaled)), made_of(fragment(halved))
    assert (first(2.0), second(2.0), other(2.0)) == (2 * FACTOR, 2 * FACTOR, 1.0)
    found = [sum(one.stats.cache_hits.values()) for one in (first, second, other)]
    assert found == [0, 1, 0]


DAMAGES = {
    "empty": lambda content: b"",
    "half": lambda content: content[: len(content) // 2],
    "short_of_a_byte": lambda content: content[:-1],
    "hole": lambda content: content[:100] + bytes(len(content) - 200) + content[-100:],
    "one_bit": lambda content: content[:150] + bytes([content[150] ^ 4]) + content[151:],
    "other": lambda content: b"not what numba writes",
}


@pytest.mark.parametrize("suffix", [".nbi", ".nbc"])
@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_file_is_compiled_anew_and_mended(folder, damage, suffix):
    assert started() == (2 * FACTOR, False)
    (path,) = files(folder, suffix)
    path.write_bytes(DAMAGES[damage](path.read_bytes()))
    assert started() == (2 * FACTOR, False)
    assert started() == (2 * FACTOR, True)


def test_other_numbers_within_machine_code_are_not_believed(folder):
    started()
    (path,) = files(folder, ".nbc")
    content, factor = path.read_bytes(), struct.pack("<d", FACTOR)
    assert factor in content
    path.write_bytes(content.replace(factor, struct.pack("<d", 100.0)))
    assert started() == (2 * FACTOR, False)


@pytest.mark.parametrize("suffix", [".nbi", ".nbc"])
def test_a_file_that_is_gone_is_compiled_anew(folder, suffix):
    started()
    (path,) = files(folder, suffix)
    path.unlink()
    assert started() == (2 * FACTOR, False)
    assert started() == (2 * FACTOR, True)


def test_what_cannot_be_written_costs_one_sentence(folder, caplog, monkeypatch):
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
        assert started() == (2 * FACTOR, False)
        assert not kernel_cache._keep_code()
    assert len(caplog.records) == 2


@pytest.mark.parametrize(
    ("variables", "place"),
    [
        ({"HOME": "/h"}, "/h/.cache/driftway"),
        ({"HOME": "/h", "XDG_CACHE_HOME": "/x"}, "/x/driftway"),
        ({"HOME": "/h", "XDG_CACHE_HOME": "/x", "NUMBA_CACHE_DIR": "/n"}, "/n"),
    ],
)
def test_the_folder_is_named_after_the_sources_wherever_it_is(monkeypatch, variables, place):
    """numba checks only the called kernel's file, so a folder that outlives an upgrade would run older arithmetic."""
    for name in ("HOME", "XDG_CACHE_HOME", "NUMBA_CACHE_DIR"):
        monkeypatch.setenv(name, variables.get(name, ""))
    folder = kernel_cache._cache_folder()[0]
    assert str(folder.parent) == place
    assert folder.name.startswith("kernels-")
