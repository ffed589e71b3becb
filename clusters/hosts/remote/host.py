"""A host of somebody else's, reached over SSH as its inventory says."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from chaoskit.contract.hosts.disk import DATA, DataDisk
from chaoskit.contract.hosts.host import HostError, ServiceState
from chaoskit.contract.hosts.shell import bash
from chaoskit.contract.power import P, held
from clusters.hosts.remote.inventory import HostSpec
from clusters.hosts.remote.machine import RemoteMachine

_LOG_COPY_S = 120

_STATE = """
for id in $({ids}); do cut -d')' -f2 "/proc/$id/stat" 2> /dev/null | cut -c2; done
"""


@dataclass
class NamedDisk:
    """A data disk of which only a folder is known."""

    name: str
    path: str

    def power(self, kind: type[P]) -> P:
        """Raise `PowerMissing`; see `chaoskit.contract.power.Powered`."""
        return held(kind, [], f"disk {self.name} of a host of the inventory")


class RemoteHost(RemoteMachine):
    """A machine that its owner runs; see `chaoskit.contract.hosts.host.ServiceHost` and
    `chaoskit.contract.systems.owned.Owned`.

    Args:
        name: its name in the inventory.
        address: its IP address.
        spec: what the inventory says of it.
    """

    def __init__(self, name: str, address: str, spec: HostSpec) -> None:
        super().__init__(name, address, spec, spec.data or "")
        self.id = spec.node
        self.services = tuple(spec.services)
        self.spec = spec

    @property
    def tools(self) -> set[str]:
        """The programs that the scripts of its services need."""
        return {tool for service in self.spec.services.values() for tool in service.tools}

    @property
    def disks(self) -> Mapping[str, DataDisk]:
        return {DATA: NamedDisk(DATA, self.spec.data)} if self.spec.data else {}

    def get(self, path: str, local: Path) -> None:
        status, content, errors = self._raw(["cat", path], b"", _LOG_COPY_S)
        if status != 0:
            raise HostError(f"host {self.name}: {errors.decode(errors='replace').strip()}")
        local.parent.mkdir(parents=True, exist_ok=True)
        local.write_bytes(content)

    def spawn(self, name: str, argv: Sequence[str], env: Mapping[str, str]) -> None:
        """Refuse: an attached system has its own supervisor."""
        raise HostError(f"{self.name} belongs to its owner: nothing is deployed on it")

    def signal(self, name: str, signal: str) -> None:
        bash(self, self.signal_script(name, signal), check=False)

    def state(self, name: str) -> ServiceState:
        script = _STATE.format(ids=self.spec.services[name].ids)
        states = set(bash(self, script, check=False).out.split()) - {"Z", "X"}
        if not states:
            return ServiceState.GONE
        return ServiceState.PAUSED if states <= {"T", "t"} else ServiceState.RUNNING

    def start_script(self, name: str) -> str:
        return self.spec.services[name].start_script

    def kill_script(self, name: str) -> str:
        return self.spec.services[name].kill_script

    def signal_script(self, name: str, signal: str) -> str:
        return self.spec.services[name].signal_script(signal)

    def pid_path(self, name: str) -> str:
        raise HostError(f"{self.name}: the processes of {name} are found by its supervisor")

    def log_path(self, name: str) -> str:
        log = self.spec.services[name].log
        if log is None:
            raise HostError(f"the inventory does not say where {name} on {self.name} writes its log")
        return log

    def _command(self, argv: Sequence[str]) -> str:
        command = shlex.join(argv)
        if self.spec.become == "none":
            return command
        return f'sudo -n -- env SSH_CONNECTION="$SSH_CONNECTION" {command}'
