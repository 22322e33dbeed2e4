"""`driftway rejected`: show what was rejected and why, and send the events again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from driftway.worker.cli.options import client_options, group_of_outputs
from driftway.worker.errors import UsageFailure, no_topic, plural
from driftway.worker.kafka.client_config import parse_properties

if TYPE_CHECKING:
    from driftway.worker.admin.rejections.rejected import RejectionGroup

SAMPLES = 1


def _known(_: click.Context, __: click.Parameter, kinds: tuple[str, ...]) -> tuple[str, ...]:
    from driftway.worker.wire.rejections import ALL_KINDS

    for kind in kinds:
        if kind not in ALL_KINDS:
            raise click.BadParameter(f"there is no kind {kind!r}; there are {', '.join(ALL_KINDS)}")
    return kinds


@click.command()
@click.option("--input", required=True, metavar="EVENTS", help="Topic with the events that the workers read.")
@group_of_outputs
@client_options
@click.option(
    "--kind",
    "kinds",
    multiple=True,
    metavar="KIND",
    callback=_known,
    help="Show or send only rejections of this kind. Repeatable.",
)
@click.option(
    "--samples",
    type=click.IntRange(0),
    default=SAMPLES,
    show_default=True,
    metavar="N",
    help="Number of events to show per kind.",
)
@click.option("--send-again", is_flag=True, help="Send the events of these kinds again, each of them once.")
@click.option("--json", "as_json", is_flag=True, help="Print an object.")
def rejected(kinds: tuple[str, ...], samples: int, send_again: bool, as_json: bool, **given: Any) -> None:
    """List the reasons of rejections, with counts and examples, and send the events again when the cause is fixed.

    Each rejection has a kind: null, not-json, not-object, no-x, bad-x, features (they differ from those of the first
    event), missing (a feature), not-a-number, not-finite, not-a-time, no-category, inexact, label, late-label, id, key,
    packed, no-row and deleted (with --envelope), registry (with a schema registry). A label that cannot be used is set
    aside (label, late-label), and its event is predicted without it. With
    --send-again, events of the kinds given with --kind are written to their partition again, with the same key, value,
    headers and timestamp, and with a header driftway-again that names the event. Each rejection is sent only once,
    however often you run the command. If workers still cannot use the event, they reject it again: that is a new
    rejection, which can be sent again.

    \b
    Examples:
      driftway rejected --input EVENTS
      driftway rejected --input EVENTS --kind label --samples 5
      driftway rejected --input EVENTS --kind label --send-again
    """
    from driftway.worker.admin.rejections import rejected as topic
    from driftway.worker.admin.watch.watcher import chosen
    from driftway.worker.wire.codec import write_json

    passthrough = parse_properties(given["properties"], given["client_properties"])
    topics, counts = chosen(given["bootstrap"], passthrough, given)
    if topics.rejected not in counts:
        raise UsageFailure(no_topic(topics.rejected))
    target = given["bootstrap"], passthrough, topics
    if send_again:
        if not kinds:
            raise UsageFailure("--send-again needs at least one --kind; without both, the command lists the kinds")
        from driftway.worker.admin.rejections.send_again import Resender

        done = Resender(*target).send(topic.read(*target, counts[topics.rejected]), kinds)
        click.echo(str(done), err=True)
        done.require_all()
        return
    groups = topic.group_by_kind(topic.read(*target, counts[topics.rejected]), samples)
    groups = {kind: group for kind, group in groups.items() if not kinds or kind in kinds}
    if as_json:
        kinds_found = {kind: _as_object(group) for kind, group in groups.items()}
        click.echo(write_json({"input": topics.input, "topic": topics.rejected, "kinds": kinds_found}).decode())
    elif groups:
        _show(groups)
    else:
        wanted = f"of kind {' or '.join(kinds)} " if kinds else ""
        click.echo(f"nothing {wanted}in {topics.rejected}")


def _as_object(group: RejectionGroup) -> dict[str, Any]:
    from driftway.worker.stream.observability.progress_log import example

    samples = [
        {"partition": one.partition, "offset": one.offset, "reason": one.reason, "event": example(one.value)}
        for one in group.samples
    ]
    return {"count": group.count, "labels_set_aside": group.set_aside, "samples": samples}


def _show(groups: dict[str, RejectionGroup]) -> None:
    """Print how many rejections there are of each kind, and the samples."""
    from driftway.worker.errors import shown
    from driftway.worker.stream.observability.progress_log import example

    for kind, group in groups.items():
        labels = f" ({plural(group.set_aside, 'label')} set aside)" if group.set_aside else ""
        click.echo(f"{kind}: {group.count:,}{labels}")
        for one in group.samples:
            click.echo(f"  {one}: {shown(one.reason)}: {example(one.value)}")
