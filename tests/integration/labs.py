"""Labs that the tests of a module share: one that a test left damaged is replaced by a new one."""

from __future__ import annotations

from collections.abc import Collection

from echo import SERVICE, EchoCluster

from chaoskit.base.journal import Journal
from chaoskit.contract.hosts.host import HostError, ServiceHost
from clusters.hosts.lab import LocalLab, LocalOptions, LocalProvider
from clusters.hosts.ssh import LOG_FOLDER, SERVICE_FOLDER
from nemeses.services import await_answers

_LEFT = (
    'ls /run/chaoskit/held 2> /dev/null; nft list tables; tc qdisc show | grep -v "noqueue"; '
    "ls -A /data | grep -v -e '^lost+found$' -e '^echo.log$' -e '^[.]canary' -e '^[.]chaoskit'"
)
"""Whatever this prints was left by a fault: held scripts, firewall rules, queues, files."""


_END_SPAWNED = """
cd {services} && for pid in *.pid; do
    name=${{pid%.pid}}
    [ "$name" = {echo} ] && continue
    while kill -s KILL -- "-$(cat "$pid")"; do sleep 0.01; done 2> /dev/null
    rm -f "$pid" {logs}/"$name".log
done
true
"""
"""Ends what a test started beside the echo server, whose connections would show in the next one."""


class SharedLab:
    """One lab of hosts with an echo server each, made when it is first asked for.

    Args:
        journal: of what is made.
        count: hosts.
        needed: powers that the hosts must have.
    """

    def __init__(self, journal: Journal, count: int, needed: Collection[type] = ()) -> None:
        self._journal = journal
        self._count = count
        self._needed = needed
        self._lab: LocalLab | None = None

    def take(self) -> EchoCluster:
        """Return the hosts' echo servers, all of which answer."""
        if self._lab is None:
            options = LocalOptions.model_validate({"size": "512MiB"})
            self._lab = LocalProvider().provision(self._journal, self._count, options, needed=self._needed)
        cluster = EchoCluster(self._lab.hosts)
        await_answers(self._lab.hosts, cluster)
        return cluster

    def give_back(self, cluster: EchoCluster) -> None:
        """Keep the lab for the next test, unless this one left something behind."""
        if not all(_is_intact(host, cluster) for host in cluster.hosts):
            self.close()

    def close(self) -> None:
        """Remove the hosts."""
        if self._lab is not None:
            lab, self._lab = self._lab, None
            lab.close()


def _is_intact(host: ServiceHost, cluster: EchoCluster) -> bool:
    try:
        host.run(["sh", "-c", _END_SPAWNED.format(services=SERVICE_FOLDER, logs=LOG_FOLDER, echo=SERVICE)])
        return cluster.answers(host) and not host.run(["sh", "-c", _LEFT], check=False).out
    except HostError:
        return False
