"""A machine that an inventory names, reached over SSH as it says."""

from __future__ import annotations

from pathlib import Path

import paramiko
from fabric import Connection

from chaoskit.contract.hosts.host import HostError
from clusters.hosts.remote.inventory import Reach
from clusters.hosts.ssh import CONNECT_TIMEOUT_S, SshHost


class RemoteMachine(SshHost):
    """A machine that its owner runs.

    Args:
        name: its name in the inventory.
        address: its IP address.
        spec: what the inventory says of it.
        data_dir: folder on its data disk; empty if none is known.
    """

    def __init__(self, name: str, address: str, spec: Reach, data_dir: str = "") -> None:
        super().__init__(name, address, Path(spec.key or "").expanduser(), data_dir)
        self.reach = spec
        self._port = spec.port or 22

    def ssh(self, *options: str) -> list[str]:
        """Return the command of OpenSSH that opens a shell."""
        spec = self.reach
        given = [word for flag, value in (("-i", spec.key), ("-p", spec.port), ("-J", spec.jump)) if value
                 for word in (flag, str(value))]  # fmt: skip
        user = f"{spec.user}@" if spec.user else ""
        return ["ssh", *given, *options, f"{user}{spec.ssh or spec.address or self.name}"]

    def access(self) -> str:
        """Return the command that opens a shell."""
        return " ".join(self.ssh())

    def reachable(self, timeout_s: float = 0.5) -> bool:
        if not self.reach.jump:
            return super().reachable(timeout_s)
        try:
            self.run(["true"], timeout_s=timeout_s)
        except HostError:
            return False
        return True

    def _connect(self) -> Connection:
        spec = self.reach
        keys = {"key_filename": str(self._key_file)} if spec.key else {}
        through = Connection(spec.jump, connect_timeout=CONNECT_TIMEOUT_S, connect_kwargs=keys) if spec.jump else None
        given = {
            name: value for name, value in (("user", spec.user), ("port", spec.port), ("gateway", through)) if value
        }
        connection = Connection(
            spec.ssh or spec.address or self.name, connect_timeout=CONNECT_TIMEOUT_S, connect_kwargs=keys, **given
        )
        for hop in (connection, *([through] if through is not None else [])):
            hop.client.load_system_host_keys()
            if spec.known_hosts:
                hop.client.load_host_keys(str(Path(spec.known_hosts).expanduser()))
            hop.client.set_missing_host_key_policy(paramiko.RejectPolicy())
        return connection
