"""Values as only Kafka Connect and Debezium write them in JSON: decimals, and large values that were not sent."""

from __future__ import annotations

from base64 import b64decode
from decimal import Decimal
from typing import Any

from driftway.worker.wire.json_tokens.exact import number_of

CONNECT_DECIMAL = "org.apache.kafka.connect.data.Decimal"
"""Name in the Connect schema of a field whose scale is among the schema's parameters."""
UNAVAILABLE = "__debezium_unavailable_value", "X19kZWJleml1bV91bmF2YWlsYWJsZV92YWx1ZQ=="
"""What Debezium writes for a large value that has not changed and was not sent (TOAST): in texts, and in bytes."""
STRUCT = {"scale", "value"}
"""Fields of Debezium's io.debezium.data.VariableScaleDecimal."""
LARGEST_SCALE = 1 << 15
"""More than databases have."""


def decimal_in(value: Any, schema: Any) -> Any:
    """Return the number that a value is if it is a decimal, otherwise the value.

    Parameters
    ----------
    value
        Value in an event.
    schema
        Connect schema of its field; None if the event has none.
    """
    scale, text = scale_in(schema), value
    if isinstance(value, str):
        if scale is None:
            return value
    elif isinstance(value, dict) and value.keys() == STRUCT:
        scale, text = value["scale"], value["value"]
    else:
        return value
    try:
        units, places = int.from_bytes(b64decode(text, validate=True), "big", signed=True), int(scale)
        return number_of(Decimal(f"{units}E{-places}")) if text and abs(places) <= LARGEST_SCALE else value
    except (TypeError, ValueError):  # no base64, no scale, or more digits than Python converts
        return value


def scale_in(schema: Any) -> Any:
    """Return the scale in the Connect schema of a decimal; None for other fields."""
    parameters = schema.get("parameters") if isinstance(schema, dict) else None
    return parameters.get("scale") if isinstance(parameters, dict) and schema.get("name") == CONNECT_DECIMAL else None


def schema_at(schema: Any, steps: tuple[str, ...]) -> Any:
    """Return the Connect schema of the field at the end of the steps; None if there is none."""
    for step in steps:
        fields = schema.get("fields") if isinstance(schema, dict) else None
        known = fields if isinstance(fields, list) else ()
        schema = next((one for one in known if isinstance(one, dict) and one.get("field") == step), None)
    return schema
