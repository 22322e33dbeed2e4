"""Values in Protobuf: message types are built at run time from what the registry has.

The schema comes as a FileDescriptorProto. Files that come with protobuf and with the client (timestamps, wrappers,
decimals and so on) are taken from there, all others from the schema's references.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable
from typing import Any

from driftway.worker.kafka.registry.messages import ObjectConverter
from driftway.worker.kafka.registry.schemas import FORMAT, HEADER_BYTES, MISFIT, SERIALIZED, Schemas, Unusable
from driftway.worker.wire.events import shown

TYPE = "PROTOBUF"
OF_THE_CLIENT = "google/protobuf/", "google/type/", "confluent/"
"""How names of files begin that no schema refers to: every reader has them."""
DEEPEST, LONGEST_NUMBER = 100, 5
"""Indexes of a message, one for each level, and bytes of an index: more is no schema's."""


def make_reader(schemas: Schemas, number: int) -> Callable[[bytes], Any]:
    """What reads values of the schema of an id; they say themselves which of its messages they are.

    Raises
    ------
    Unusable
        It is no Protobuf schema.
    Failure
        As `Schemas.by_id`, or the registry gives it as text only.
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
    except Exception:  # protobuf raises TypeErrors and KeyErrors of its own making
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
        except (DecodeError, ValueError):  # a ValueError is of text that is not UTF-8, where proto2 does not mind
            raise Unusable(MISFIT) from None

    return read


def indexes(value: bytes) -> tuple[tuple[int, ...], int]:
    """Which message of its file a value is: the place at each level, and where the message begins.

    Raises
    ------
    Unusable
        That is not how a value begins.
    """
    count, at = zigzag(value, HEADER_BYTES)
    if not 0 <= count <= DEEPEST:
        raise Unusable(FORMAT)
    path = []
    for _ in range(count):
        place, at = zigzag(value, at)
        path.append(place)
    return tuple(path) or (0,), at


def zigzag(value: bytes, at: int) -> tuple[int, int]:
    """The signed number of variable length that stands at a place, and where it ends.

    Raises
    ------
    Unusable
        There is none.
    """
    number = 0
    for k, byte in enumerate(value[at : at + LONGEST_NUMBER]):
        number |= (byte & 0x7F) << 7 * k
        if byte < 0x80:
            return (number >> 1) ^ -(number & 1), at + k + 1
    raise Unusable(FORMAT)


def file_of(text: str, name: str) -> Any:
    """The file that a serialized schema is, under a name; None if it is not serialized."""
    from google.protobuf.descriptor_pb2 import FileDescriptorProto
    from google.protobuf.message import DecodeError

    try:
        made = FileDescriptorProto.FromString(base64.b64decode(text, validate=True))
    except (DecodeError, binascii.Error, ValueError):
        return None
    made.name = name
    return made


def pool_of(files: list[Any]) -> Any:
    """A pool of its own with files, each behind what it imports, and with those of the client that they import."""
    # Importing the client's serializer brings its files into the default pool.
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
        pool.FindFileByName(file.name)  # here it complains of what is missing
    return pool


def message_type(pool: Any, file: Any, path: tuple[int, ...], number: int) -> tuple[Any, ObjectConverter]:
    """The class of the message at a path, and what makes plain objects of it.

    Raises
    ------
    Unusable
        The file has no such message.
    """
    from google.protobuf.message_factory import GetMessageClass

    names, among = [file.package] if file.package else [], file.message_type
    for place in path:
        if not 0 <= place < len(among):
            raise Unusable(f"schema {number} has no message {shown('.'.join(map(str, path)))}")
        names.append(among[place].name)
        among = among[place].nested_type
    descriptor = pool.FindMessageTypeByName(".".join(names))
    return GetMessageClass(descriptor), ObjectConverter(descriptor)
