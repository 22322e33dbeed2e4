"""The catalogue's table: complete, consistent, and in agreement with the real files."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from driftway.cli import main
from driftway.producers.streams import GENERATORS, open_stream
from driftway.producers.streams.catalogue import CATALOGUE, cache_home, fetched_file
from driftway.producers.streams.files import open_file
from driftway.worker.errors import UsageFailure
from tests.support.real_streams import RealStreams

ELSEWHERE = {
    "covtype", "weather", "outdoor", "rialto", "poker",
    "1CSurr", "2CHT", "4CRE-V2", "GEARS-2C-2D", "UG-2C-3D", "UG-2C-5D",
}  # fmt: skip
"""In the catalogue, but not in the data folder."""


@pytest.mark.parametrize("name", CATALOGUE)
def test_an_entry_is_complete_and_consistent(name: str) -> None:
    entry = CATALOGUE[name]
    assert entry.name == name
    assert name not in GENERATORS
    assert all((entry.about, entry.licence, entry.citation))
    assert (entry.task == "regression") == (not entry.labels)
    assert len(set(entry.labels)) == len(entry.labels) != 1
    known = [source.checksum for source in entry.sources]
    for source in entry.sources:
        assert source.address.startswith("https://")
        assert source.checksum is None or re.fullmatch(r"sha256:[0-9a-f]{64}|git:[0-9a-f]{40}", source.checksum)
        if "githubusercontent" in source.address:  # at a commit, never on a branch, which moves
            assert re.search(r"\.com/[\w.-]+/[\w.-]+/[0-9a-f]{40}/", source.address)
    assert {"rows": all(known) and entry.rows_sha256, "checksum": all(known), "address": entry.rows_sha256}[
        entry.verified
    ]


@pytest.mark.parametrize("name", [name for name in CATALOGUE if name not in ELSEWHERE])
def test_the_table_agrees_with_the_real_file(name: str, real_streams: RealStreams) -> None:
    path, entry = real_streams.file(name), CATALOGUE[name]
    rows, classes, sums = 0, set(), hashlib.sha256()
    for X, y in open_file(path).blocks():
        rows += len(y)
        classes.update(y.tolist() if entry.classes else ())
        sums.update(np.hstack([X, y[:, None]]).astype("<f8").tobytes())
        assert X.shape[1] == entry.features
    assert rows == entry.rows
    assert sums.hexdigest() == entry.rows_sha256
    assert classes == set(range(entry.classes or 0))


def test_the_refusal_of_an_unknown_name_gives_the_command_to_fetch_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("DRIFTWAY_DATA", raising=False)
    with pytest.raises(UsageFailure) as failure:
        open_stream("electricity", data_dir=str(tmp_path))
    assert str(failure.value) == (
        "electricity is in the catalogue but not on this machine: driftway streams fetch electricity downloads it, or "
        "put electricity.csv.gz into a folder and give that as --data-dir"
    )
    for command in (("evaluate", "electricity", "--learner", "pa1"), ("replay", "electricity")):
        done = CliRunner().invoke(main, list(command))
        assert done.exit_code == 2
        assert "driftway streams fetch electricity" in done.stderr


def test_a_user_without_a_home_has_fetched_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a container that runs as some number."""
    for variable in ("HOME", "XDG_CACHE_HOME"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setattr("os.path.expanduser", lambda path: path)
    assert fetched_file("electricity") is None
    with pytest.raises(UsageFailure, match="this user has no home in which streams can be kept: set XDG_CACHE_HOME"):
        cache_home()
