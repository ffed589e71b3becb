"""What a RabbitMQ cluster is to clients and operators, wherever it runs: queues, roles and placements."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from chaoskit.base.waiting import wait_while
from chaoskit.contract.power import P, held
from chaoskit.contract.systems.service import Placed, ServiceError
from chaoskit.model.place import Place
from clusters.rabbitmq.deploy.management import Management
from clusters.rabbitmq.deploy.stored import StoredQueues
from clusters.rabbitmq.roles import RabbitRoles
from clusters.rabbitmq.routing import Route

_POLL_S = 0.1


class RabbitService:
    """See `chaoskit.contract.systems.service.Service`, `Placing` and `Reporting`.

    Args:
        management: asks the management interface.
        stored: the queues and streams of the trial.
        roles: the holders of roles.
        names: the Erlang node, by name of its host.
    """

    owner = "a RabbitMQ cluster"

    def __init__(
        self, management: Management, stored: StoredQueues, roles: RabbitRoles, names: Mapping[str, str]
    ) -> None:
        self._management = management
        self._stored = stored
        self._roles = roles
        self._names = names
        self._routes: dict[str, Route] = {}
        self._holders: list[object] = [self]

    def power(self, kind: type[P]) -> P:
        return held(kind, self._holders, self.owner)

    def wait_ready(self, timeout_s: float) -> None:
        if missing := wait_while(self._missing, timeout_s, every_s=_POLL_S):
            raise ServiceError(f"RabbitMQ was not ready within {timeout_s:g} s: {missing}")

    def find(self, role: str, place: Place | None) -> tuple[str, ...]:
        return self._roles.find(role, place)

    def placements(self) -> list[Placed]:
        return self._stored.placements()

    def settings_in_effect(self) -> dict[str, Mapping[str, Any]]:
        """See `chaoskit.contract.systems.service.Reporting`."""
        return self._stored.in_effect()

    def end_trial(self) -> None:
        self._routes = {}
        self._stored.delete()

    def close(self) -> None:
        self._management.close()

    def _missing(self) -> str:
        """Return why the cluster is not ready; empty if it is."""
        return self._stored.missing(self._names)
