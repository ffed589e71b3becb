"""The provider of hosts that an inventory names. It makes none, and leaves nothing on them."""

from __future__ import annotations

import secrets
import socket
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from chaoskit.base.errors import BadInput, Problems
from chaoskit.base.journal import Journal
from chaoskit.contract.capability import Capability
from chaoskit.contract.disk import DATA
from chaoskit.contract.host import HostError
from chaoskit.contract.switch import RELEASE, RELEASE_ALL, TOOLS
from clusters.hosts.remote.host import RemoteHost
from clusters.hosts.remote.inventory import Inventory

_PROVIDER = "ssh"
_KEY = "cluster.inventory.hosts"
_RELEASE_S = 120

_USED = "/run/chaoskit/used-by"
"""Names the run that uses a host, so that no other one does at the same time."""

_TAKE = f'mkdir -p /run/chaoskit; set -C; {{ echo "$1" > {_USED}; }} 2> /dev/null || cat {_USED}'
_USER = f"cat {_USED} 2> /dev/null; true"
_CLEAN = (
    f"rm -f {_USED} /run/chaoskit/started.log; [ ! -d /run/chaoskit ] || rmdir --ignore-fail-on-non-empty /run/chaoskit"
)
_MISSING = 'for tool; do command -v "$tool" > /dev/null || echo "$tool"; done'

_REFUSED = (
    ("not found in known_hosts", "its host key is not known", "log in once with ssh, and compare the key"),
    ("does not match", "it has another host key than the known one", "find out why before you trust it"),
    ("uthentication", "it refuses the login", "check user and key by logging in with ssh"),
)
"""Errors of paramiko by a part of their text, each with what is wrong and the remedy."""

Result = TypeVar("Result")


class RemoteLab:
    """Hosts of others; see `chaoskit.contract.host.Lab`.

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
            _on_each(self.hosts, _released)
        finally:
            _disconnect(self.hosts)


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
        if count != len(options.hosts):
            raise BadInput(f"cluster.hosts is {count}, but the inventory has {len(options.hosts)}; leave hosts out")
        with _reached(options) as hosts:
            _on_each(hosts, _check_free)

    def check_tools(self, options: Inventory, tools: Mapping[str, Collection[str]]) -> None:
        """See `chaoskit.contract.host.Equipped`."""
        wanted = {tool for each in tools.values() for tool in each}
        of_services = {
            tool for spec in options.hosts.values() for each in spec.services.values() for tool in each.tools
        }
        with _reached(options) as hosts:
            lacking = _on_each(hosts, lambda host: _lacking(host, {*wanted, *of_services, *TOOLS} if tools else set()))
        problems = Problems()
        for host, missing in zip(hosts, lacking, strict=True):
            for tool in missing:
                users = sorted(kind for kind, each in tools.items() if tool in each) or ["faults"]
                problems.add(BadInput(f"{_KEY}.{host.name}: has no {tool}, which {', '.join(users)} needs; install it"))
        problems.raise_any()

    def provision(self, journal: Journal, count: int, options: Inventory, needed: Collection[type] = ()) -> RemoteLab:
        mark = f"{socket.gethostname()} {secrets.token_hex(4)}"
        journal.record(_PROVIDER, inventory=options.model_dump(mode="json"), mark=mark)
        hosts = _connected(options)
        try:
            _on_each(hosts, lambda host: _take(host, mark))
        except BaseException:
            _on_each([host for host in hosts if _user(host) == mark], _released)
            _disconnect(hosts)
            raise
        return RemoteLab(hosts)

    def undo(self, entry: Mapping[str, Any]) -> list[str]:
        """Undo what a run left on its hosts, or, if the entry has no `mark`, what any run left."""
        with _reached(Inventory.model_validate(entry["inventory"])) as hosts:
            mark = entry.get("mark")
            left = [host for host in hosts if mark is None or _user(host) == mark]
            undone = _on_each(left, _released) if left else []
        return [f"{what} of host {host.name}" for host, each in zip(left, undone, strict=True) for what in each]

    def diagnose(self) -> list[Capability]:
        return []


@contextmanager
def _reached(inventory: Inventory) -> Iterator[list[RemoteHost]]:
    """Connect to all hosts for a while; raises like `_connected`."""
    hosts = _connected(inventory)
    try:
        yield hosts
    finally:
        _disconnect(hosts)


def _connected(inventory: Inventory) -> list[RemoteHost]:
    """Connect to all hosts.

    Raises:
        BadInput: names each host that cannot be reached, or on which nobody becomes root.
    """
    problems = Problems()
    hosts = [
        RemoteHost(name, str(problems.tried(_address, name, spec.address or name)), spec)
        for name, spec in inventory.hosts.items()
    ]
    problems.raise_any()
    for why in filter(None, _on_each(hosts, _why_not)):
        problems.add(BadInput(why))
    if problems:
        _disconnect(hosts)
    problems.raise_any()
    return hosts


def _disconnect(hosts: Sequence[RemoteHost]) -> None:
    for host in hosts:
        host.disconnect()


def _address(name: str, given: str) -> str:
    try:
        found = socket.getaddrinfo(given, None, type=socket.SOCK_STREAM)
    except OSError as error:
        raise BadInput(f"{_KEY}.{name}.address: {given!r} has no IP address ({error.strerror}); write one") from error
    return str(found[0][4][0])


def _why_not(host: RemoteHost) -> str:
    """Return why a host cannot be used; empty if it can."""
    key = f"{_KEY}.{host.name}"
    try:
        seen = host.run(["id", "-u"], check=False)
    except HostError as error:
        told = str(error)
        return next((f"{key}: {why}; {remedy}" for sign, why, remedy in _REFUSED if sign in told), f"{key}: {told}")
    if seen.status != 0 and "sudo" in seen.err:
        return f"{key}: sudo: {seen.err.strip().removeprefix('sudo: ')}; allow it without a password (NOPASSWD)"
    if seen.out.strip() != "0":
        return f"{key}: the user is not root; leave out become: none"
    return ""


def _check_free(host: RemoteHost) -> None:
    if user := _user(host):
        raise _in_use(host, user)


def _take(host: RemoteHost, mark: str) -> None:
    if user := _bash(host, _TAKE, mark).strip():
        raise _in_use(host, user)


def _user(host: RemoteHost) -> str:
    return _bash(host, _USER).strip()


def _in_use(host: RemoteHost, user: str) -> BadInput:
    return BadInput(
        f"{_KEY}.{host.name}: a run of chaoskit on {user.partition(' ')[0]} uses it; wait for its end, or, if that was "
        "killed, run `chaoskit heal` there, or `chaoskit heal --hosts INVENTORY` here"
    )


def _lacking(host: RemoteHost, tools: Collection[str]) -> list[str]:
    return _bash(host, _MISSING, *sorted(tools)).split()


def _released(host: RemoteHost) -> list[str]:
    """Undo every fault that is on a host, and remove what chaoskit left there; return what was."""
    left = [f"mark of {user}"] if (user := _user(host)) else []
    left += _bash(host, RELEASE_ALL, RELEASE).splitlines()
    _bash(host, _CLEAN)
    return left


def _bash(host: RemoteHost, script: str, *arguments: str) -> str:
    return host.run(["bash", "--norc", "-c", script, "chaoskit", *arguments], timeout_s=_RELEASE_S).out


def _on_each(hosts: Sequence[RemoteHost], act: Callable[[RemoteHost], Result]) -> list[Result]:
    with ThreadPoolExecutor(len(hosts)) as pool:
        return list(pool.map(act, hosts))
