"""Certificates for the connections of one lab."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from ipaddress import ip_address

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

_VALID = timedelta(days=30)
_SLACK = timedelta(days=2)
"""A host's clock may be behind."""


class Authority:
    """A certificate authority. Its key exists in memory only.

    Attributes:
        pem: its certificate.
    """

    def __init__(self) -> None:
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = _name("chaoskit lab")
        basics = x509.BasicConstraints(ca=True, path_length=0)
        made = _builder("chaoskit lab", self._name, self._key).add_extension(basics, critical=True)
        self.pem = made.sign(self._key, SHA256()).public_bytes(Encoding.PEM).decode()

    def issue(self, name: str, address: str = "", *, expired: bool = False) -> tuple[str, str]:
        """Return the certificate and the key (PKCS #8) of a new key pair, in PEM.

        Args:
            name: common name.
            address: IP address that the certificate is for; empty: none, as for a client.
            expired: whether it was valid until yesterday.
        """
        key = ec.generate_private_key(ec.SECP256R1())
        made = _builder(name, self._name, key, -_SLACK / 2 if expired else _VALID)
        if address:
            names = [x509.DNSName(name), x509.IPAddress(ip_address(address))]
            made = made.add_extension(x509.SubjectAlternativeName(names), critical=False)
        certificate = made.sign(self._key, SHA256()).public_bytes(Encoding.PEM).decode()
        written = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
        return certificate, written


def _name(common: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common)])


def _builder(
    name: str, issuer: x509.Name, key: ec.EllipticCurvePrivateKey, valid: timedelta = _VALID
) -> x509.CertificateBuilder:
    now = datetime.now(UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(_name(name))
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _SLACK)
        .not_valid_after(now + valid)
    )
