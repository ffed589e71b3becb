"""Bookies that leave a cluster for good, as operators have them leave: with BookKeeper's own shell, run on the host.

Source: BookKeeper, "Decommission bookies" (administration of bookies).
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence

from chaoskit.contract.cluster import ClusterError, Decommissioning
from chaoskit.contract.host import ServiceHost, ServiceState
from clusters.bookkeeper.roles import StorageRoles
from clusters.bookkeeper.settings import BOOKIE, BOOKIE_PORT, StorageOptions, is_true, setting

_STOP_TIMEOUT_S = 30
_POLL_S = 0.1


class Decommissioner:
    """See `chaoskit.contract.cluster.Decommissioning`.

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
        deadline = time.monotonic() + _STOP_TIMEOUT_S
        while host.state(BOOKIE) is not ServiceState.GONE or host.address in self._roles.registered_bookies():
            if time.monotonic() > deadline:
                raise ClusterError(f"the bookie on {host.name} did not end within {_STOP_TIMEOUT_S} s")
            time.sleep(_POLL_S)
        self._shell(host, ["decommissionbookie", "-bookieid", bookie_id(host)])

    def recommission(self, host: ServiceHost) -> None:
        """Have the bookie begin anew, with nothing: what it kept is elsewhere. It is started as the others are."""
        host.run(["sh", "-c", f"rm -rf {host.data_dir}/bookkeeper/*"])


def decommissioning(options: StorageOptions) -> tuple[type, ...]:
    """Return the power, if bookies copy what others kept (auto-recovery); BookKeeper's default is that they do not."""
    copied = is_true(setting(options.config.bookie, "autoRecoveryDaemonEnabled", False))
    return (Decommissioning,) if copied else ()


def bookie_id(host: ServiceHost) -> str:
    """Return the name under which the bookie of a host is known."""
    return f"{host.address}:{BOOKIE_PORT}"
