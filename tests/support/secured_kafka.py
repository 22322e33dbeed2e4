"""A Kafka with authentication: SCRAM or mutual TLS on a second listener, and ACLs for all users but the test."""

from __future__ import annotations

import contextlib
import datetime
import ipaddress
import socket
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from confluent_kafka import KafkaException

from driftway.workbench.broker import LocalKafka
from tests.support.kafka import admin, await_until

HOST = "127.0.0.1"
AUTHORIZED = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ANONYMOUS",  # the plain listener, for the broker itself and the test
    "allow.everyone.if.no.acl.found": "false",
    "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,SASL_PLAINTEXT:SASL_PLAINTEXT,SSL:SSL",
}
SCRAM_LOGIN = "org.apache.kafka.common.security.scram.ScramLoginModule required;"

Grant = tuple[str, str, str]
"""(resource type, name, operation); a trailing * in the name makes it a prefix."""


@dataclass(frozen=True)
class Secured:
    """Addresses of a running broker.

    Parameters
    ----------
    plain : str
        Address of the listener without authentication, where everything is allowed.
    guarded : str
        Address of the listener with authentication.
    """

    plain: str
    guarded: str


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        return int(probe.getsockname()[1])


@contextlib.contextmanager
def scram_kafka() -> Iterator[Secured]:
    """A broker with SCRAM-SHA-256 users."""
    guarded = f"{HOST}:{free_port()}"
    properties = {
        **AUTHORIZED,
        "listeners": f"SASL_PLAINTEXT://{guarded}",
        "sasl.enabled.mechanisms": "SCRAM-SHA-256",
        "listener.name.sasl_plaintext.scram-sha-256.sasl.jaas.config": SCRAM_LOGIN,
    }
    with LocalKafka(properties=properties) as kafka:
        yield Secured(kafka.bootstrap, guarded)


@contextlib.contextmanager
def tls_kafka(folder: Path) -> Iterator[Secured]:
    """A broker with mutual TLS (PEM); a client's principal is the common name of its certificate."""
    guarded = f"{HOST}:{free_port()}"
    properties = {
        **AUTHORIZED,
        "listeners": f"SSL://{guarded}",
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": str(folder / "broker.pem"),
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(folder / "ca.pem"),
        "ssl.client.auth": "required",
        "ssl.principal.mapping.rules": "RULE:^CN=([^,]+).*$/$1/",
    }
    with LocalKafka(properties=properties) as kafka:
        yield Secured(kafka.bootstrap, guarded)


def add_user(bootstrap: str, name: str, password: str) -> None:
    """Create a SCRAM user and wait until the broker knows it."""
    from confluent_kafka.admin import ScramCredentialInfo, ScramMechanism, UserScramCredentialUpsertion

    client = admin(bootstrap)
    info = ScramCredentialInfo(ScramMechanism.SCRAM_SHA_256, 4096)
    change = UserScramCredentialUpsertion(name, info, password.encode())
    client.alter_user_scram_credentials([change])[name].result(timeout=20)

    def known() -> bool:
        try:
            return bool(client.describe_user_scram_credentials([name])[name].result(timeout=5))
        except KafkaException:  # RESOURCE_NOT_FOUND until the broker has applied the metadata record
            return False

    await_until(known, 20, f"user {name}")


def grant(bootstrap: str, user: str, grants: Iterable[Grant]) -> None:
    """Grant ACLs to `user` and wait until the broker lists them."""
    from confluent_kafka.admin import AclBinding

    bindings = [_acl(AclBinding, user, one) for one in grants]
    client = admin(bootstrap)
    for future in client.create_acls(bindings).values():
        future.result(timeout=20)
    await_until(lambda: len(_of(client, user)) >= len(bindings), 20, f"{len(bindings)} ACLs of {user}")


def withdraw(bootstrap: str, user: str, one: Grant) -> None:
    """Delete an ACL of `user`."""
    from confluent_kafka.admin import AclBindingFilter

    client = admin(bootstrap)  # keep a reference: a collected client never answers
    (deleted,) = client.delete_acls([_acl(AclBindingFilter, user, one)]).values()
    assert len(deleted.result(timeout=20)) == 1


def _of(client: Any, user: str) -> Any:
    from confluent_kafka.admin import (
        AclBindingFilter,
        AclOperation,
        AclPermissionType,
        ResourcePatternType,
        ResourceType,
    )  # fmt: skip

    everything = AclBindingFilter(
        ResourceType.ANY, None, ResourcePatternType.ANY, f"User:{user}", None, AclOperation.ANY, AclPermissionType.ANY
    )
    return client.describe_acls(everything).result(timeout=10)


def _acl(kind: Callable[..., Any], user: str, one: Grant) -> Any:
    """An AclBinding of a grant, or a filter that it matches."""
    from confluent_kafka.admin import AclOperation, AclPermissionType, ResourcePatternType, ResourceType

    resource, name, operation = one
    pattern = ResourcePatternType.PREFIXED if name.endswith("*") else ResourcePatternType.LITERAL
    return kind(
        ResourceType[resource],
        name.removesuffix("*"),
        pattern,
        f"User:{user}",
        "*",
        AclOperation[operation],
        AclPermissionType.ALLOW,
    )


def make_certificates(folder: Path, *names: str, password: str | None = None) -> None:
    """Write ca.pem, and for each name NAME.pem (key and certificate), NAME.key and NAME.crt.

    All are valid for this host for some hours; the .key files are encrypted if a password is given.
    """
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509.oid import NameOID

    now = datetime.datetime.now(datetime.UTC)
    root = ec.generate_private_key(ec.SECP256R1())
    issuer = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "driftway test CA")])

    def usage(authority: bool) -> x509.KeyUsage:
        others = "content_commitment", "data_encipherment", "encipher_only", "decipher_only"
        return x509.KeyUsage(
            digital_signature=True, key_encipherment=not authority, key_agreement=not authority,
            key_cert_sign=authority, crl_sign=authority, **dict.fromkeys(others, False),
        )  # fmt: skip

    def certify(key: Any, subject: x509.Name, authority: bool) -> bytes:
        alternative = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address(HOST))])
        builder = (
            x509.CertificateBuilder(issuer, subject, key.public_key(), x509.random_serial_number())
            .not_valid_before(now - datetime.timedelta(hours=1))
            .not_valid_after(now + datetime.timedelta(hours=6))
            .add_extension(x509.BasicConstraints(ca=authority, path_length=None), critical=True)
            .add_extension(alternative, critical=False)
            # Python 3.13 and later reject certificates without these.
            .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(root.public_key()), critical=False)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
            .add_extension(usage(authority), critical=True)
        )
        return builder.sign(root, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)

    def written(key: Any, how: Any) -> bytes:
        form = serialization.PrivateFormat.PKCS8
        return bytes(key.private_bytes(serialization.Encoding.PEM, form, how))

    (folder / "ca.pem").write_bytes(certify(root, issuer, authority=True))
    plain = serialization.NoEncryption()
    locked = plain if password is None else serialization.BestAvailableEncryption(password.encode())
    for name in names:
        key = ec.generate_private_key(ec.SECP256R1())
        certificate = certify(key, x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)]), authority=False)
        (folder / f"{name}.pem").write_bytes(written(key, plain) + certificate)
        (folder / f"{name}.key").write_bytes(written(key, locked))
        (folder / f"{name}.crt").write_bytes(certificate)
