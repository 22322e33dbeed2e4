"""The catalogue on the command line: `driftway streams fetch`, and descriptions of streams not yet fetched."""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Iterator
from typing import Any

import click

from driftway.learners.engine.suggestion import did_you_mean
from driftway.producers.cli.injecting import few
from driftway.producers.streams.catalogue import CATALOGUE, Entry
from driftway.producers.streams.catalogue.download import Progress
from driftway.producers.streams.files import find_file
from driftway.producers.streams.registry import GENERATORS
from driftway.worker.errors import UsageFailure, plural

HOW_VERIFIED = {
    "rows": "this file was read: its checksum and its rows are known",
    "checksum": "address and checksum are published; the file itself was not read",
    "address": "the archive's checksum is not known; its rows are",
}


def fetch_all(names: tuple[str, ...], as_json: bool) -> None:
    """Fetch streams of the catalogue and print their paths.

    Raises
    ------
    UsageFailure
        No name is given, or the catalogue lacks one of them; nothing is fetched then.
    Failure
        A stream cannot be fetched; those before it are kept.
    """
    from driftway.producers.streams.catalogue.fetch import fetch

    if not names:
        raise UsageFailure("fetch needs the name of a stream of the catalogue; driftway streams lists them")
    entries = [_find(name) for name in names]
    done = []
    for entry in entries:
        with _bar(entry.name) as progress:
            path = fetch(entry, progress)
        click.echo(
            f"{entry.name}: {plural(entry.rows, 'row')}, {plural(entry.features, 'feature')} in {path}", err=True
        )
        done.append({"name": entry.name, "rows": entry.rows, "n_features": entry.features, "path": str(path)})
    if as_json:
        click.echo(json.dumps(done))


def _find(name: str) -> Entry:
    if name in CATALOGUE:
        return CATALOGUE[name]
    if name in GENERATORS:
        raise UsageFailure(f"{name} is a generator: there is nothing to fetch")
    hint = did_you_mean(name, CATALOGUE, "driftway streams lists them all", limit=3, write=str)
    raise UsageFailure(f"the catalogue has no stream {name!r}; {hint}")


def list_entries(data_dir: str | None) -> list[dict[str, Any]]:
    """One row per entry; `path` is the file that its name currently refers to, or None."""
    rows: list[dict[str, Any]] = []
    for entry in CATALOGUE.values():
        path = None if entry.name in GENERATORS else find_file(entry.name, data_dir)
        where = "not fetched" if path is None else str(path)
        rows.append(
            {
                "name": entry.name,
                "kind": "catalogue",
                "about": f"{entry.about}: {plural(entry.rows, 'row')}, {plural(entry.features, 'feature')}; {where}",
                "path": None if path is None else str(path),
            }
        )
    return rows


def describe_unfetched(name: str, data_dir: str | None) -> dict[str, Any] | None:
    """The catalogue's facts about a stream that is not on this machine; None for any other name."""
    entry = CATALOGUE.get(name)
    if entry is None or name in GENERATORS or find_file(name, data_dir) is not None:
        return None
    return {
        "name": entry.name,
        "kind": "catalogue",
        **_facts(entry),
        "fetched": False,
        "fetch": f"driftway streams fetch {entry.name}",
    }


def entry_of(name: str) -> dict[str, Any] | None:
    """The catalogue's facts about the stream `name`; None if it has no such stream."""
    return _facts(CATALOGUE[name]) if name in CATALOGUE and name not in GENERATORS else None


def _facts(entry: Entry) -> dict[str, Any]:
    return {
        "about": entry.about,
        "rows": entry.rows,
        "n_features": entry.features,
        "label": "y",
        "labels": list(entry.labels) or None,
        "task": entry.task,
        "addresses": [source.address for source in entry.sources],
        "checksums": [source.checksum for source in entry.sources],
        "rows_sha256": entry.rows_sha256,
        "verified": entry.verified,
        "licence": entry.licence,
        "source": entry.citation,
    }


def as_page(facts: dict[str, Any]) -> str:
    """The facts of `describe_unfetched` as text."""
    names = enumerate(facts["labels"] or ())
    classes = few([name if name == str(index) else f"{index} = {name}" for index, name in names])
    lines = [
        f"{facts['name']} (catalogue, not fetched: {facts['fetch']}): {facts['about']}",
        f"  rows          {facts['rows']:,}",
        f"  features      {facts['n_features']}",
        f"  label         {facts['label']}" + (f": {', '.join(classes)}" if classes else ""),
        f"  task          {facts['task']}",
        *(f"  address       {address}" for address in facts["addresses"]),
        *(f"  checksum      {checksum or 'not published'}" for checksum in facts["checksums"]),
        f"  verified      {HOW_VERIFIED[facts['verified']]}",
        f"  licence       {facts['licence']}",
        f"  source        {facts['source']}",
    ]
    return "\n".join(lines)


def entry_lines(facts: dict[str, Any]) -> list[str]:
    """Lines about the catalogue entry, for the page of the file of that name."""
    what = f"{facts['about']}: {plural(facts['rows'], 'row')}, {plural(facts['n_features'], 'feature')}"
    return [
        f"  catalogue     {what}",
        f"  licence       {facts['licence']}",
        f"  citation      {facts['source']}",
    ]


@contextlib.contextmanager
def _bar(name: str) -> Iterator[Progress | None]:
    """Show a progress bar on a terminal; yields a function of the bytes received and the total, or None."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, TextColumn, TransferSpeedColumn
    from rich.progress import Progress as Bar

    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn())
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        job = bar.add_task(name, total=None)
        yield lambda received, total: bar.update(job, completed=received, total=total)
