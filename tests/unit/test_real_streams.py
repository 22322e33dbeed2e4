"""Real streams are found in the user's folder or among fetched ones; tests without theirs are skipped in one line."""

from __future__ import annotations

import gzip
import os
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from driftway.producers.streams.catalogue import cache_home
from tests.meta.sources import ROOT
from tests.support.real_streams import ABSENT, PROPERTY, RealStreams

ROWS = "a,b,y\n1,2,0\n3,4,1\n5,6,0\n"


@pytest.fixture
def nothing_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Set up a home without streams; return a folder for them that is not configured yet."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("DRIFTWAY_DATA", raising=False)
    (tmp_path / "folder").mkdir()
    return tmp_path / "folder"


def write(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(ROWS.encode()))


@pytest.mark.parametrize("fetched", [False, True])
def test_a_stream_is_found_in_the_folder_or_among_fetched_ones(
    nothing_here: Path, fetched: bool, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DRIFTWAY_DATA", str(nothing_here))
    write((cache_home() if fetched else nothing_here) / "usenet1.csv.gz")
    X, y = RealStreams(request.node).rows("usenet1", 2)
    assert (X.tolist(), y.tolist()) == ([[1.0, 2.0], [3.0, 4.0]], [0.0, 1.0])


@pytest.mark.usefixtures("nothing_here")
def test_a_stream_that_is_not_here_skips_the_test_and_is_remembered() -> None:
    item = SimpleNamespace(user_properties=[])
    with pytest.raises(pytest.skip.Exception, match=ABSENT):
        RealStreams(item).data_dir("usenet1", "spam500")
    assert item.user_properties == [(PROPERTY, "usenet1"), (PROPERTY, "spam500")]


def test_a_test_of_several_streams_does_without_those_that_are_not_here(
    nothing_here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DRIFTWAY_DATA", str(nothing_here))
    wanted, item = [("usenet1", 2), ("spam500", 3)], SimpleNamespace(user_properties=[])
    with pytest.raises(pytest.skip.Exception, match=ABSENT):
        RealStreams(item).present(wanted)
    assert item.user_properties == [(PROPERTY, "usenet1"), (PROPERTY, "spam500")]
    write(nothing_here / "usenet1.csv.gz")
    assert RealStreams(item).present(wanted) == [("usenet1", 2)]
    assert item.user_properties[2:] == [(PROPERTY, "spam500")]


@pytest.mark.usefixtures("nothing_here")
def test_skips_are_one_line_and_what_to_do_is_said() -> None:
    tests = "tests/unit/learners/test_nmf.py", "tests/unit/producers/test_catalogue.py"
    argv = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", "data", *tests]
    done = subprocess.run(argv, cwd=ROOT, env=os.environ, capture_output=True, text=True, timeout=60, check=False)
    skipped = [line for line in done.stdout.splitlines() if line.startswith("SKIPPED")]
    assert len(skipped) == 1, done.stdout
    assert re.fullmatch(rf"SKIPPED \[\d\d\] tests/support/real_streams.py:\d+: {ABSENT}", skipped[0])
    assert "driftway streams fetch 1CDT 1CHT " in done.stdout
    assert done.stdout.count("names: spam500\n") == 1
