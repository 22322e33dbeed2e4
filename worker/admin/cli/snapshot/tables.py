"""Terminal output of `driftway snapshot` and `driftway explain`."""

from __future__ import annotations

import contextlib
import math
import sys
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from driftway.worker.cli.console import wide_console
from driftway.worker.errors import plural, shown

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from driftway.worker.admin.explain import ExplainedPrediction
    from driftway.worker.admin.state_admin.listing import SnapshotList
    from driftway.worker.admin.state_admin.source import GroupPartition
    from driftway.worker.admin.state_admin.state_at_offset import ProgressFactory

MAX_FEATURES = 40
"""Maximum number of rows in a table by feature; --json has them all."""
MAX_COLUMNS = 6
"""Maximum number of arrays side by side in one table."""


@contextlib.contextmanager
def bars() -> Iterator[ProgressFactory]:
    """Progress bars on a terminal."""
    from driftway.worker.admin.state_admin.state_at_offset import no_progress

    if not sys.stderr.isatty():
        yield no_progress
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as progress:

        def bar(what: str, total: int) -> Any:
            job = progress.add_task(what, total=total)
            return lambda n: progress.advance(job, n)

        yield bar


def listed(source: GroupPartition, listing: SnapshotList) -> dict[str, Any]:
    """One partition of `driftway snapshot list --json`."""
    from driftway.worker.admin.state_admin.listing import HistoryMark
    from driftway.worker.state.plans.model_plan import PlanAdoption

    entries: list[dict[str, Any]] = []
    for one in listing.found:
        if isinstance(one, HistoryMark):
            entries.append({"kind": "history", "record": one.record, "began": one.began, "written": one.written})
            continue
        if isinstance(one, PlanAdoption):
            entries.append({"kind": "plan", "adopted_at": one.offset, **one.plan.as_dict()})
            continue
        entries.append(
            {
                "kind": "snapshot",
                "record": one.pointer.first,
                "chunks": one.pointer.chunks,
                "offset": one.state_offset,
                "rows": one.rows,
                "learners": list(one.learners),
                "bytes": one.nbytes,
                "written": one.written,
                "problem": one.problem,
                "committed": source.pointer is not None and source.pointer.first == one.pointer.first,
            }
        )
    return {
        "partition": source.partition,
        "committed": source.committed,
        "log": [source.low, source.high],
        "orphans": listing.orphans,
        "found": entries,
    }


def print_list(source: GroupPartition, listing: SnapshotList) -> None:
    """Print one partition of `driftway snapshot list`."""
    partition = listed(source, listing)
    table = _table(("offset", "rows", "bytes"), ("written", "learners", ""))
    for one in partition["found"]:
        if one["kind"] == "plan":
            models = ", ".join(
                ":".join(filter(None, (model.get("start"), model["learner"]))) for model in one["models"]
            )
            line = f"-- plan {one['plan']} was adopted at offset {one['adopted_at']}: {models} --"
            table.add_row("", "", "", "", shown(line), "")
            continue
        written = _time(one["written"])
        if one["kind"] == "history":
            began = "with a state that was imported or kept" if one["began"] is None else f"at offset {one['began']}"
            table.add_row("", "", "", written, f"-- a new history began {began} --", "")
            continue
        rows = "-" if one["rows"] is None else f"{one['rows']:,}"
        learners = shown(one["problem"] or ", ".join(one["learners"]))
        table.add_row(
            str(one["offset"]), rows, f"{one['bytes']:,}", written, learners, "<- committed" if one["committed"] else ""
        )
    console = wide_console()
    where = "nothing committed" if source.committed is None else f"committed up to offset {source.committed}"
    _say(console, f"{source}: {where}, the log holds {source.low} to {source.high}")
    if listing.found:
        console.print(table)
    else:
        console.print("no complete snapshot")
    if listing.orphans:
        console.print(f"and {plural(listing.orphans, 'chunk')} of incomplete snapshots")


def print_state(state: dict[str, Any]) -> None:
    """Print where a state comes from, then what `driftway.worker.admin.state_admin.description.describe` returned."""
    console = wide_console()
    for key in ("file", "digest", "bytes", "input", "group", "rebuilt_from"):
        if state.get(key) is not None:
            _say(console, f"{key.replace('_', ' ')}: {state[key]}")
    for note in state.get("notes", ()):
        _say(console, f"note: {note}")
    for line in _origin(state.get("origin") or {}, ""):
        _say(console, f"origin: {line}")
    classes = f", {state['n_classes']} classes" if state["n_classes"] else ""
    labels = f" ({', '.join(state['labels'])})" if state["labels"] else ""
    where = f"partition {state['partition']} at offset {state['offset']}: {plural(state['rows'], 'row')}"
    _say(console, f"{where}; {state['task']}{classes}{labels}")
    if state["maps"]:
        _say(console, f"feature maps: {', '.join(state['maps'])}")
    if state["features"] is None:
        console.print("no usable event yet, so there are no learners")
    for learner in state["learners"]:
        _print_learner(console, learner)


def _origin(given: dict[str, Any], before: str) -> Iterator[str]:
    """One line per value, nested ones by their dotted name; curves are only summarized."""
    for key, value in given.items():
        if isinstance(value, dict):
            yield from _origin(value, f"{before}{key}.")
        elif key == "curve" and isinstance(value, list):
            yield f"{before}{key}: {plural(len(value), 'point')}, with --json"
        else:
            yield f"{before}{key} = {_short(value)}"


def _print_learner(console: Console, learner: dict[str, Any]) -> None:
    console.print()
    _say(console, learner["learner"], style="bold")
    for what in ("parameters", "counters"):
        values = ", ".join(f"{name} = {_short(value)}" for name, value in learner[what].items())
        _say(console, f"{what}: {values or 'none'}")
    if "experts" in learner:
        shares = sorted(learner["experts"].items(), key=lambda expert: -expert[1])
        experts = ", ".join(f"{name} {share:.1%}" for name, share in shares)
        _say(console, f"experts: {experts}")
    columns = list(learner["by_feature"].items())
    for start in range(0, len(columns), MAX_COLUMNS):
        some = columns[start : start + MAX_COLUMNS]
        table = _table(tuple(name for name, _ in some), (), first="feature")
        for j, name in enumerate(learner["rows"][:MAX_FEATURES]):
            table.add_row(shown(name), *(f"{array[j]:.6g}" if j < len(array) else "" for _, array in some))
        console.print(table)
    if columns and len(learner["rows"]) > MAX_FEATURES:
        console.print(f"... and {plural(len(learner['rows']) - MAX_FEATURES, 'more feature')}; --json has them all")
    for name, array in learner["arrays"].items():
        shape = " x ".join(map(str, array["shape"]))
        span = f"{_short(array['least'])} to {_short(array['largest'])}, mean {_short(array['mean'])}"
        _say(console, f"{name}: {shape} numbers, {array['nonzero']:,} not 0, {span}")
    metrics = ", ".join(f"{name} = {_short(value)}" for name, value in learner["metrics"].items())
    _say(console, f"metrics: {metrics}")


def print_explanation(found: ExplainedPrediction) -> None:
    """Print the explanation of a prediction, the largest contribution first."""
    console, e = wide_console(), found.explanation
    sure = f", {confidence_text(found.confidence)}" if found.confidence else ""
    label = "not known" if found.y is None else found.y
    _say(console, f"{found.learner} predicted {found.prediction}{sure}; label {label}")
    about = "" if found.about is None else f" for class {found.about}"
    table = _table(("value", "baseline", "contribution"), (), first="feature")
    order = sorted(range(len(found.names)), key=lambda j: -abs(e.contributions[j]))
    for j in order[:MAX_FEATURES]:
        table.add_row(shown(found.names[j]), f"{found.x[j]:.6g}", f"{e.baseline[j]:.6g}", f"{e.contributions[j]:+.6g}")
    rest = order[MAX_FEATURES:]
    if rest:
        table.add_row(plural(len(rest), "other"), "", "", f"{sum(e.contributions[j] for j in rest):+.6g}")
    table.add_section()
    table.add_row("all features at their baseline", "", "", f"{e.baseline_score:+.6g}")
    table.add_row("features together (remainder)", "", "", f"{e.remainder:+.6g}")
    table.add_row(shown(f"score{about}"), "", "", f"{e.score:+.6g}")
    console.print(table)
    _say(console, f"rebuilt from {found.rebuilt_from}; {SAID[found.emitted.verdict]}")


def confidence_text(said: Mapping[str, Any]) -> str:
    """The confidence of a prediction in words, from `driftway.worker.admin.audit.diff.confidence_of`."""
    parts = [f"probability {said['probability']:.4g}"] if "probability" in said else []
    if "low" in said:
        low, high = ("none" if said[end] is None else f"{said[end]:.6g}" for end in ("low", "high"))
        parts.append(f"interval {low} to {high}")
    if "set" in said:
        parts.append(f"set {', '.join(map(str, said['set'])) or 'empty'}")
    return ", ".join(parts)


SAID = {
    "same": "the score is the emitted one, bit for bit",
    "differs": "the score is NOT the emitted one",
    "absent": "its prediction is not in its topic (any more)",
    "not yet predicted": "the group has not predicted it yet",
}
"""Verdict of `driftway.worker.admin.explain.WrittenPrediction` -> text."""


def _table(right: tuple[str, ...], left: tuple[str, ...], first: str | None = None) -> Table:
    from rich.table import Table

    table = Table(box=None, header_style="bold")
    if first is not None:
        table.add_column(first)
    for heading in right:
        table.add_column(shown(heading), justify="right")
    for heading in left:
        table.add_column(heading)
    return table


def _say(console: Console, text: str, style: str | None = None) -> None:
    """Print a line as it is, without control characters: names of features and labels may come from strangers."""
    console.print(shown(text), style=style, soft_wrap=True)


def _short(value: Any) -> str:
    """A finite float to six digits; anything else as text."""
    if isinstance(value, float) and math.isfinite(value):
        return f"{value:.6g}"
    return shown(str(value))


def _time(ms: int) -> str:
    from datetime import UTC, datetime

    return datetime.fromtimestamp(ms / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S")
