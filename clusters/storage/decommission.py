"""Decommissions bookies permanently, as operators do: with BookKeeper's own shell, on the host.

Source: BookKeeper, "Decommission bookies" (administration of bookies).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from chaoskit.base.waiting import wait_until
from chaoskit.contract.hosts.host import ServiceHost, ServiceState
from chaoskit.contract.systems.operating import Decommissioning
from chaoskit.contract.systems.service import ServiceError
from clusters.storage.roles import StorageRoles
from clusters.storage.settings import AUTO_RECOVERY, BOOKIE, BOOKIE_PORT, BookieFolders, StorageOptions

_STOP_TIMEOUT_S = 30
_POLL_S = 0.1


class Decommissioner:
    """The power `Decommissioning` of `chaoskit.contract.systems.service`.

    Args:
        options: as in the scenario.
        roles: used to look up registered bookies.
        shell: runs a command of BookKeeper's shell on a host and returns its output.
    """

    def __init__(
        self, options: StorageOptions, roles: StorageRoles, shell: Callable[[ServiceHost, Sequence[str]], str]
    ) -> None:
        self._options = options
        self._roles = roles
        self._shell = shell

    def kept_by(self, host: ServiceHost) -> tuple[str, ...]:
        """Return the ledgers that have the bookie in an ensemble, according to ZooKeeper."""
        output = self._shell(host, ["listledgers", "-bookieid", bookie_id(host)])
        return tuple(f"ledger {number}" for number in re.findall(r"ledgerID: (\d+)", output))

    def decommission(self, host: ServiceHost) -> None:
        """Stop the bookie, replicate all its data to others, and remove it from the cluster."""
        host.signal(BOOKIE, "TERM")
        if not wait_until(lambda: self._has_left(host), _STOP_TIMEOUT_S, every_s=_POLL_S):
            raise ServiceError(f"the bookie on {host.name} did not stop within {_STOP_TIMEOUT_S} s")
        self._shell(host, ["decommissionbookie", "-bookieid", bookie_id(host)])

    def _has_left(self, host: ServiceHost) -> bool:
        return host.state(BOOKIE) is ServiceState.GONE and host.address not in self._roles.registered_bookies()

    def recommission(self, host: ServiceHost) -> None:
        """Delete the bookie's data, which is elsewhere, so that it starts empty. It is started like the others."""
        folders = BookieFolders.on(host.disks, self._options)
        host.run(["find", *folders.journals, *folders.ledgers, "-mindepth", "1", "-delete"])


GIVEN_AUTO_RECOVERY: Mapping[type, str] = {Decommissioning: "config.bookie.autoRecoveryDaemonEnabled: true"}


def decommissioning(options: StorageOptions) -> tuple[type, ...]:
    """Return the power if auto-recovery is enabled on bookies; by default it is not."""
    copied = AUTO_RECOVERY.is_on(options)
    return (Decommissioning,) if copied else ()


def bookie_id(host: ServiceHost) -> str:
    """Return the id of a host's bookie."""
    return f"{host.address}:{BOOKIE_PORT}"
