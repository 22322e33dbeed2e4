"""Predictions in the wire format of schema registries: a zero byte, the schema's id, and the record. Leaf modules.

    0   u1      0
    1   u4      id of the schema in the registry, big-endian
    5   ..      ``--output-format avro``: the record in Avro's binary encoding, see `avro_schema`
                ``--output-format protobuf``: a zero byte, then the message, see `protobuf_schema`
                ``--output-format json-schema``: the JSON text that ``--output-format json`` writes

The sixth byte distinguishes them: JSON begins with `{`, an Avro record with the `kind` of its model, a short text. So a
reader can decode a record without the registry, as long as new fields of Avro are appended after the present ones.
"""
