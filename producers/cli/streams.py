"""`driftway streams`: which streams there are, and what one of them looks like."""

from __future__ import annotations

import json
from typing import Any

import click

from driftway.producers.cli import fetching
from driftway.producers.cli.injecting import (
    describe_kind,
    few,
    inject_option,
    kind_page,
    list_kinds,
    read_through,
    truth_lines,
    truth_of,
)
from driftway.worker.cli.file_options import file_options, given_file_options, print_notes
from driftway.worker.errors import UsageFailure

SHOWN_FEATURES = 12
MORE = "driftway streams NAME describes any of these; driftway streams fetch NAME downloads one of the catalogue"


@click.command()
@click.argument("name", nargs=-1)
@click.option(
    "--label", metavar="NAME", help="Label column of a file.  [y; of an ARFF file the last one, if it is nominal]"
)
@click.option("--labels", metavar="A,B", help="Class names in index order, for a label column with text.")
@click.option("--data-dir", metavar="DIR", help="Folder of files that are given without a path.  [$DRIFTWAY_DATA]")
@file_options
@inject_option
@click.option("--json", is_flag=True, help="Print JSON on stdout.")
def streams(name: tuple[str, ...], **given: Any) -> None:
    """List the streams, describe one, or fetch public ones.

    Without NAME the command lists the generators, the files in the data folder (--data-dir or DRIFTWAY_DATA), the
    catalogue of public streams, and the kinds of injection. `driftway replay` and `driftway evaluate` accept any of
    these names, or a path, as a stream (--inject accepts a kind of injection).

    With NAME it shows the parameters, rows, features, classes, drift points and source of that stream; a file is read
    once in full for this. With --inject it also shows the ground truth of the stream with its injections: the concepts
    by their ids, the number of rows of each, and where the stream changes.

    fetch NAME... downloads, checks and stores streams of the catalogue. A file of the same name in the data folder
    takes precedence over a fetched one.

    \b
    Examples:
      driftway streams
      driftway streams sea
      driftway streams describe electricity --data-dir data --json
      driftway streams fetch electricity keystroke
      driftway streams gradual
      driftway streams sea --inject gradual:at=5000,width=1000,to=sea:thresholds=5 --inject label_noise:share=0.1
    """
    if name[:1] == ("fetch",):
        fetching.fetch_all(name[1:], given["json"])
        return
    words = name[1:] if name[:1] in (("describe",), ("list",)) else name
    if len(words) > 1:
        raise UsageFailure(f"streams describes one stream at a time, got {' '.join(words)}")
    if not words:
        rows = _list(given["data_dir"])
        click.echo(json.dumps(rows) if given["json"] else f"{_as_table(rows)}\n{list_kinds()}\n\n{MORE}")
        return
    if kind := describe_kind(words[0]):
        click.echo(json.dumps(kind) if given["json"] else kind_page(kind))
        return
    if unfetched := fetching.describe_unfetched(words[0], given["data_dir"]):
        click.echo(json.dumps(unfetched) if given["json"] else fetching.as_page(unfetched))
        return
    from driftway.producers.streams import open_stream

    labels = None if given["labels"] is None else given["labels"].split(",")
    opened = open_stream(
        words[0],
        label=given["label"],
        labels=labels,
        data_dir=given["data_dir"],
        inject=given["inject"],
        **given_file_options(given),
    )
    print_notes(opened)
    facts = {**_describe(opened), "catalogue": fetching.entry_of(words[0])}
    click.echo(json.dumps(facts) if given["json"] else _as_page(facts))


def _list(data_dir: str | None) -> list[dict[str, Any]]:
    from driftway.producers.streams.files import folder_files
    from driftway.producers.streams.registry import GENERATORS

    made = [{"name": name, "kind": "generator", "about": about} for name, (_, about) in GENERATORS.items()]
    public = fetching.list_entries(data_dir)
    named = {row["name"] for row in public}
    # A bare name that a generator has means the generator; a file of that name needs its suffix.
    found = {
        path.name if name in GENERATORS else name: path
        for name, path in folder_files(data_dir).items()
        if name not in named
    }
    return made + [{"name": name, "kind": "file", "about": str(path)} for name, path in found.items()] + public


def _as_table(rows: list[dict[str, Any]]) -> str:
    wide = max(len(row["name"]) for row in rows)
    return "\n".join(f"{row['name']:{wide}}  {row['kind']:9}  {row['about']}" for row in rows)


def _describe(stream: Any) -> dict[str, Any]:
    recipe = getattr(stream.root, "recipe", None)
    facts: dict[str, Any] = {
        "name": stream.name,
        "kind": "file" if recipe is None else "generator",
        "about": stream.source if recipe is None else recipe.summary,
        "rows": stream.rows,
        "n_features": stream.n_features,
        "features": list(stream.feature_names),
        "label": stream.label_name,
        "labels": None if stream.labels is None else list(stream.labels),
        "task": stream.task,
        "drift_points": list(stream.drift_points),
        "source": stream.source,
        **truth_of(stream),
        "parameters": [],
    }
    if recipe is None or stream.injections:
        facts = read_through(stream, facts)
    if recipe is not None:
        facts["parameters"] = [
            {
                "name": option.name,
                "default": option.default,
                "value": stream.root.values[option.name],
                "values": option.bounds.describe(),
                "meaning": option.bounds.text,
            }
            for option in recipe.options
        ]
    return facts


def _as_page(facts: dict[str, Any]) -> str:
    features = facts["features"]
    shown = ", ".join(features[:SHOWN_FEATURES]) + (", ..." if len(features) > SHOWN_FEATURES else "")
    points = few([str(point) for point in facts["drift_points"]])
    lines = [
        f"{facts['name']} ({facts['kind']}): {facts['about']}",
        f"  rows          {facts['rows']:,}",
        f"  features      {facts['n_features']}: {shown}",
        f"  label         {facts['label']}" + (f": {', '.join(facts['labels'])}" if facts["labels"] else ""),
        f"  task          {facts['task'] or 'not known'}",
        f"  drift points  {', '.join(points) or ('not known' if facts['kind'] == 'file' else 'none')}",
        f"  source        {facts['source']}",
    ]
    if facts["catalogue"] is not None:
        lines += fetching.entry_lines(facts["catalogue"])
    lines += truth_lines(facts)
    for name in ("rows_without_label", "rows_with_missing_features"):
        if facts.get(name):
            lines.append(f"  missing       {facts[name]:,} {name.replace('_', ' ')}")
    for option in facts["parameters"]:
        default = option["default"]
        text = "/".join(f"{x:g}" for x in default) if isinstance(default, tuple) else f"{default}"
        shown = f"{option['name']}={text}" if text else option["name"]
        lines.append(f"  parameter     {shown}: {option['values']}; {option['meaning']}")
    return "\n".join(lines)
