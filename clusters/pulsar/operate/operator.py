"""Operations on a running Pulsar cluster: unloading topics.

Source: Pulsar, "Managing namespaces" (unload a bundle to a destination broker).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from chaoskit.contract.hosts.host import ServiceHost
from chaoskit.contract.systems.service import ServiceError
from clusters.pulsar.deploy.admin import Admin
from clusters.pulsar.roles import PulsarRoles
from clusters.pulsar.settings import WEB_PORT

Partition = tuple[str, int]

_STATE_TIMEOUT_S = 3
_UNLOAD_TIMEOUT_S = 30


class PulsarOperator:
    """The power `Leadership` of `chaoskit.contract.systems.service`; the leader of a partition is the owner of its
    topic.

    Args:
        admin: admin API of the brokers.
        roles: looks up roles.
        partitions: returns the partitions of the trial.
    """

    def __init__(self, admin: Admin, roles: PulsarRoles, partitions: Callable[[], Sequence[Partition]]) -> None:
        self._admin = admin
        self._roles = roles
        self._partitions = partitions

    def led_by(self, host: ServiceHost) -> tuple[str, ...]:
        return tuple(f"{topic}/{number}" for topic, number in self._owned_by(host))

    def give_up_leadership(self, host: ServiceHost) -> None:
        """Unload everything that the broker owns to the other brokers in turn."""
        others = [broker.address for broker in self._roles.brokers() if broker.name != host.name]
        if not others:
            raise ServiceError(f"{host.name} has the only broker: add one (cluster.roles.brokers)")
        bundles = dict.fromkeys(self._admin.bundle(*where, _STATE_TIMEOUT_S) for where in self._owned_by(host))
        for index, bundle in enumerate(bundles):
            destination = f"{others[index % len(others)]}:{WEB_PORT}"
            self._admin.unload(host.address, bundle, destination, _UNLOAD_TIMEOUT_S)

    def _owned_by(self, host: ServiceHost) -> list[Partition]:
        return [where for where in self._partitions() if self._admin.owner(*where, _STATE_TIMEOUT_S) == host.address]
