"""Spans of batches and commits, sent with OpenTelemetry, if the environment asks for them. Needs the extra `otel`.

`environment` says whether it does, `tracing` is what the loop calls, `spans` makes the spans, `export` sends them.
"""
