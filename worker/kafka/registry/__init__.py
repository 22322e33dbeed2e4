"""Events in Avro, Protobuf and JSON Schema whose schemas a schema registry keeps: Confluent's wire format.

`form` says how events are written, these or others. `parser` is the door: bytes in, plain objects out, as JSON would
have them. `schemas` asks the registry, through confluent-kafka's own client; `avro`, `protobuf` and `json_schema` read
values. The client's deserializers are not used, though what they rest on is: they read schemas and resolve references
anew, fetch what a schema refers to from the web, and an event nested some thousand times ends their process. Needs the
extra ``registry``.
"""
