"""Secured labs of Kafka: what brokers and clients are given, and what is refused."""

from __future__ import annotations

import ssl
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pytest
from cryptography import x509
from pydantic import ValidationError

from chaoskit.base.errors import BadInput
from clusters.common.certificates import Authority
from clusters.kafka.security import Credentials, Security, check_security, users
from clusters.kafka.settings import KafkaOptions, server_properties


def _properties(**security: Any) -> dict[str, str]:
    options = KafkaOptions(security=Security(**security) if security else None)
    written = server_properties(options, ["10.0.0.1"], 0, ["/data"])
    return dict(line.split("=", 1) for line in written.splitlines())


def test_clients_have_a_listener_of_their_own() -> None:
    written = _properties(tls=True, sasl="scram-sha-512")

    assert written["listeners"] == "PLAINTEXT://10.0.0.1:9092,CLIENTS://10.0.0.1:9094,CONTROLLER://10.0.0.1:9093"
    assert written["advertised.listeners"] == "PLAINTEXT://10.0.0.1:9092,CLIENTS://10.0.0.1:9094"
    assert written["listener.security.protocol.map"].endswith("CLIENTS:SASL_SSL")
    assert written["listener.name.clients.sasl.enabled.mechanisms"] == "SCRAM-SHA-512"
    assert written["listener.name.clients.ssl.keystore.type"] == "PEM"


def test_without_security_there_is_none() -> None:
    assert "CLIENTS" not in str(_properties())


def test_brokers_look_at_lists_only_if_they_are_told_to() -> None:
    assert _properties(sasl="plain", acls=True)["super.users"] == "User:ANONYMOUS"
    assert "authorizer.class.name" not in _properties(sasl="plain")
    with pytest.raises(ValidationError, match="acls are for users that log in; set sasl"):
        Security(tls=True, acls=True)


def test_a_certificate_that_has_expired_was_valid_before() -> None:
    certificate = x509.load_pem_x509_certificate(Authority().issue("n1", "10.0.0.1", expired=True)[0].encode())
    now = datetime.now(UTC)

    assert certificate.not_valid_before_utc < certificate.not_valid_after_utc < now


def test_a_host_has_a_certificate_of_the_authority_for_its_address() -> None:
    authority = Authority()
    certificate = x509.load_pem_x509_certificate(authority.issue("n1", "10.0.0.1")[0].encode())

    certificate.verify_directly_issued_by(x509.load_pem_x509_certificate(authority.pem.encode()))
    names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert str(names.get_values_for_type(x509.IPAddress)[0]) == "10.0.0.1"
    ssl.create_default_context(cadata=authority.pem)


@pytest.mark.parametrize(
    ("security", "protocol", "more"),
    [
        (Security(tls=True), "SSL", {"ssl.ca.pem"}),
        (Security(tls=True, client_certificates=True), "SSL", {"ssl.ca.pem", "ssl.certificate.pem", "ssl.key.pem"}),
        (Security(sasl="plain"), "SASL_PLAINTEXT", {"sasl.mechanism", "sasl.username", "sasl.password"}),
    ],
)
def test_clients_know_how_to_connect(security: Security, protocol: str, more: set[str]) -> None:
    hosts: Any = [SimpleNamespace(name="n1", address="10.0.0.1")]
    given = Credentials(security, hosts).client_settings()

    assert (given.pop("bootstrap.servers"), given.pop("security.protocol")) == ("10.0.0.1:9094", protocol)
    assert set(given) == more


def test_what_cannot_work_is_refused() -> None:
    with pytest.raises(ValidationError, match="set tls: true, or sasl"):
        Security()
    with pytest.raises(ValidationError, match="client_certificates require tls"):
        Security(sasl="plain", client_certificates=True)
    with pytest.raises(BadInput, match="since Kafka 3"):
        check_security(Security(sasl="scram-sha-256"), (3, 4, 1))
    check_security(Security(sasl="plain"), (3, 0, 0))


def test_only_users_of_scram_are_made_at_formatting() -> None:
    assert users(Security(sasl="scram-sha-256"))[0] == "--add-scram"
    assert users(Security(sasl="plain")) == users(None) == []
