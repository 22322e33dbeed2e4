"""`driftway streams`: which streams there are, and what one of them looks like."""

from __future__ import annotations

import json
from typing import Any

import click

from worker.errors import UsageFailure

SHOWN_FEATURES = 12


@click.command()
@click.argument("name", nargs=-1)
@click.option("--label", default="y", show_default=True, metavar="NAME", help="Label column of a file.")
@click.option("--labels", metavar="A,B", help="Class names in index order, of a text label column.")
@click.option("--data-dir", metavar="DIR", help="Folder of files called by bare name.  [$DRIFTWAY_DATA]")
@click.option("--json", is_flag=True, help="As JSON on stdout.")
def streams(name: tuple[str, ...], **given: Any) -> None:
    """List the streams, or describe one.

    Without NAME: the generators, and the files of the data folder (--data-dir or DRIFTWAY_DATA). With NAME:
    its parameters, rows, features, classes, drift points and source; a file is read through once for that.

    \b
    Examples:
      driftway streams
      driftway streams sea
      driftway streams describe electricity --data-dir data --json
    """
    words = name[1:] if name[:1] in (("describe",), ("list",)) else name
    if len(words) > 1:
        raise UsageFailure(f"streams describes one stream at a time, got {' '.join(words)}")
    if not words:
        rows = _list(given["data_dir"])
        click.echo(json.dumps(rows) if given["json"] else _as_table(rows))
        return
    from producers.streams import open_stream

    labels = None if given["labels"] is None else given["labels"].split(",")
    opened = open_stream(words[0], label=given["label"], labels=labels, data_dir=given["data_dir"])
    facts = _describe(opened)
    click.echo(json.dumps(facts) if given["json"] else _as_page(facts))


def _list(data_dir: str | None) -> list[dict[str, Any]]:
    from producers.streams.files import catalogue
    from producers.streams.registry import GENERATORS

    made = [{"name": name, "kind": "generator", "about": about} for name, (_, about) in GENERATORS.items()]
    files = [{"name": name, "kind": "file", "about": str(path)} for name, path in catalogue(data_dir).items()]
    return made + files


def _as_table(rows: list[dict[str, Any]]) -> str:
    wide = max(len(row["name"]) for row in rows)
    return "\n".join(f"{row['name']:{wide}}  {row['kind']:9}  {row['about']}" for row in rows)


def _describe(stream: Any) -> dict[str, Any]:
    recipe = getattr(stream, "recipe", None)
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
        "parameters": [],
    }
    if recipe is None:
        facts |= _read_through(stream)
    else:
        facts["parameters"] = [
            {
                "name": option.name,
                "default": option.default,
                "value": stream.values[option.name],
                "values": option.allowed,
                "meaning": option.meaning,
            }
            for option in recipe.options
        ]
    return facts


def _read_through(stream: Any) -> dict[str, int]:
    """What only reading tells: length and missing values."""
    import numpy as np

    rows = missing_labels = missing_features = 0
    for block in stream.blocks():
        rows += len(block.y)
        missing_labels += int(np.isnan(block.y).sum())
        missing_features += int(np.isnan(block.X).any(axis=1).sum())
    return {
        "rows": rows,
        "rows_without_label": missing_labels,
        "rows_with_missing_features": missing_features,
    }


def _as_page(facts: dict[str, Any]) -> str:
    features = facts["features"]
    shown = ", ".join(features[:SHOWN_FEATURES]) + (", ..." if len(features) > SHOWN_FEATURES else "")
    lines = [
        f"{facts['name']} ({facts['kind']}): {facts['about']}",
        f"  rows          {facts['rows']:,}",
        f"  features      {facts['n_features']}: {shown}",
        f"  label         {facts['label']}" + (f": {', '.join(facts['labels'])}" if facts["labels"] else ""),
        f"  task          {facts['task'] or 'not known'}",
        f"  drift points  {', '.join(map(str, facts['drift_points'])) or 'not known'}",
        f"  source        {facts['source']}",
    ]
    for name in ("rows_without_label", "rows_with_missing_features"):
        if facts.get(name):
            lines.append(f"  {facts[name]:,} {name.replace('_', ' ')}")
    for option in facts["parameters"]:
        default = option["default"]
        text = "/".join(f"{x:g}" for x in default) if isinstance(default, tuple) else f"{default}"
        lines.append(f"  parameter     {option['name']}={text}: {option['values']}; {option['meaning']}")
    return "\n".join(lines)
