"""A lab: the local hosts of one run. Several labs can coexist on a machine."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from chaoskit.base.errors import BadInput
from chaoskit.base.journal import Journal
from chaoskit.base.parallel import on_each
from chaoskit.contract.hosts.capability import Capability
from chaoskit.contract.hosts.clock import SettableClock
from chaoskit.contract.hosts.disk import BreakableDisk, ProgrammableDisk, ReplaceableDisk, SlowDisk
from chaoskit.contract.hosts.host import PowerSwitch, ResourceLimits, Root
from clusters.hosts import capabilities
from clusters.hosts.clock.library import clock_library
from clusters.hosts.disk.options import DiskOptions, check_disk
from clusters.hosts.disk.throttle import available as throttling
from clusters.hosts.labs.claim import claim, open_network
from clusters.hosts.labs.furnishing import addresses_of, disks_of, furnish
from clusters.hosts.labs.recordings import Recordings, keep
from clusters.hosts.labs.removal import remove
from clusters.hosts.local import LAB_VARIABLE, LocalHost
from clusters.hosts.roots import make, tree
from clusters.hosts.witness import SyncWitness

_HOSTS_MAX = 200


class LocalOptions(DiskOptions):
    """The options of local hosts: their data disks (`cluster.disk`)."""


class LocalLab:
    """Running local hosts.

    Args:
        name: name of the lab and of its bridge.
        folder: folder with keys, disk images and system disks.
        hosts: the booted hosts.
        witness: of syncs of all file systems.
    """

    def __init__(self, name: str, folder: Path, hosts: Sequence[LocalHost], witness: SyncWitness) -> None:
        self.name = name
        self.folder = folder
        self.hosts = hosts
        self._witness = witness

    def access(self) -> list[str]:
        return [f"ssh -i {self.folder / 'client_key'} root@{host.address}" for host in self.hosts]

    def keep(self, folder: Path) -> list[Path]:
        """Copy the disk recordings (`cluster.disk.record`) to a folder, one subfolder per host. Call before `close`.

        Returns:
            The subfolders, each with `disk-base` and `disk-operations`; see `clusters.hosts.disk.crash`.
        """
        return keep(self.hosts, self.folder, self._witness.syncs_ns(), folder)

    def close(self) -> None:
        on_each(self.hosts, lambda host: host.kill())
        self._witness.close()
        remove(self.name, self.folder)


class LocalProvider(Recordings):
    """Hosts in namespaces of this machine (entry point `local`)."""

    options = LocalOptions

    def host_powers(self, options: LocalOptions) -> tuple[type, ...]:
        return (PowerSwitch, ResourceLimits, SettableClock)

    def disk_powers(self, options: LocalOptions) -> dict[str, tuple[type, ...]]:
        plain = (SlowDisk, BreakableDisk, ReplaceableDisk)
        kinds = {"plain": plain, "programmable": (*plain, ProgrammableDisk)}
        return {name: kinds[disk.kind] for name, disk in options.each().items()}

    def seeded(self, options: LocalOptions, seed: int) -> LocalOptions:
        if options.kind == "plain" or "seed" in options.model_fields_set:
            return options
        return options.model_copy(update={"seed": seed})

    def check(self, count: int, options: LocalOptions, needed: Collection[type]) -> None:
        if not 1 <= count <= _HOSTS_MAX:
            raise BadInput(f"cluster.hosts is {count}; a lab has 1 to {_HOSTS_MAX} hosts")
        check_disk(options, count)
        if SettableClock in needed:
            clock_library()
        plain = any(disk.kind == "plain" for disk in options.each().values())
        if SlowDisk in needed and plain and not throttling():
            raise BadInput(
                "disk-slow: this kernel cannot throttle devices with a blkio cgroup (v1); "
                "set cluster.disk.kind: programmable"
            )
        capabilities.require({disk.filesystem for disk in options.each().values()})

    def make_root(self, root: Root) -> None:
        make(root)

    def provision(
        self,
        journal: Journal,
        count: int,
        options: LocalOptions,
        needed: Collection[type] = (),
        *,
        roots: Sequence[Root | None] = (),
    ) -> LocalLab:
        lower = [Path("/") if root is None else tree(root) for root in roots or [None] * count]
        name, folder, network = claim(journal)
        try:
            open_network(name, network)
            furnish(folder, network, count)
            witness = SyncWitness(folder / "witness", {LAB_VARIABLE: name})
            hosts = [
                LocalHost(name, folder, host, address, disks_of(folder / host, host, options), witness, root)
                for (host, address), root in zip(addresses_of(network, count).items(), lower, strict=True)
            ]
            lab = LocalLab(name, folder, hosts, witness)
            if SettableClock in needed:
                for host in hosts:
                    host.make_clock_settable()
            on_each(hosts, lambda host: host.boot())
            on_each(hosts, lambda host: host.wait_booted())
        except BaseException:
            remove(name, folder)
            raise
        return lab

    def undo(self, entry: Mapping[str, Any]) -> list[str]:
        if os.geteuid() != 0:
            raise BadInput("removing the hosts that were left behind requires root: sudo chaoskit heal")
        return remove(entry["lab"], Path(entry["folder"]))

    def disk_with(self, options: LocalOptions, images: Mapping[str, Path]) -> dict[str, Any]:
        return options.model_copy(update={"kind": "plain", "record": False, "images": images}).model_dump(mode="json")

    def diagnose(self) -> list[Capability]:
        return capabilities.diagnose()
