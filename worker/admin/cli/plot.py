"""`driftway plot`: draw rolling accuracy."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import click

from driftway.worker.cli.options import client_options, group_of_outputs
from driftway.worker.errors import Failure, with_file_shortage
from driftway.worker.kafka.client_config import parse_properties

if TYPE_CHECKING:
    from driftway.worker.plots.curves import Curves
    from driftway.worker.plots.reliability import Bins

READ_SECONDS = 120.0


@click.command()
@click.option("--input", required=True, metavar="EVENTS", help="Topic with the events that the workers read.")
@click.option("--out", required=True, metavar="FILE", help="File for the picture: .png, .svg or .html.")
@group_of_outputs
@client_options
@click.option(
    "--metric", metavar="NAME", help="Field of the accuracy points.  [default: window_accuracy or window_mse]"
)
@click.option(
    "--stream", metavar="STREAM", help="The stream that was replayed, to mark its known drifts and to count its rows."
)
@click.option("--rows", type=click.IntRange(1), help="Number of rows of that stream, if it was replayed with `rows`.")
@click.option("--label", metavar="NAME", help="Label column of a file given with --stream.  [default: as in replay]")
@click.option(
    "--reliability",
    is_flag=True,
    help="Draw a reliability diagram: how often predictions were right, by their probability.",
)
@click.pass_obj
def plot(obj: dict[str, Any], /, **given: Any) -> None:
    """Draw rolling accuracy over rows, with the no-change and majority baselines, from an input's accuracy points.

    There is one line per learner: the mean over the partitions. The baselines use the same rolling window. The picture
    marks the workers' drift alarms and the points where a challenger was first found better or worse than the champion;
    with --stream it also marks the known drifts of a generator. With --reliability the picture is a reliability diagram
    instead: how often predictions were right, against their predicted probability.

    \b
    Examples:
      driftway plot --input EVENTS --out accuracy.png
      driftway plot --input EVENTS --out accuracy.svg --metric kappa_temporal
      driftway plot --input EVENTS --out accuracy.html --stream sea
      driftway plot --input EVENTS --out reliability.png --reliability
    """
    from driftway.worker.plots.plotting import Picture, check_output, draw
    from driftway.worker.plots.reliability import draw_reliability
    from driftway.worker.plots.web_page import HTML, check_picture, write_page

    (check_output if given["reliability"] else check_picture)(given["out"])
    passthrough = parse_properties(given["properties"], given["client_properties"])
    name, drifts = given["input"], ()
    if given["stream"]:
        stream = obj["open_stream"](given["stream"], rows=given["rows"], label=given["label"])
        name, drifts = os.path.basename(stream.name), stream.drift_points
    curves, partitions, models = _read(passthrough, given)
    if given["reliability"]:
        draw_reliability(models, name, given["out"])
        click.echo(f"wrote {given['out']}", err=True)
        return
    rows = float(partitions) if given["stream"] else 0.0  # replay deals row i to partition i mod N
    picture = Picture(name, given["metric"], drifts, rows)
    if given["out"].lower().endswith(HTML):
        write_page([(curves, picture)], given["out"])
    else:
        draw(curves, picture, given["out"])
    click.echo(f"wrote {given['out']}", err=True)


def _read(passthrough: dict[str, Any], given: dict[str, Any]) -> tuple[Curves, int, dict[str, Bins]]:
    """Read all accuracy points up to the present end.

    Returns them, the input's number of partitions, and for each learner the newest bins of its probabilities.
    """
    import time
    from contextlib import closing

    from driftway.worker.admin.watch.topic_tail import TopicTail, readings
    from driftway.worker.admin.watch.watcher import chosen
    from driftway.worker.plots.curves import Curves
    from driftway.worker.plots.reliability import added_up

    topics, counts = chosen(given["bootstrap"], passthrough, given)
    accuracy = topics.accuracy
    curves = Curves()
    newest: dict[str, dict[int, Bins]] = {}
    deadline = time.monotonic() + READ_SECONDS
    with closing(TopicTail(given["bootstrap"], passthrough, {accuracy: counts[accuracy]})) as tail:
        while not tail.at_end:
            for point, _ in readings(tail.poll(0.1)):
                curves.add(point)
                newest.setdefault(point["learner"], {})[point["partition"]] = point.get("reliability", [])
            if time.monotonic() > deadline:
                raise Failure(with_file_shortage(f"the end of {accuracy} was not reached in {READ_SECONDS:.0f} s"))
    models: dict[str, Bins] = {learner: added_up(list(parts.values())) for learner, parts in newest.items()}
    return curves, counts[topics.input], models
