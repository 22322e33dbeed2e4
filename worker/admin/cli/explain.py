"""`driftway explain`: explain one prediction."""

from __future__ import annotations

from typing import Any

import click

from driftway.worker.admin.cli.group_options import (
    asked_partitions,
    group_options,
    partition_option,
    rebuild_options,
)
from driftway.worker.errors import Failure


@click.command()
@group_options()
@partition_option(required=True)
@click.option("--offset", type=click.IntRange(0), required=True, metavar="O", help="The event's offset in the input.")
@click.option("--class", "about", metavar="LABEL", help="Class whose score to explain.  [default: the predicted one]")
@click.option(
    "--challenger", metavar="MODEL", help="Challenger whose prediction to explain.  [default: the champion's]"
)
@rebuild_options
@click.option("--json", "as_json", is_flag=True, help="Print an object.")
def explain(
    partition: int, offset: int, about: str | None, challenger: str | None, as_json: bool, **given: Any
) -> None:
    """Show what each feature of an event contributed to the score of its prediction.

    The command rebuilds the exact state of the learner just before the event from a snapshot and the log. If the
    prediction is still in its topic, the command checks that the score is the same, bit for bit. The baseline is the
    means of the features at that moment, or zeros if the learner keeps no means. The contribution of a feature is the
    score of the baseline with the value of that feature substituted, minus the score of the baseline. For a linear
    learner, standardised or not, the contributions and the score of the baseline add up to the score; otherwise the
    remainder is the joint effect of several features. You can also explain the prediction of a challenger, even if
    workers do not write it; if they do (--emit all), it is checked as well.

    The exit code is 1 if the emitted score differs.

    \b
    Examples:
      driftway explain --input EVENTS --group sea --partition 0 --offset 120000
      driftway explain --input EVENTS --group sea --partition 0 --offset 120000 --challenger arow
      driftway explain --input TRADES --group t --partition 3 --offset 77 --class UP --json
      driftway explain --input T --group t --partition 0 --offset 7 --format avro --registry http://localhost:8081
    """
    from driftway.worker.admin.cli.snapshot.tables import bars, print_explanation
    from driftway.worker.admin.explain import DIFFERS, explain_prediction
    from driftway.worker.wire.codec import write_json

    (source,) = asked_partitions(given, partition)
    with bars() as shown:
        found = explain_prediction(source, offset, about, shown, challenger)
    if as_json:
        asked = {"input": given["input_"], "group": given["group"], "partition": partition, "offset": offset}
        click.echo(write_json({**asked, **found.as_dict()}).decode())
    else:
        print_explanation(found)
    if found.emitted.verdict == DIFFERS:
        emitted = found.emitted
        raise Failure(
            f"{source}@{offset}: the scores are {found.scores}{_with(found.confidence)}, but emitted were "
            f"{emitted.scores}{_with(emitted.confidence)}"
        )


def _with(confidence: dict[str, Any]) -> str:
    from driftway.worker.admin.cli.snapshot.tables import confidence_text

    return f", {confidence_text(confidence)}" if confidence else ""
