"""The provider of hosts that an inventory names. It makes none, and leaves nothing on them."""

from __future__ import annotations

import secrets
import socket
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from chaoskit.base.errors import BadInput, Problems
from chaoskit.base.journal import Journal
from chaoskit.base.parallel import on_each
from chaoskit.contract.clients.driver import LoadHost
from chaoskit.contract.hosts.capability import Capability
from chaoskit.contract.hosts.disk import DATA
from chaoskit.contract.hosts.switch import RELEASE, RELEASE_ALL, TOOLS
from clusters.hosts.remote.driver import check_drivers, opened, undo_driver
from clusters.hosts.remote.host import RemoteHost
from clusters.hosts.remote.inventory import Inventory
from clusters.hosts.remote.reach import KEY, connected, disconnect, lacking, reached, run_script
from clusters.hosts.remote.survey import survey

_PROVIDER = "ssh"

_USED = "/run/chaoskit/used-by"
"""Names the run that uses a host, so that no other one does at the same time."""

_TAKE = f'mkdir -p /run/chaoskit; set -C; {{ echo "$1" > {_USED}; }} 2> /dev/null || cat {_USED}'
_USER = f"cat {_USED} 2> /dev/null; true"
_CLEAN = (
    f"rm -f {_USED} /run/chaoskit/started.log; [ ! -d /run/chaoskit ] || rmdir --ignore-fail-on-non-empty /run/chaoskit"
)


class RemoteLab:
    """Hosts of others; see `chaoskit.contract.hosts.host.Lab`.

    Args:
        hosts: the hosts, used by this run alone.
    """

    def __init__(self, hosts: Sequence[RemoteHost]) -> None:
        self.hosts = hosts

    def access(self) -> list[str]:
        return [host.access() for host in self.hosts]

    def keep(self, folder: Path) -> Sequence[Path]:
        return ()

    def close(self) -> None:
        try:
            on_each(self.hosts, _released)
        finally:
            disconnect(self.hosts)


class SshProvider:
    """Entry point `ssh` of `chaoskit.hosts`."""

    options = Inventory

    def host_powers(self, options: Inventory) -> tuple[type, ...]:
        return ()

    def disk_powers(self, options: Inventory) -> Mapping[str, tuple[type, ...]]:
        return {DATA: ()} if all(spec.data for spec in options.hosts.values()) else {}

    def seeded(self, options: Inventory, seed: int) -> Inventory:
        return options

    def check(self, count: int, options: Inventory, needed: Collection[type]) -> None:
        if options.hosts and count != len(options.hosts):
            raise BadInput(
                f"cluster.inventory: names {len(options.hosts)} hosts, but cluster.hosts is {count}; name the host of "
                "every node, and leave cluster.hosts out"
            )
        with reached(options) as hosts:
            on_each(hosts, _check_free)

    def check_tools(self, options: Inventory, tools: Mapping[str, Collection[str]]) -> None:
        """See `chaoskit.contract.hosts.host.Equipped`."""
        if not tools:
            return
        wanted = {tool for programs in tools.values() for tool in programs}
        with reached(options) as hosts:
            of_hosts = on_each(hosts, lambda host: lacking(host, {*wanted, *host.tools, *TOOLS}))
        problems = Problems()
        for host, missing in zip(hosts, of_hosts, strict=True):
            for tool in missing:
                users = sorted(kind for kind, programs in tools.items() if tool in programs) or ["faults"]
                problems.add(BadInput(f"{KEY}.{host.name}: has no {tool}, which {', '.join(users)} needs; install it"))
        problems.raise_any()

    def driver_names(self, options: Inventory) -> Collection[str]:
        """See `chaoskit.contract.clients.driver.Driving`."""
        return options.drivers

    def check_drivers(self, options: Inventory, names: Sequence[str], files: Collection[str]) -> None:
        """See `chaoskit.contract.clients.driver.Driving`."""
        check_drivers(options, names, files)

    def drivers(self, journal: Journal, options: Inventory, names: Sequence[str], wal: Path) -> Sequence[LoadHost]:
        """See `chaoskit.contract.clients.driver.Driving`."""
        return opened(journal, _PROVIDER, options, names, wal)

    def provision(self, journal: Journal, count: int, options: Inventory, needed: Collection[type] = ()) -> RemoteLab:
        mark = f"{socket.gethostname()} {secrets.token_hex(4)}"
        journal.record(_PROVIDER, inventory=options.model_dump(mode="json"), mark=mark)
        hosts = connected(options)
        try:
            on_each(hosts, lambda host: _take(host, mark))
        except BaseException:
            on_each([host for host in hosts if _user(host) == mark], _released)
            disconnect(hosts)
            raise
        return RemoteLab(hosts)

    def undo(self, entry: Mapping[str, Any]) -> list[str]:
        """Undo what a run left on its hosts, or, if the entry has no `mark`, what any run left.

        What clients of a run recorded on a driver is fetched.
        """
        if "driver" in entry:
            return undo_driver(entry)
        with reached(Inventory.model_validate(entry["inventory"])) as hosts:
            mark = entry.get("mark")
            left = [host for host in hosts if mark is None or _user(host) == mark]
            undone = on_each(left, _released)
        return [f"{what} of host {host.name}" for host, words in zip(left, undone, strict=True) for what in words]

    def diagnose(self) -> list[Capability]:
        return []

    def survey(self, options: Inventory, tools: Mapping[str, Collection[str]]) -> list[Capability]:
        """See `chaoskit.contract.hosts.host.Equipped`."""
        return survey(options, tools)


def _check_free(host: RemoteHost) -> None:
    if user := _user(host):
        raise _in_use(host, user)


def _take(host: RemoteHost, mark: str) -> None:
    if user := run_script(host, _TAKE, mark).strip():
        raise _in_use(host, user)


def _user(host: RemoteHost) -> str:
    return run_script(host, _USER).strip()


def _in_use(host: RemoteHost, user: str) -> BadInput:
    return BadInput(
        f"{KEY}.{host.name}: a run of chaoskit on {user.partition(' ')[0]} uses it; wait for its end, or, if that was "
        "killed, run `chaoskit heal` there, or `chaoskit heal --hosts INVENTORY` here"
    )


def _released(host: RemoteHost) -> list[str]:
    """Undo every fault that is on a host, and remove what chaoskit left there; return what was."""
    left = [f"mark of {user}"] if (user := _user(host)) else []
    left += run_script(host, RELEASE_ALL, RELEASE).splitlines()
    run_script(host, _CLEAN)
    return left
