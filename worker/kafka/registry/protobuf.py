"""Protobuf values: message types are built at run time from the registry's schemas.

A schema is a FileDescriptorProto. Files that ship with protobuf and with the client (timestamps, wrappers, decimals and
so on) are taken from there, all others from the schema's references.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable
from typing import Any

from driftway.worker.kafka.registry.messages import ObjectConverter
from driftway.worker.kafka.registry.schemas import FORMAT, MISFIT, SERIALIZED, Schemas, Unusable
from driftway.worker.wire.events import shown
from driftway.worker.wire.registered.framing import HEADER_BYTES
from driftway.worker.wire.registered.varints import read_varint, unzigzag

TYPE = "PROTOBUF"
OF_THE_CLIENT = "google/protobuf/", "google/type/", "confluent/"
"""Prefixes of files that schemas import without a reference: every reader has them."""
DEEPEST, LONGEST_NUMBER = 100, 5
"""Limits that no schema exceeds: indexes of a message, one for each level, and bytes of an index."""


def make_reader(schemas: Schemas, number: int) -> Callable[[bytes], Any]:
    """Return a function that decodes values of the schema with an id; each value names its message type.

    Raises
    ------
    Unusable
        It is not a valid Protobuf schema.
    Failure
        As `Schemas.by_id`, or the registry returns it as text only.
    """
    from google.protobuf.message import DecodeError

    written = schemas.by_id(number, SERIALIZED)
    if written.schema_type != TYPE:
        raise Unusable(f"schema {number} is of type {written.schema_type or 'AVRO'}")
    others = schemas.referred(written, SERIALIZED)
    files = [file_of(other.schema_str, name) for name, other in others.items()]
    root = file_of(written.schema_str, f"{number}")
    if root is None or None in files:
        raise schemas.text_only(number)
    try:
        pool = pool_of([*files, root])
    except Exception:  # protobuf raises TypeError, KeyError and others
        raise Unusable(f"schema {number} cannot be read") from None
    types: dict[tuple[int, ...], tuple[Any, ObjectConverter]] = {}

    def read(value: bytes) -> Any:
        path, start = indexes(value)
        if path not in types:
            types[path] = message_type(pool, root, path, number)
        make, plain = types[path]
        message = make()
        try:
            message.ParseFromString(value[start:])
            if not message.IsInitialized():
                raise Unusable("value lacks a required field")
            return plain(message)
        except (DecodeError, ValueError):  # ValueError: text that is not UTF-8, which proto2 lets parse
            raise Unusable(MISFIT) from None

    return read


def indexes(value: bytes) -> tuple[tuple[int, ...], int]:
    """Return which message of its file a value is, as an index at each level, and where the message begins.

    Raises
    ------
    Unusable
        The value does not begin with valid indexes.
    """
    count, at = zigzag(value, HEADER_BYTES)
    if not 0 <= count <= DEEPEST:
        raise Unusable(FORMAT)
    path = []
    for _ in range(count):
        index, at = zigzag(value, at)
        path.append(index)
    return tuple(path) or (0,), at


def zigzag(value: bytes, at: int) -> tuple[int, int]:
    """Return the zigzag varint at a position, and the position after it.

    Raises
    ------
    Unusable
        There is none.
    """
    try:
        number, after = read_varint(value, at, LONGEST_NUMBER)
    except ValueError:
        raise Unusable(FORMAT) from None
    return unzigzag(number), after


def file_of(text: str, name: str) -> Any:
    """Return the file descriptor of a serialized schema, under a name; None if it is not serialized."""
    from google.protobuf.descriptor_pb2 import FileDescriptorProto
    from google.protobuf.message import DecodeError

    try:
        made = FileDescriptorProto.FromString(base64.b64decode(text, validate=True))
    except (DecodeError, binascii.Error, ValueError):
        return None
    made.name = name
    return made


def pool_of(files: list[Any]) -> Any:
    """Build a descriptor pool of files, each after its imports, and of the client's files that they import."""
    # Importing the client's serializer adds its files to the default pool.
    import confluent_kafka.schema_registry.protobuf  # noqa: F401
    from google.protobuf.descriptor_pool import Default, DescriptorPool

    pool, known = DescriptorPool(), set[str]()

    def add_known(name: str) -> None:
        if name.startswith(OF_THE_CLIENT) and name not in known:
            known.add(name)
            found = Default().FindFileByName(name)
            for other in found.dependencies:
                add_known(other.name)
            pool.AddSerializedFile(found.serialized_pb)

    for file in files:
        for name in file.dependency:
            add_known(name)
        if file.name not in known:
            pool.AddSerializedFile(file.SerializeToString())
    for file in files:
        pool.FindFileByName(file.name)  # raises if an import is missing
    return pool


def message_type(pool: Any, file: Any, path: tuple[int, ...], number: int) -> tuple[Any, ObjectConverter]:
    """Return the class of the message at a path, and its converter to plain objects.

    Raises
    ------
    Unusable
        The file has no such message.
    """
    from google.protobuf.message_factory import GetMessageClass

    names, among = [file.package] if file.package else [], file.message_type
    for index in path:
        if not 0 <= index < len(among):
            raise Unusable(f"schema {number} has no message {shown('.'.join(map(str, path)))}")
        names.append(among[index].name)
        among = among[index].nested_type
    descriptor = pool.FindMessageTypeByName(".".join(names))
    return GetMessageClass(descriptor), ObjectConverter(descriptor)
