"""Events in Avro, Protobuf and JSON Schema with schemas in a schema registry: Confluent's wire format.

`event_format` names the format of events, one of these or another. `parser` is the entry point: it turns bytes into
plain objects, as JSON would have them. `schemas` queries the registry through confluent-kafka's own client; `avro`,
`protobuf` and `json_schema` decode values. The client's deserializers are not used, only the libraries under them: they
parse schemas and resolve references repeatedly, fetch referenced schemas from the web, and crash the process on an
event nested some thousand times. `outputs` registers the schema of predictions. Needs the extra ``registry``.
"""
