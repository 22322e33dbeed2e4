"""Whether the environment asks for spans: by OpenTelemetry's own variables, as every SDK reads them."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec
from typing import NamedTuple

from driftway.worker.kafka.client_config import without_userinfo

TRACES_ENDPOINT, ENDPOINT = "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT"
PROTOCOLS = "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL"
DISABLED, EXPORTER = "OTEL_SDK_DISABLED", "OTEL_TRACES_EXPORTER"
HTTP = "http/protobuf"
"""The protocol that is supported."""
PACKAGES = "opentelemetry.sdk.trace", "opentelemetry.exporter.otlp.proto.http.trace_exporter"
INSTALL = "spans need additional packages: pip install 'driftway[otel]'"


class TraceTarget(NamedTuple):
    """What the environment asks for.

    Parameters
    ----------
    endpoint : str or None
        Where spans are sent; None: nobody has asked for them.
    obstacle : str or None
        Why they cannot be sent there; None: they can.
    """

    endpoint: str | None
    obstacle: str | None = None


def trace_target(environ: Mapping[str, str]) -> TraceTarget:
    """Read OpenTelemetry's variables; imports nothing unless an endpoint is given."""
    endpoint = environ.get(TRACES_ENDPOINT) or environ.get(ENDPOINT)
    off = environ.get(DISABLED, "").strip().lower() == "true" or environ.get(EXPORTER, "").strip().lower() == "none"
    if not endpoint or off:
        return TraceTarget(None)
    shown = without_userinfo(endpoint)
    protocol = next((environ[name] for name in PROTOCOLS if environ.get(name)), HTTP)
    if protocol != HTTP:
        return TraceTarget(shown, f"only the protocol {HTTP} is supported, not {protocol}")
    exporter = environ.get(EXPORTER) or "otlp"
    if exporter != "otlp":
        return TraceTarget(shown, f"{EXPORTER} is otlp or none here, not {exporter}")
    return TraceTarget(shown, None if _installed() else INSTALL)


def _installed() -> bool:
    try:
        return all(find_spec(name) is not None for name in PACKAGES)
    except ImportError:  # a package above one of them is missing
        return False
