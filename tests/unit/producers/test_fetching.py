"""Fetching streams of the catalogue from a server that fails in every way, and which file a name means afterwards."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import re
import socket
import sys
import threading
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from driftway.cli import main
from driftway.producers.streams import GENERATORS, open_stream
from driftway.producers.streams.catalogue import CATALOGUE, DownloadSource, Entry, cache_home
from driftway.producers.streams.catalogue.download import download
from driftway.producers.streams.catalogue.fetch import fetch
from driftway.worker.errors import Failure
from tests.support.cli_runner import run

CSV = b"1.5,2,no\n3,-4e-3,yes\n0.1,6,no\n"
X = [[1.5, 2], [3, -4e-3], [0.1, 6]]
Y = [0, 1, 0]


class Server:
    """A server with a test's answers: path -> (status, headers, body); it records the paths that were requested."""

    def __init__(self) -> None:
        self.answers: dict[str, tuple[int, dict[str, str], bytes]] = {}
        self.asked: list[str] = []
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                server.asked.append(self.path)
                status, headers, body = server.answers.get(self.path, (404, {}, b"absent"))
                self.send_response(status)
                for name, value in {"Content-Length": str(len(body)), **headers}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: Any) -> None:
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self.http.server_port}"

    def serve(self, path: str, body: bytes, status: int = 200, **headers: str) -> DownloadSource:
        self.answers[path] = (status, {name.replace("_", "-"): value for name, value in headers.items()}, body)
        return DownloadSource(f"{self.address}{path}", f"sha256:{hashlib.sha256(body).hexdigest()}", len(body))


@pytest.fixture
def server() -> Iterator[Server]:
    made = Server()
    thread = threading.Thread(target=made.http.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield made
    made.http.shutdown()
    thread.join()
    made.http.server_close()


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of the test's own."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("no_proxy", "*")
    monkeypatch.delenv("DRIFTWAY_DATA", raising=False)
    return cache_home()


def tiny(*sources: DownloadSource, **changes: Any) -> Entry:
    """Return an entry of three rows of two features; the digest covers the numbers as written here."""
    table = np.column_stack([X, Y]).astype("<f8").tobytes()
    entry = Entry(
        name="tiny",
        about="three rows",
        sources=sources,
        rows=3,
        features=2,
        task="classification",
        licence="none",
        citation="nobody: nothing, 1900",
        verified="rows",
        labels=("no", "yes"),
        rows_sha256=hashlib.sha256(table).hexdigest(),
    )
    return replace(entry, **changes)


def left(home: Path) -> list[Path]:
    """Return all that is in the cache, files and folders, hidden ones too."""
    return sorted(home.rglob("*"))


def zipped(name: str, body: bytes) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("Readme.txt", "not this one")
        archive.writestr(name, body)
    return packed.getvalue()


# Fetching correct files


def read(name: str) -> tuple[list[list[float]], list[float]]:
    blocks = list(open_stream(name).blocks())
    return np.concatenate([b.X for b in blocks]).tolist(), np.concatenate([b.y for b in blocks]).tolist()


ARFF = b"% made\n@relation r\n@ATTRIBUTE 'a b' real\n@attribute b real\n@attribute c {yes,no}\n@data\n% row\n" + CSV
SHAPES: dict[str, tuple[list[bytes], dict[str, Any]]] = {
    "csv": ([CSV], {}),
    "no newline at the end": ([CSV.rstrip()], {}),
    "carriage returns": ([CSV.replace(b"\n", b"\r\n")], {}),
    "gzip": ([gzip.compress(CSV)], {}),
    "zip": ([zipped("hour.csv", CSV)], {}),
    "header": ([b"a,b,c\n" + CSV], {"header": True}),
    "names": ([CSV], {"names": ("a", "b", "c")}),
    "label first": ([b"c,a,b\nno,1.5,2\nyes,3,-4e-3\nno,0.1,6\n"], {"header": True, "label": "c"}),
    "dropped": ([b"n,a,b,c\n1,1.5,2,no\n2,3,-4e-3,yes\n3,0.1,6,no\n"], {"header": True, "drop": ("n",)}),
    "comma at the end of a row": ([CSV.replace(b"yes", b"yes,")], {}),
    "arff": ([ARFF], {"format": "arff"}),
    "labels apart": ([b"1.5 2\n3  -4e-3\n0.1 6", b"7\n9\n7\n"], {"separator": " ", "labels": ("7", "9")}),
    "unlabelled": ([b"1.5,2,no\n5,5,NA\n3,-4e-3,yes\n0.1,6,no\n"], {"unlabelled_rows": True}),
    "words": (
        [b"a,b,c\n1.5,E,0\n3,N,1\n"],
        {"header": True, "codes": {"b": ("N", "E")}, "rows": 2, "labels": ("0", "1"), "rows_sha256": None},
    ),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_a_fetched_stream_opens_by_its_name(shape: str, server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    bodies, changes = SHAPES[shape]
    sources = [server.serve(f"/{number}", body) for number, body in enumerate(bodies)]
    if shape == "zip":
        sources = [replace(sources[0], member="hour.csv")]
    entry = tiny(*sources, **changes)
    monkeypatch.setitem(CATALOGUE, "tiny", entry)
    path = fetch(entry)
    assert left(cache_home()) == [path]
    if shape == "words":
        assert read("tiny") == ([[1.5, 1], [3, 0]], [0, 1])
    else:
        assert read("tiny") == (X, Y)
    stream = open_stream("tiny")
    assert (stream.rows, stream.task, stream.labels) == (entry.rows, "classification", ("0", "1"))
    assert stream.source.startswith("nobody: nothing, 1900; http://127.0.0.1")


def test_a_regression_target_keeps_its_text(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    source = server.serve("/r", b"a,t\n1,0.30000000000000004\n")
    entry = tiny(source, header=True, labels=(), task="regression", rows=1, features=1, rows_sha256=None)
    monkeypatch.setitem(CATALOGUE, "tiny", entry)
    fetch(entry)
    assert read("tiny") == ([[1.0]], [0.1 + 0.2])
    assert (open_stream("tiny").task, open_stream("tiny").labels) == ("regression", None)


def test_a_second_fetch_requests_nothing(server: Server) -> None:
    entry = tiny(server.serve("/x", CSV))
    assert fetch(entry) == fetch(entry)
    assert server.asked == ["/x"]


def test_progress_reports_the_bytes_received(server: Server) -> None:
    progress: list[tuple[int, int | None]] = []
    fetch(tiny(server.serve("/x", CSV)), lambda *bytes_: progress.append(bytes_))
    assert progress[-1] == (len(CSV), len(CSV))


def test_a_redirection_is_followed(server: Server) -> None:
    source = server.serve("/x", CSV)
    server.serve("/moved", b"", status=302, Location="/x")
    fetch(tiny(replace(source, address=f"{server.address}/moved")))
    assert server.asked == ["/moved", "/x"]


def test_the_checksum_may_be_that_of_a_git_blob(server: Server, tmp_path: Path) -> None:
    server.serve("/hello", b"hello\n")
    # echo hello | git hash-object --stdin
    source = DownloadSource(f"{server.address}/hello", "git:ce013625030ba8dba906f756967f9e9ca394464a")
    download(source, tmp_path / "hello", lambda *_: None)
    assert (tmp_path / "hello").read_bytes() == b"hello\n"
    wrong = replace(source, checksum="git:" + "0" * 40)
    with pytest.raises(Failure, match=r"git ce0136250\w+\.\.\., not 0{12}\.\.\.$"):
        download(wrong, tmp_path / "other", lambda *_: None)
    assert list(tmp_path.iterdir()) == [tmp_path / "hello"]  # no partial file of the other


# Fetching wrong files


def refused(server: Server) -> Entry:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    return tiny(DownloadSource(f"http://127.0.0.1:{port}/x"))


def unsummed(server: Server, body: bytes, **headers: str) -> DownloadSource:
    return DownloadSource(server.serve("/x", body, **headers).address)


PAGE = b"\n<!DOCTYPE html><html><body>Log in</body></html>"
FAULTS: dict[str, tuple[Callable[[Server], Entry], str]] = {
    "no network": (refused, r"cannot reach 127\.0\.0\.1:\d+: Connection refused; is there a network\?"),
    "404": (
        lambda s: tiny(DownloadSource(f"{s.address}/x")),
        r"127\.0\.0\.1:\d+ answers 404 Not Found for http://.*/x",
    ),
    "503": (lambda s: tiny(s.serve("/x", CSV, status=503)), r".* answers 503 Service Unavailable for http://.*/x"),
    "page": (lambda s: tiny(unsummed(s, PAGE)), r".* sends a web page instead of the data set at http://.*/x"),
    "page by type": (
        lambda s: tiny(unsummed(s, CSV, Content_Type="text/html; charset=utf-8")),
        r".* sends a web page instead of the data set at http://.*/x",
    ),
    "checksum": (
        lambda s: tiny(replace(s.serve("/x", CSV), checksum="sha256:" + "0" * 64)),
        r"http://.*/x does not have the checksum of the catalogue: sha256 \w{12}\.\.\., not 0{12}\.\.\.",
    ),
    "cut off": (
        lambda s: tiny(s.serve("/x", CSV[:-9], Content_Length=str(len(CSV)))),
        r"the download from .* was cut off after 21 of 30 bytes|the download from .* broke off: .*",
    ),
    "larger": (
        lambda s: tiny(replace(s.serve("/x", CSV), size=20)),
        r"http://.*/x has more than the 20 bytes of the catalogue: it has changed",
    ),
    "smaller": (
        lambda s: tiny(replace(s.serve("/x", CSV), size=40)),
        r"http://.*/x has fewer than the 40 bytes of the catalogue: it has changed",
    ),
    "empty": (lambda s: tiny(unsummed(s, b"")), r"http://.*/x is empty"),
    "rows": (lambda s: tiny(s.serve("/x", CSV), rows=4), r"tiny has 3 rows, not the 4 of the catalogue"),
    "values": (
        lambda s: tiny(unsummed(s, CSV.replace(b"6", b"7"))),
        r"tiny does not have the values of the catalogue: rows sha256 \w{12}\.\.\.",
    ),
    "columns": (lambda s: tiny(unsummed(s, CSV), features=3), r"tiny: row 1 has 3 values, not 4"),
    "ragged": (lambda s: tiny(unsummed(s, CSV + b"1,2\n")), r"tiny: row 4 has 2 values, not 3"),
    "label": (lambda s: tiny(unsummed(s, CSV + b"1,2,?\n")), r"tiny: row 4 holds '\?', which is not a known value"),
    "text": (
        lambda s: tiny(unsummed(s, CSV.replace(b"6", b"six"))),
        r"http://.*/x is not the data set tiny: .* holds 'six', which is not a number.*",
    ),
    "column name": (lambda s: tiny(unsummed(s, CSV), drop=("z",)), r"tiny has no column 'z'; available: x0, x1, y"),
    "cut gzip": (lambda s: tiny(unsummed(s, gzip.compress(CSV * 9)[:-12])), r"tiny is damaged: .*"),
    "no member": (
        lambda s: tiny(replace(unsummed(s, zipped("a.csv", CSV)), member="b.csv")),
        r"tiny is damaged: .*b\.csv.*",
    ),
    "no arff": (lambda s: tiny(unsummed(s, CSV), format="arff"), r"tiny is not ARFF: it has no @data"),
    "lengths": (
        lambda s: tiny(unsummed(s, b"1 2\n3 4\n"), DownloadSource(s.serve("/y", b"no\n").address), separator=" "),
        r"the files of tiny have different numbers of rows",
    ),
    "not text": (lambda s: tiny(unsummed(s, b"\xff\xfe\x00\x01")), r"the files of tiny are not UTF-8 text"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_reported_in_one_sentence_and_leaves_nothing(
    fault: str, server: Server, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make, sentence = FAULTS[fault]
    monkeypatch.setitem(CATALOGUE, "tiny", make(server))
    done = run("streams", "fetch", "tiny")
    assert done.exit_code == 1, done.output
    assert done.stdout == ""
    assert re.fullmatch(f"driftway: ({sentence})\n", done.stderr), done.stderr
    assert left(home) == []


def test_a_second_file_that_is_missing_leaves_nothing_of_the_first(server: Server, home: Path) -> None:
    with pytest.raises(Failure, match="answers 404"):
        fetch(tiny(server.serve("/x", b"1 2\n"), DownloadSource(f"{server.address}/absent"), separator=" "))
    assert left(home) == []


def test_a_terminal_shows_the_progress_of_a_fetch(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setitem(CATALOGUE, "tiny", tiny(server.serve("/x", CSV)))
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setattr(sys, "stderr", drawn := Terminal())
    main.main(["streams", "fetch", "tiny"], standalone_mode=False)
    assert f"{len(CSV)}/{len(CSV)} bytes" in drawn.getvalue()


def test_an_interrupted_fetch_leaves_nothing(server: Server, home: Path) -> None:
    def interrupt(_received: int, _total: int | None) -> None:
        assert len(left(home)) == 2  # the staging folder and the part in it
        raise KeyboardInterrupt

    entry = tiny(server.serve("/x", CSV))
    with pytest.raises(KeyboardInterrupt):
        fetch(entry, interrupt)
    assert left(home) == []
    assert fetch(entry).is_file()


def test_leftovers_of_a_killed_fetch_are_removed_by_the_next(server: Server, home: Path) -> None:
    (home / ".fetching-dead").mkdir(parents=True)
    (home / ".fetching-dead" / "source-0.part").write_bytes(b"1,")
    assert left(home) != []
    path = fetch(tiny(server.serve("/x", CSV)))
    assert left(home) == [path]


def test_a_cache_that_cannot_be_written_is_reported_in_one_sentence(server: Server, home: Path) -> None:
    home.parent.mkdir(parents=True)
    home.write_text("in the way")
    with pytest.raises(Failure, match=r"cannot store streams in .*: File exists; XDG_CACHE_HOME sets another folder"):
        fetch(tiny(server.serve("/x", CSV)))


# Which file a name means


def test_a_file_of_the_data_folder_is_used_before_a_fetched_one(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(CATALOGUE, "tiny", tiny(server.serve("/x", CSV)))
    fetch(CATALOGUE["tiny"])
    (tmp_path / "tiny.csv").write_text("a,y\n8,1\n")
    assert read("tiny") == (X, Y)
    monkeypatch.setenv("DRIFTWAY_DATA", str(tmp_path))
    assert read("tiny") == ([[8.0]], [1.0])
    assert open_stream("tiny").labels is None


def test_the_commands_fetch_and_list_streams(server: Server, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(CATALOGUE, "tiny", tiny(server.serve("/x", CSV)))

    def row() -> dict[str, Any]:
        rows = {row["name"]: row for row in json.loads(run("streams", "--json").stdout)}
        assert set(CATALOGUE) | set(GENERATORS) == set(rows)
        return rows["tiny"]

    assert (row()["kind"], row()["path"]) == ("catalogue", None)
    assert row()["about"].endswith("3 rows, 2 features; not fetched")
    unfetched = json.loads(run("streams", "tiny", "--json").stdout)
    assert (unfetched["fetched"], unfetched["rows"]) == (False, 3)
    assert unfetched["fetch"] == "driftway streams fetch tiny"
    page = run("streams", "describe", "tiny").stdout
    assert "licence       none" in page
    (source,) = CATALOGUE["tiny"].sources
    assert (unfetched["addresses"], unfetched["checksums"]) == ([source.address], [source.checksum])
    assert f"checksum      {source.checksum or 'not published'}\n" in page

    done = run("streams", "fetch", "tiny", "--json")
    path = str(home / "tiny.csv.gz")
    assert json.loads(done.stdout) == [{"name": "tiny", "rows": 3, "n_features": 2, "path": path}]
    assert done.stderr == f"tiny: 3 rows, 2 features in {path}\n"
    assert row()["path"] == path
    described = json.loads(run("streams", "tiny", "--json").stdout)
    assert (described["rows"], described["n_features"], described["task"]) == (3, 2, "classification")
    assert described["catalogue"]["licence"] == "none"


@pytest.mark.parametrize(
    ("names", "sentence"),
    [
        ((), "fetch needs the name of a stream of the catalogue; driftway streams lists them"),
        (("electricty",), "the catalogue has no stream 'electricty'; did you mean electricity?"),
        (("quux",), "the catalogue has no stream 'quux'; driftway streams lists them all"),
        (("sea",), "sea is a generator: there is nothing to fetch"),
    ],
)
def test_a_wrong_name_is_refused_before_anything_is_fetched(
    names: tuple[str, ...], sentence: str, server: Server, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(CATALOGUE, "tiny", tiny(server.serve("/x", CSV)))
    done = run("streams", "fetch", *(("tiny", *names) if names else ()))
    assert (done.exit_code, done.stderr) == (2, f"driftway: {sentence}\n")
    assert server.asked == []
    assert not home.exists()
