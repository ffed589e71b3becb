"""Secured labs: a listener for clients with TLS and SASL, beside the plain one that brokers use among themselves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, model_validator

from chaoskit.base.errors import BadInput
from chaoskit.contract.hosts.host import ServiceHost
from clusters.common.certificates import Authority

CLIENTS_PORT = 9094
_NAME = "CLIENTS"
_PREFIX = f"listener.name.{_NAME.lower()}."
_FOLDER = "/etc/kafka"
_KEYS, _AUTHORITY = f"{_FOLDER}/broker.pem", f"{_FOLDER}/authority.pem"
EXPIRED = f"{_FOLDER}/expired.pem"
KEYSTORE = f"{_PREFIX}ssl.keystore.location"
"""The setting of brokers for the file of their certificate."""

_USER = "chaoskit"
PRINCIPAL = f"User:{_USER}"
"""Who clients are that log in."""

_BROKERS = "User:ANONYMOUS"
"""Who brokers and operators are, on the listener without a login."""

_PASSWORD = "known-to-all"  # noqa: S105  # of a lab that nobody else reaches
_SCRAM_SINCE = (3, 5)
_ACLS_SINCE = (3, 2)
_MODULES = {
    "plain": f'org.apache.kafka.common.security.plain.PlainLoginModule required user_{_USER}="{_PASSWORD}";',
    "scram": "org.apache.kafka.common.security.scram.ScramLoginModule required;",
}


class Security(BaseModel):
    """How clients of a lab connect.

    Attributes:
        tls: whether connections are encrypted, with certificates of the lab's own authority.
        client_certificates: whether clients must have one, too.
        sasl: mechanism by which clients log in.
        acls: whether brokers look at access control lists. Until one is made, everybody may do everything.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    tls: bool = False
    client_certificates: bool = False
    sasl: Literal["plain", "scram-sha-256", "scram-sha-512"] | None = None
    acls: bool = False

    @model_validator(mode="after")
    def _something(self) -> Self:
        if self.client_certificates and not self.tls:
            raise ValueError("client_certificates require tls: true")
        if not self.tls and self.sasl is None:
            raise ValueError("set tls: true, or sasl, or remove security")
        if self.acls and self.sasl is None:
            raise ValueError("acls are for users that log in; set sasl")
        return self

    @property
    def protocol(self) -> str:
        """The name of the protocol, as Kafka has it."""
        return f"SASL_{'SSL' if self.tls else 'PLAINTEXT'}" if self.sasl else "SSL"


def check_security(security: Security | None, version: tuple[int, ...]) -> None:
    """Reject what a release cannot do.

    Raises:
        BadInput: names the remedy.
    """
    if security is not None and str(security.sasl).startswith("scram") and version < _SCRAM_SINCE:
        raise BadInput("cluster.security.sasl: users of SCRAM are made at formatting since Kafka 3.5; use plain")
    if security is not None and security.acls and version < _ACLS_SINCE:
        raise BadInput("cluster.security.acls: KRaft keeps access control lists since Kafka 3.2; remove it")


def listener(security: Security | None, address: str) -> dict[str, str]:
    """Return the name of the listener for clients with its address; empty if there is none."""
    return {} if security is None else {_NAME: f"{address}:{CLIENTS_PORT}"}


def listener_properties(security: Security | None) -> dict[str, Any]:
    """Return the settings of the listener for clients."""
    if security is None:
        return {}
    given: dict[str, Any] = {}
    if security.tls:
        given |= {
            "ssl.keystore.type": "PEM",
            "ssl.keystore.location": _KEYS,
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": _AUTHORITY,
            "ssl.client.auth": "required" if security.client_certificates else "none",
        }
    if security.sasl:
        mechanism = security.sasl
        given["sasl.enabled.mechanisms"] = mechanism.upper()
        given[f"{mechanism}.sasl.jaas.config"] = _MODULES[mechanism.partition("-")[0]]
    return {f"{_PREFIX}{name}": value for name, value in given.items()}


def authorizer(security: Security | None) -> dict[str, Any]:
    """Return the settings of brokers and controllers by which they look at access control lists."""
    if security is None or not security.acls:
        return {}
    return {
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": _BROKERS,
        "allow.everyone.if.no.acl.found": True,
    }


def protocols(security: Security | None) -> str:
    """Return the entries of `listener.security.protocol.map` for the listener of clients, with a comma before."""
    return "" if security is None else f",{_NAME}:{security.protocol}"


def users(security: Security | None) -> list[str]:
    """Return the arguments of formatting that make the user of SCRAM."""
    if security is None or not str(security.sasl).startswith("scram"):
        return []
    return ["--add-scram", f"{str(security.sasl).upper()}=[name={_USER},password={_PASSWORD}]"]


class Credentials:
    """What brokers and clients of one lab need to connect.

    Args:
        security: how clients connect.
        brokers: the hosts of the brokers.

    Attributes:
        security: how clients connect.
    """

    def __init__(self, security: Security, brokers: Sequence[ServiceHost]) -> None:
        self.security = security
        self._brokers = brokers
        self._authority = Authority()

    def install(self) -> None:
        """Write the keys of the brokers to their hosts."""
        if not self.security.tls:
            return
        for host in self._brokers:
            certificate, key = self._authority.issue(host.name, host.address)
            host.put((key + certificate).encode(), _KEYS)
            host.put(self._authority.pem.encode(), _AUTHORITY)

    def install_expired(self, host: ServiceHost) -> None:
        """Write the key of a broker with a certificate that has expired to its host."""
        certificate, key = self._authority.issue(host.name, host.address, expired=True)
        host.put((key + certificate).encode(), EXPIRED)

    @property
    def authority(self) -> str:
        """The certificate of the authority, in PEM."""
        return self._authority.pem

    def client_settings(self) -> dict[str, Any]:
        """Return librdkafka's settings for clients, `bootstrap.servers` included."""
        security = self.security
        given: dict[str, Any] = {
            "bootstrap.servers": ",".join(f"{host.address}:{CLIENTS_PORT}" for host in self._brokers),
            "security.protocol": security.protocol,
        }
        if security.tls:
            given["ssl.ca.pem"] = self._authority.pem
        if security.client_certificates:
            given["ssl.certificate.pem"], given["ssl.key.pem"] = self._authority.issue("client")
        if security.sasl:
            given |= {
                "sasl.mechanism": security.sasl.upper(),
                "sasl.username": _USER,
                "sasl.password": _PASSWORD,
            }
        return given
