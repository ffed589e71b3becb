"""Bookies that leave a cluster for good, as operators have them leave: with BookKeeper's own shell, run on the host.

Source: BookKeeper, "Decommission bookies" (administration of bookies).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from chaoskit.base.waiting import wait_until
from chaoskit.contract.cluster import ClusterError, Decommissioning
from chaoskit.contract.host import ServiceHost, ServiceState
from clusters.common.properties import is_true, setting
from clusters.storage.roles import StorageRoles
from clusters.storage.settings import BOOKIE, BOOKIE_PORT, StorageOptions

_STOP_TIMEOUT_S = 30
_POLL_S = 0.1


class Decommissioner:
    """The power `Decommissioning` of `chaoskit.contract.cluster`.

    Args:
        roles: who is registered.
        shell: runs a command of BookKeeper's shell on a host and returns what it printed.
    """

    def __init__(self, roles: StorageRoles, shell: Callable[[ServiceHost, Sequence[str]], str]) -> None:
        self._roles = roles
        self._shell = shell

    def kept_by(self, host: ServiceHost) -> tuple[str, ...]:
        """Return the ledgers that have the bookie in an ensemble, as ZooKeeper has it."""
        told = self._shell(host, ["listledgers", "-bookieid", bookie_id(host)])
        return tuple(f"ledger {number}" for number in re.findall(r"ledgerID: (\d+)", told))

    def decommission(self, host: ServiceHost) -> None:
        """End the bookie, have all that it kept replicated to others, and have it forgotten."""
        host.signal(BOOKIE, "TERM")
        if not wait_until(lambda: self._has_left(host), _STOP_TIMEOUT_S, every_s=_POLL_S):
            raise ClusterError(f"the bookie on {host.name} did not end within {_STOP_TIMEOUT_S} s")
        self._shell(host, ["decommissionbookie", "-bookieid", bookie_id(host)])

    def _has_left(self, host: ServiceHost) -> bool:
        return host.state(BOOKIE) is ServiceState.GONE and host.address not in self._roles.registered_bookies()

    def recommission(self, host: ServiceHost) -> None:
        """Have the bookie begin anew, with nothing: what it kept is elsewhere. It is started as the others are."""
        host.run(["sh", "-c", f"rm -rf {host.data_dir}/bookkeeper/*"])


GIVEN_AUTO_RECOVERY: Mapping[type, str] = {Decommissioning: "config.bookie.autoRecoveryDaemonEnabled: true"}


def decommissioning(options: StorageOptions) -> tuple[type, ...]:
    """Return the power, if bookies copy what others kept (auto-recovery); BookKeeper's default is that they do not."""
    copied = is_true(setting(options.config.bookie, "autoRecoveryDaemonEnabled", False))
    return (Decommissioning,) if copied else ()


def bookie_id(host: ServiceHost) -> str:
    """Return the name under which the bookie of a host is known."""
    return f"{host.address}:{BOOKIE_PORT}"
