"""What `driftway streams` shows about injections: the ground truth of a stream, and each kind's parameters."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from driftway.worker.errors import plural

F = TypeVar("F", bound=Callable[..., Any])
SHOWN = 12
"""Most changes, concepts or drift points listed on a page; JSON has all."""


def inject_option(command: F) -> F:
    """Add ``--inject`` to a command."""
    option = click.option(
        "--inject",
        multiple=True,
        metavar="KIND:OPTION=VALUE,..",
        help="Drift, noise or missing values to inject into the stream. Repeatable; injections are applied in order. "
        "`driftway streams KIND` describes a kind: sudden, gradual, incremental, recurring, label_noise, label_flip, "
        "missing, imbalance or virtual.",
    )
    return option(command)


def truth_of(stream: Any) -> dict[str, Any]:
    """A stream's injections, concepts by their ids, and changes."""
    return {
        "injections": list(stream.injections),
        "concepts": list(stream.concepts),
        "changes": [
            {"kind": kind, "at": at, "start": start, "end": end, "drift": drift}
            for kind, at, start, end, drift in stream.changes
        ],
    }


def read_through(stream: Any, facts: dict[str, Any]) -> dict[str, Any]:
    """Read the stream to add row counts and missing values to `facts`, and to drop changes past its end."""
    import numpy as np

    counts = np.zeros(len(stream.concepts), np.int64)
    missing_labels = missing_features = 0
    for block, concept in stream.traced():
        counts += np.bincount(concept, minlength=len(counts))
        missing_labels += int(np.isnan(block.y).sum())
        missing_features += int(np.isnan(block.X).any(axis=1).sum())
    rows = int(counts.sum())
    return {
        **facts,
        "drift_points": [point for point in facts["drift_points"] if point < rows],
        "changes": [change for change in facts["changes"] if change["at"] < rows],
        "rows": rows,
        "rows_per_concept": counts.tolist(),
        "rows_without_label": missing_labels,
        "rows_with_missing_features": missing_features,
    }


def truth_lines(facts: dict[str, Any]) -> list[str]:
    """Lines about a stream's injections, for its page; none without injections."""
    if not facts["injections"]:
        return []
    lines = [f"  injected      {text}" for text in facts["injections"]]
    changes = [
        f"{change['kind']} at {change['at']}"
        + (f" (rows {change['start']} to {change['end'] - 1})" if change["end"] > change["start"] else "")
        + ("" if change["drift"] else ", no drift")
        for change in facts["changes"]
    ]
    lines += [f"  change        {text}" for text in few(changes)]
    counts = facts["rows_per_concept"]
    concepts = [f"{k}: {name}, {plural(counts[k], 'row')}" for k, name in enumerate(facts["concepts"]) if counts[k]]
    return lines + [f"  concept       {text}" for text in few(concepts)]


def few(texts: list[str]) -> list[str]:
    """The first `SHOWN` of `texts`, and how many more there are."""
    left = len(texts) - SHOWN
    return texts[:SHOWN] + ([f"... and {left} more (--json shows all)"] if left > 0 else [])


def list_kinds() -> str:
    """One line per kind, shown below the list of streams."""
    from driftway.producers.streams.injection.registry import KINDS

    wide = max(map(len, KINDS))
    return "\n".join(["", "injections (--inject):", *(f"  {name:{wide}}  {text}" for name, (_, text) in KINDS.items())])


def describe_kind(name: str) -> dict[str, Any] | None:
    """The parameters of a kind of injection; None if there is no such kind."""
    from driftway.producers.streams.injection.registry import KINDS, find_kind

    if name not in KINDS:
        return None
    kind = find_kind(name)
    parameters = [
        {
            "name": option.name,
            "default": None if option.name == "until" or option.name in kind.required else option.default,
            "required": option.name in kind.required,
            "values": option.bounds.describe(),
            "meaning": option.bounds.text,
        }
        for option in kind.options
    ]
    more = [("columns", "feature names separated by /", "which features; default: all", False)] * kind.columns
    more += [("seed", "a whole number from 0 to 2^64 - 1", "seed of its draws; default: the stream's", False)]
    more += [("to", "a stream", "the second stream; comes last, everything after it belongs to it", True)] * kind.second
    parameters += [
        {"name": extra, "default": None, "required": required, "values": values, "meaning": meaning}
        for extra, values, meaning, required in more
    ]
    return {
        "name": kind.name,
        "kind": "injection",
        "about": kind.summary,
        "source": kind.source,
        "parameters": parameters,
    }


def kind_page(facts: dict[str, Any]) -> str:
    """`describe_kind` as text."""
    lines = [f"{facts['name']} (injection): {facts['about']}", f"  source        {facts['source']}"]
    for option in facts["parameters"]:
        default = "" if option["default"] is None else f"={option['default']:g}"
        needed = " (required)" if option["required"] else ""
        lines.append(f"  parameter     {option['name']}{default}{needed}: {option['values']}; {option['meaning']}")
    return "\n".join(lines)
