"""Certificates of brokers that expire, and are renewed while the brokers run (KIP-226)."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Sequence

from confluent_kafka.admin import (  # type: ignore[attr-defined]
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    ResourceType,
)

from chaoskit.contract.hosts.host import ServiceHost
from chaoskit.contract.systems.service import ServiceError
from clusters.kafka.operate.answers import answers
from clusters.kafka.operate.tools import node_id
from clusters.kafka.security import CLIENTS_PORT, EXPIRED, KEYSTORE, Credentials

_TIMEOUT_S = 10


class KafkaCertificates:
    """The power `Certificates` of `chaoskit.contract.systems.operating`.

    Args:
        admin: an admin client of the cluster.
        brokers: the broker hosts; node ids count from 1.
        credentials: of brokers and clients.
    """

    def __init__(self, admin: AdminClient, brokers: Sequence[ServiceHost], credentials: Credentials) -> None:
        self._admin = admin
        self._brokers = brokers
        self._credentials = credentials

    def expire(self, host: ServiceHost) -> None:
        self._credentials.install_expired(host)
        self._set(host, ConfigEntry(KEYSTORE, EXPIRED, incremental_operation=AlterConfigOpType.SET))

    def renew(self, host: ServiceHost) -> None:
        if node_id(self._brokers, host):
            self._set(host, ConfigEntry(KEYSTORE, None, incremental_operation=AlterConfigOpType.DELETE))

    def refusal(self, host: ServiceHost) -> str:
        trusting = ssl.create_default_context(cadata=self._credentials.authority)
        try:
            with (
                socket.create_connection((host.address, CLIENTS_PORT), _TIMEOUT_S) as connection,
                trusting.wrap_socket(connection, server_hostname=host.address),
            ):
                return ""
        except ssl.SSLCertVerificationError as error:
            return error.verify_message
        except OSError as error:
            raise ServiceError(f"{host.name} cannot be reached: {error}") from error

    def _set(self, host: ServiceHost, entry: ConfigEntry) -> None:
        node = node_id(self._brokers, host)
        if not node:
            raise ServiceError(f"clients do not connect to {host.name}: it has no broker; name others in `on`")
        broker = ConfigResource(ResourceType.BROKER, str(node), incremental_configs=[entry])
        asked = self._admin.incremental_alter_configs([broker], request_timeout=_TIMEOUT_S)
        answers(asked, f"{host.name}: the certificate was not changed")
