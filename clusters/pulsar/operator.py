"""What an operator does to a running Pulsar cluster: unload topics, decommission bookies.

Topics through the brokers' admin API; bookies with BookKeeper's own shell, run on one of the hosts. Sources: Pulsar,
"Managing namespaces" (unload a bundle to a destination broker); BookKeeper, "Decommission bookies".
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence

from chaoskit.cluster import ClusterError
from chaoskit.host import ServiceHost, ServiceState
from clusters.pulsar.admin import Admin
from clusters.pulsar.roles import Roles
from clusters.pulsar.settings import BOOKIE, BOOKIE_PORT, WEB_PORT

Partition = tuple[str, int]

_STATE_TIMEOUT_S = 3
_STOP_TIMEOUT_S = 30
_SHELL_TIMEOUT_S = 120
_UNLOAD_TIMEOUT_S = 30
_POLL_S = 0.1


class Operator:
    """The operator of one cluster.

    Args:
        admin: of its brokers.
        roles: who holds which role.
        partitions: of the workload, as far as they are created.
        shell: runs a command of BookKeeper's shell on a host, for so many seconds at most; returns its exit code and
            what it printed.
    """

    def __init__(
        self,
        admin: Admin,
        roles: Roles,
        partitions: Sequence[Partition],
        shell: Callable[[ServiceHost, Sequence[str], float], tuple[int, str]],
    ) -> None:
        self._admin = admin
        self._roles = roles
        self._partitions = partitions
        self._shell = shell

    def led_by(self, host: ServiceHost) -> tuple[str, ...]:
        """See `chaoskit.cluster.Leadership`: the partitions whose topic the host's broker owns."""
        return tuple(f"{topic}/{number}" for topic, number in self._owned_by(host))

    def give_up_leadership(self, host: ServiceHost) -> None:
        """Unload all that the broker owns to other brokers, one after the other."""
        others = [broker.address for broker in self._roles.brokers() if broker.name != host.name]
        if not others:
            raise ClusterError(f"{host.name} has the only broker: add one (cluster.roles.brokers)")
        bundles = dict.fromkeys(self._admin.bundle(*where, _STATE_TIMEOUT_S) for where in self._owned_by(host))
        for index, bundle in enumerate(bundles):
            destination = f"{others[index % len(others)]}:{WEB_PORT}"
            self._admin.unload(host.address, bundle, destination, _UNLOAD_TIMEOUT_S)

    def kept_by(self, host: ServiceHost) -> tuple[str, ...]:
        """See `chaoskit.cluster.Decommissioning`: ledgers that have the bookie in an ensemble, as ZooKeeper has it."""
        told = self._bookkeeper(host, ["listledgers", "-bookieid", f"{host.address}:{BOOKIE_PORT}"])
        return tuple(f"ledger {number}" for number in re.findall(r"ledgerID: (\d+)", told))

    def decommission(self, host: ServiceHost) -> None:
        """End the bookie, have all that it kept replicated to others, and have it forgotten."""
        host.signal(BOOKIE, "TERM")
        deadline = time.monotonic() + _STOP_TIMEOUT_S
        while host.state(BOOKIE) is not ServiceState.GONE or host.address in self._roles.registered_bookies():
            if time.monotonic() > deadline:
                raise ClusterError(f"the bookie on {host.name} did not end within {_STOP_TIMEOUT_S} s")
            time.sleep(_POLL_S)
        self._bookkeeper(host, ["decommissionbookie", "-bookieid", f"{host.address}:{BOOKIE_PORT}"])

    def recommission(self, host: ServiceHost) -> None:
        """Have the bookie begin anew, with nothing: what it kept is elsewhere. It is started as the others are."""
        host.run(["sh", "-c", f"rm -rf {host.data_dir}/bookkeeper/*"])

    def _bookkeeper(self, host: ServiceHost, command: Sequence[str]) -> str:
        """Run a command of BookKeeper's shell on a host; return what it printed."""
        status, told = self._shell(host, command, _SHELL_TIMEOUT_S)
        if status != 0:
            raise ClusterError(f"{command[0]} failed on {host.name}: {told.strip()[-500:]}")
        return told

    def _owned_by(self, host: ServiceHost) -> list[Partition]:
        return [where for where in self._partitions if self._admin.owner(*where, _STATE_TIMEOUT_S) == host.address]
