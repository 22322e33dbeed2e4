"""An earlier version of Driftway, from this repository's history, as a child process, to run beside the current one."""

from __future__ import annotations

import io
import subprocess
import tarfile
from pathlib import Path

import pytest

from tests.support.process import ROOT, Driftway


def checkout(commit: str, folder: Path) -> Path:
    """Unpack the files of `commit` into `folder`; skip the test where the history does not have it."""
    archive = subprocess.run(["git", "-C", str(ROOT), "archive", commit], capture_output=True, check=False)
    if archive.returncode != 0:
        pytest.skip(f"this checkout's git history does not have {commit}, which a full clone has")
    with tarfile.open(fileobj=io.BytesIO(archive.stdout)) as files:
        files.extractall(folder, filter="data")
    return folder


class EarlierDriftway(Driftway):
    """``driftway ARGUMENTS`` of the version in `folder`, as a child process: see `Driftway`.

    Its kernels are compiled at its first start on a machine, which can take more than a minute.
    """

    def __init__(self, folder: Path, *arguments: str) -> None:
        self.folder = folder
        super().__init__(*arguments)
