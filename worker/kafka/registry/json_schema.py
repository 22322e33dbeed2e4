"""Values in JSON whose schema is in the registry: read, then held against it by `jsonschema`, as the client does.

What a schema refers to comes from the registry; nothing is fetched from the web. Holding a value against its schema
takes a hundred times as long as reading it: ``validate=false``, as the client calls it, leaves it out.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from driftway.worker.kafka.registry.schemas import HEADER_BYTES, MISFIT, Schemas, Unusable
from driftway.worker.wire.codec import read_json

TYPE = "JSON"


def make_reader(schemas: Schemas, number: int) -> Callable[[bytes], Any]:
    """What reads values of the schema of an id.

    Raises
    ------
    Unusable
        It is no JSON schema.
    Failure
        As `Schemas.by_id`.
    """
    from referencing.exceptions import Unresolvable

    written = schemas.by_id(number)
    if written.schema_type != TYPE:
        raise Unusable(f"schema {number} is of type {written.schema_type or 'AVRO'}")
    if not schemas.validate:
        return parse
    others = schemas.referred(written)
    try:
        fits = make_check(written.schema_str, {name: other.schema_str for name, other in others.items()})
    except Exception:  # of jsonschema and of what it rests on
        raise Unusable(f"schema {number} cannot be read") from None

    def read(value: bytes) -> Any:
        found = parse(value)
        try:
            fit = steadily(fits, found)
        except MemoryError:
            raise
        except RecursionError:
            raise Unusable("value is nested too deeply") from None
        except Unresolvable:
            raise Unusable(f"schema {number} refers to what is not in the registry") from None
        except Exception:  # such as of a pattern that is none
            raise Unusable(f"schema {number} cannot be read") from None
        if not fit:
            raise Unusable(MISFIT)
        return found

    return read


def parse(value: bytes) -> Any:
    """The JSON behind the header.

    Raises
    ------
    Unusable
        It is none.
    """
    try:
        return read_json(value[HEADER_BYTES:])
    except ValueError:
        raise Unusable("value is not JSON") from None


def make_check(text: str, others: dict[str, str]) -> Callable[[Any], bool]:
    """What tells whether a value fits a schema.

    Parameters
    ----------
    text : str
        Of the schema.
    others : dict
        Name -> text of what it refers to.
    """
    from jsonschema.validators import validator_for
    from referencing import Registry, Resource
    from referencing.jsonschema import DRAFT7

    schema = read_json(text.encode())
    known: Any = Registry()
    for name, other in others.items():
        resource = Resource.from_contents(read_json(other.encode()), default_specification=DRAFT7)
        known = known.with_resource(name, resource)
    kind = validator_for(schema)
    kind.check_schema(schema)
    check: Callable[[Any], bool] = kind(schema, registry=known).is_valid
    return check


def steadily(check: Callable[[Any], bool], value: Any) -> bool:
    """`check` of a value, with the same answer however deep the caller's own stack is.

    Raises
    ------
    RecursionError
        The value is nested too deeply for a stack that begins here.
    """
    try:
        return check(value)
    except RecursionError:
        with ThreadPoolExecutor(1) as another:
            return another.submit(check, value).result()
