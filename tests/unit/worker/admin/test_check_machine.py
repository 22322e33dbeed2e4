"""The limits that `driftway check` finds in the cgroups of a process, in a container or under systemd."""

from __future__ import annotations

from pathlib import Path

import pytest

from driftway.worker.admin.check import machine
from driftway.worker.admin.check.machine import MEMORY_LIMITS, THREAD_LIMITS, cgroup_limits


@pytest.fixture
def cgroups(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the cgroups; beside it is the list of those that the process is in."""
    monkeypatch.setattr(machine, "CGROUPS", tmp_path / "cgroup")
    monkeypatch.setattr(machine, "OWN_CGROUPS", tmp_path / "own")
    return tmp_path / "cgroup"


def limit(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


def test_limits_of_nested_cgroups_and_of_those_above_are_found(cgroups: Path) -> None:
    (cgroups.parent / "own").write_text("0::/system.slice/driftway.service\n")
    limit(cgroups / "system.slice" / "memory.max", "3000\n")
    limit(cgroups / "system.slice" / "driftway.service" / "memory.max", "max\n")
    limit(cgroups / "system.slice" / "driftway.service" / "pids.max", "40\n")
    limit(cgroups / "system.slice" / "other.service" / "memory.max", "10\n")
    assert list(cgroup_limits("memory", MEMORY_LIMITS)) == [3000]
    assert list(cgroup_limits("pids", THREAD_LIMITS)) == [40]


def test_limits_of_version_1_are_found(cgroups: Path) -> None:
    (cgroups.parent / "own").write_text("8:pids:/\n4:cpu,memory:/docker/a:b\n0::/\n")
    limit(cgroups / "memory" / "memory.limit_in_bytes", "5000\n")
    limit(cgroups / "memory" / "docker" / "a:b" / "memory.limit_in_bytes", "4000\n")
    assert sorted(cgroup_limits("memory", MEMORY_LIMITS)) == [4000, 5000]


def test_a_container_that_sees_only_its_own_cgroup_has_its_limit(cgroups: Path) -> None:
    (cgroups.parent / "own").write_text("0::/kubepods/pod1\n")
    limit(cgroups / "memory.max", "7000\n")
    assert list(cgroup_limits("memory", MEMORY_LIMITS)) == [7000]
    (cgroups.parent / "own").unlink()
    assert list(cgroup_limits("memory", MEMORY_LIMITS)) == [7000]
