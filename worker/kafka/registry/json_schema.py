"""JSON values whose schema is in the registry: parsed, then validated by `jsonschema`, as the client does.

References are resolved from the registry; nothing is fetched from the web. Validating a value takes a hundred times as
long as parsing it: ``validate=false``, the client's own name for it, leaves it out.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from driftway.worker.kafka.registry.schemas import MISFIT, Schemas, Unusable
from driftway.worker.wire.codec import read_json
from driftway.worker.wire.registered.framing import HEADER_BYTES

TYPE = "JSON"


def make_reader(schemas: Schemas, number: int) -> Callable[[bytes], Any]:
    """Return a function that reads values of the schema with an id.

    Raises
    ------
    Unusable
        It is not a valid JSON schema.
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
    except Exception:  # from jsonschema and its dependencies
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
        except Exception:  # such as an invalid pattern
            raise Unusable(f"schema {number} cannot be read") from None
        if not fit:
            raise Unusable(MISFIT)
        return found

    return read


def parse(value: bytes) -> Any:
    """Parse the JSON after the header.

    Raises
    ------
    Unusable
        It is not JSON.
    """
    try:
        return read_json(value[HEADER_BYTES:])
    except ValueError:
        raise Unusable("value is not JSON") from None


def make_check(text: str, others: dict[str, str]) -> Callable[[Any], bool]:
    """Return a function that tells whether a value fits a schema.

    Parameters
    ----------
    text : str
        The schema.
    others : dict
        Name -> text of each schema that it refers to.
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
    """Check a value with a result that does not depend on the depth of the caller's stack.

    Raises
    ------
    RecursionError
        The value is nested too deeply even for an empty stack.
    """
    try:
        return check(value)
    except RecursionError:
        with ThreadPoolExecutor(1) as another:
            return another.submit(check, value).result()
