"""Options that say how a user's events are read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from driftway.worker.cli.options import Command, was_typed, with_options
from driftway.worker.errors import UsageFailure
from driftway.worker.kafka.client_config import parse_properties
from driftway.worker.settings.option_values import LabelWait
from driftway.worker.wire.schema.feature import MissingPolicy
from driftway.worker.wire.schema.schema import ENVELOPES, EventSchema


def registry_options(command: Command) -> Command:
    """Add --registry and --registry-property; `given_registry` reads the latter."""
    command = click.option(
        "--registry-property",
        "registry_properties",
        multiple=True,
        metavar="KEY=VALUE",
        help="Property of the schema registry client, such as basic.auth.user.info or ssl.ca.location. validate=false: "
        "do not validate JSON against its schema. Repeatable.",
    )(command)
    return click.option(
        "--registry",
        metavar="URL",
        help="URL of the schema registry, for events or predictions in Avro, Protobuf or JSON Schema.",
    )(command)


def given_registry(given: dict[str, Any]) -> tuple[tuple[str, str], ...]:
    """Return the properties of the registry's client.

    Raises
    ------
    UsageFailure
        One is not valid, or was given by flag without a registry.
    """
    if given["registry"] is None and given["registry_properties"] and was_typed("registry_properties"):
        raise UsageFailure("--registry-property needs a schema registry: give --registry URL")
    return tuple(parse_properties(given["registry_properties"]).items())


def schema_options(
    label: str = "With --feature: path of the label in an event.  [default: y]",
) -> Callable[[Command], Command]:
    """--feature, --label, --id, --time, --envelope, --missing, --missing-indicators; `label` is that option's help."""
    options = [
        click.option(
            "--feature",
            "feature",
            multiple=True,
            metavar="PATH[:OPTION,..]",
            help='Field of an event to use as a feature, if events are not of the form {"x": ..}: amount, '
            "payload.amount, country:one-of=de|fr|*, merchant:hash=32 (for a list, counts of its words), "
            "words.*:hash=32 (names of the fields of an object), user:index=50000, created_at:time=hour|weekday|age, "
            "with unit=s|ms|us|ns|days if the time is a number. Each may also have missing=mean|last|0, "
            "missing-words=NA|-, indicator and as=NAME. Outside the value: @key, @header.NAME, @timestamp. "
            "Repeatable.",
        ),
        click.option("--label", metavar="PATH", help=label),
        click.option("--id", "id_", metavar="PATH", help="With --feature: path of the id in an event.  [default: id]"),
        click.option(
            "--time",
            "time_",
            metavar="PATH[:unit=UNIT]",
            help="With --feature: path of the time in an event. If the time is a number, its unit is s, ms, us, ns or "
            "days.  [default: t, in ms]",
        ),
        click.option(
            "--envelope",
            type=click.Choice(ENVELOPES),
            help="Envelope around the row of an event: debezium (the row is in `after`) or connect (the row is in "
            "`payload`).",
        ),
        click.option(
            "--missing",
            metavar="POLICY",
            help="What replaces a feature that is null or absent: the mean or the last value of the rows so far, or a "
            "number. reject: reject the event.  [default: reject]",
        ),
        click.option(
            "--missing-indicators",
            is_flag=True,
            help="Add an indicator column for each feature: 1 where the feature is missing, else 0.",
        ),
    ]

    def add(command: Command) -> Command:
        return with_options(command, options)

    return add


class FeatureCount(click.types.StringParamType):
    """A number of features, or their names."""

    name = "N|NAME,.."

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Convert ``8`` to an int, or ``a,b,c`` to a sorted tuple of names."""
        if isinstance(value, tuple | int):
            return value
        words = [word.strip() for word in str(value).split(",")]
        if len(words) == 1 and words[0].lstrip("-").isdecimal():
            try:
                number = int(words[0])
            except ValueError:  # such as 1-1, or thousands of digits
                self.fail(f"{words[0][:60]!r} is not a number of features", param, ctx)
            if number < 1:
                self.fail(f"{words[0]} is not at least 1", param, ctx)
            return number
        if "" in words or len(set(words)) < len(words):
            self.fail(f"{value!r} is neither a number nor a comma-separated list of distinct names", param, ctx)
        return tuple(sorted(words))


def made_wait(given: dict[str, Any]) -> dict[str, Any]:
    """Return what --label-wait says, as keywords of `ModelSettings`; raise a UsageFailure if it is not valid."""
    wait = given["label_wait"]
    return {} if wait is None else {"wait": LabelWait.parse(wait)}


def made_events(given: dict[str, Any], columns: bool = False) -> dict[str, Any]:
    """Return what the options of `schema_options` say, as keywords of `ModelSettings`.

    `columns`: whether --label may be given without --feature, and then names a column.

    Raises
    ------
    UsageFailure
        An option is not valid, or needs --feature.
    """
    missing = given["missing"]
    if given["feature"]:
        paths = {"label": given["label"], "id": given["id_"], "time": given["time_"]}
        return {
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
            raise UsageFailure(f"--{name} is a path in events of your own format: name their features with --feature")
    policy = MissingPolicy() if missing is None else MissingPolicy.parse(missing)
    return {"missing": policy, "indicators": given["missing_indicators"]}


def named_features(given: dict[str, Any], asked: dict[str, Any]) -> dict[str, Any]:
    """Return what --features says, as keywords of `ModelSettings`.

    Raises
    ------
    UsageFailure
        --feature was given, too.
    """
    features = given["features"]
    if features is not None and asked.get("events") is not None:
        raise UsageFailure("--features does not go with --feature, which already names the features")
    if isinstance(features, tuple):
        return {"n_features": len(features), "feature_names": features}
    return {"n_features": features}
