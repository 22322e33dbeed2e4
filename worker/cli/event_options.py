"""Options that say how events of one's own are read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from driftway.worker.errors import UsageFailure
from driftway.worker.settings.option_values import LabelWait
from driftway.worker.wire.schema.feature import MissingPolicy
from driftway.worker.wire.schema.schema import ENVELOPES, EventSchema

F = TypeVar("F", bound=Callable[..., Any])


def registry_options(command: F) -> F:
    """--registry and --registry-property."""
    command = click.option(
        "--registry-property",
        "registry_properties",
        multiple=True,
        metavar="KEY=VALUE",
        help="Property of its client, as basic.auth.user.info or ssl.ca.location; validate=false does not hold "
        "JSON against its schema; repeatable.",
    )(command)
    return click.option(
        "--registry", metavar="URL", help="Schema registry of events in Avro, Protobuf or JSON Schema."
    )(command)


def schema_options(label: str = "Where its label stands.  [default: y]") -> Callable[[F], F]:
    """--feature, --label, --id, --time, --envelope, --missing, --missing-indicators; `label` is that option's help."""
    options = [
        click.option(
            "--feature",
            "feature",
            multiple=True,
            metavar="PATH[:OPTION,..]",
            help='A field of the event that is learned from, where events are not {"x": ..}: amount, payload.amount, '
            "country:one-of=de|fr|*, merchant:hash=32, user:index=50000, created_at:time=hour|weekday|age, each also "
            "with missing=mean|last|0, indicator, as=NAME. Beside the value: @key, @header.NAME, @timestamp. "
            "Repeatable.",
        ),
        click.option("--label", metavar="PATH", help=label),
        click.option("--id", "id_", metavar="PATH", help="Where its id stands, with --feature.  [default: id]"),
        click.option(
            "--time", "time_", metavar="PATH", help="Where the time of an event stands, with --feature.  [default: t]"
        ),
        click.option(
            "--envelope",
            type=click.Choice(ENVELOPES),
            help="What is around an event's row: debezium (the row is `after`), connect (it is `payload`).",
        ),
        registry_options,
        click.option(
            "--missing",
            metavar="POLICY",
            help="What stands for a feature that is null or not there: mean or last of the rows so far, or a number; "
            "reject sets the event aside.  [default: reject]",
        ),
        click.option(
            "--label-wait",
            metavar="ROWS|TIME[/ROWS]",
            help='How long an event waits for its label, which comes as {"id": .., "y": ..} in the same partition: '
            "10000 rows, 12h, 7d/50000.  [default: a label comes with its event, or not at all]",
        ),
        click.option(
            "--missing-indicators",
            is_flag=True,
            help="One more column for each feature: 1 where it was missing, else 0.",
        ),
    ]

    def add(command: F) -> F:
        for option in reversed(options):
            command = option(command)
        return command

    return add


class FeatureCount(click.types.StringParamType):
    """A number of features, or their names."""

    name = "N|NAME,.."

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """``8``, or ``a,b,c``."""
        if isinstance(value, tuple | int):
            return value
        words = [word.strip() for word in str(value).split(",")]
        if len(words) == 1 and words[0].lstrip("-").isdecimal():
            if int(words[0]) < 1:
                self.fail(f"{words[0]} is not at least 1", param, ctx)
            return int(words[0])
        if "" in words or len(set(words)) < len(words):
            self.fail(f"{value!r} is neither a number nor different names, separated by commas", param, ctx)
        return tuple(sorted(words))


def made_events(given: dict[str, Any], columns: bool = False) -> dict[str, Any]:
    """What the options of `schema_options` say, as `ModelSettings` takes it.

    `columns`: without --feature there are columns, and --label names one.

    Raises
    ------
    UsageFailure
        One of them cannot be read, or needs --feature.
    """
    missing, wait = given["missing"], given["label_wait"]
    waits = {} if wait is None else {"wait": LabelWait.parse(wait)}
    if given["feature"]:
        paths = {"label": given["label"], "id": given["id_"], "time": given["time_"]}
        return waits | {
            "events": EventSchema.parse(
                given["feature"],
                **paths,
                envelope=given["envelope"],
                missing=missing,
                indicators=given["missing_indicators"],
            )
        }
    for option in (*(() if columns else ("label",)), "id_", "time_", "envelope"):
        if given[option] is not None:
            name = option.rstrip("_")
            raise UsageFailure(
                f"--{name} says where it stands in events of your own: name what is learned from, --feature"
            )
    policy = MissingPolicy() if missing is None else MissingPolicy.parse(missing)
    return waits | {"missing": policy, "indicators": given["missing_indicators"]}


def named_features(given: dict[str, Any], asked: dict[str, Any]) -> dict[str, Any]:
    """What --features says, as `ModelSettings` takes it.

    Raises
    ------
    UsageFailure
        There is a --feature, too.
    """
    features = given["features"]
    if features is not None and asked.get("events") is not None:
        raise UsageFailure("--feature says what there is: leave --features out")
    if isinstance(features, tuple):
        return {"n_features": len(features), "feature_names": features}
    return {"n_features": features}
