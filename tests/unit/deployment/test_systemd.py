"""The systemd unit, judged by systemd's own tool."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from driftway.worker.stream.observability.health import STUCK_SECONDS
from tests.support.process import ROOT
from tests.unit.deployment.commands import UNIT, unit

MAX_EXPOSED = 20
"""Tenths, of 100, in the judgement of `systemd-analyze security`."""
needs_systemd = pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd-analyze is not here")


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    """The unit with its addition for a login, as somebody installs it."""
    place = tmp_path / "driftway@fraud.service"
    text = (ROOT / UNIT).read_text()
    place.write_text(text.replace("/opt/driftway/bin/driftway", f'"{sys.executable}"'))  # blanks in the path
    folder = tmp_path / "driftway@fraud.service.d"
    folder.mkdir()
    shutil.copy(ROOT / "deploy/systemd/login.conf", folder)
    return place


def analyze(*words: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["systemd-analyze", *words], check=False, capture_output=True, text=True)


@needs_systemd
def test_systemd_reads_every_line(installed: Path) -> None:
    ended = analyze("verify", "--man=no", installed)
    assert (ended.returncode, ended.stderr) == (0, "")
    installed.write_text(installed.read_text().replace("WatchdogSec=", "WatchDogSec="))
    assert "WatchDogSec" in analyze("verify", "--man=no", installed).stderr


@needs_systemd
def test_the_service_has_no_more_rights_than_it_needs(installed: Path) -> None:
    ended = analyze("security", "--offline=true", f"--threshold={MAX_EXPOSED}", "--no-pager", installed)
    assert ended.returncode == 0, ended.stdout[-200:]


def test_the_watchdog_of_systemd_is_slower_than_the_workers_own() -> None:
    assert int(dict(unit())["WatchdogSec"]) > STUCK_SECONDS  # the worker logs the stacks first


def test_kernels_may_be_compiled_at_run_time() -> None:
    assert "MemoryDenyWriteExecute" not in dict(unit())
    assert re.search("NUMBA_CACHE_DIR=%C/driftway/%i", dict(unit())["Environment"])
    assert dict(unit())["CacheDirectory"] == "driftway/%i"
