"""Connections to the hosts of an inventory, and why one cannot be used."""

from __future__ import annotations

import socket
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from chaoskit.base.errors import BadInput, Problems
from chaoskit.base.parallel import on_each
from chaoskit.contract.hosts.host import CommandResult, HostError
from chaoskit.contract.hosts.shell import bash
from clusters.hosts.remote.host import RemoteHost
from clusters.hosts.remote.inventory import Inventory
from clusters.hosts.remote.machine import RemoteMachine

KEY = "cluster.inventory.hosts"

_SCRIPT_S = 120
_MISSING = 'for tool; do command -v "$tool" > /dev/null || echo "$tool"; done'

_REFUSED = (
    ("not found in known_hosts", "its host key is not known", "log in once with ssh, and compare the key"),
    ("does not match", "it has another host key than the known one", "find out why before you trust it"),
    ("uthentication", "it refuses the login", "check user and key by logging in with ssh"),
    ("cannot be reached", "no SSH server answers", "check its address, port and network"),
)
"""Errors of paramiko by a part of their text, each with what is wrong and the remedy."""


class Obstacle(NamedTuple):
    """Why a host cannot be used.

    Attributes:
        key: the key of the inventory that is concerned.
        what: what is wrong.
        remedy: what to do.
    """

    key: str
    what: str
    remedy: str


@contextmanager
def reached(inventory: Inventory) -> Iterator[list[RemoteHost]]:
    """Connect to all hosts for a while; raises like `connected`."""
    hosts = connected(inventory)
    try:
        yield hosts
    finally:
        disconnect(hosts)


def connected(inventory: Inventory) -> list[RemoteHost]:
    """Connect to all hosts.

    Raises:
        BadInput: names each host that cannot be reached, or on which nobody becomes root.
    """
    problems = Problems()
    hosts = [
        RemoteHost(name, str(problems.tried(address_of, name, spec.address or name)), spec)
        for name, spec in inventory.hosts.items()
    ]
    problems.raise_any()
    for obstacle in filter(None, on_each(hosts, obstacle_to)):
        problems.add(BadInput(f"{obstacle.key}: {obstacle.what}; {obstacle.remedy}"))
    if problems:
        disconnect(hosts)
    problems.raise_any()
    return hosts


def disconnect(hosts: Sequence[RemoteMachine]) -> None:
    """Close the connections."""
    for host in hosts:
        host.disconnect()


def address_of(name: str, given: str, key: str = KEY) -> str:
    """Return the IP address of a host, or of another machine below another key of the inventory.

    Raises:
        BadInput: it has none.
    """
    try:
        addresses = socket.getaddrinfo(given, None, type=socket.SOCK_STREAM)
    except OSError as error:
        raise BadInput(f"{key}.{name}.address: {given!r} has no IP address ({error.strerror}); write one") from error
    return str(addresses[0][4][0])


def obstacle_to(host: RemoteHost) -> Obstacle | None:
    """Return why a host cannot be used; None if it can."""
    key = f"{KEY}.{host.name}"
    seen = logged_in(host, key, ["id", "-u"])
    if isinstance(seen, Obstacle):
        return seen
    if seen.status != 0 and "sudo" in seen.err:
        why_not = seen.err.strip().removeprefix("sudo: ")
        return Obstacle(key, f"sudo: {why_not}", "allow it without a password (NOPASSWD)")
    if seen.out.strip() != "0":
        return Obstacle(key, "the user is not root", "leave out become: none")
    return None


def logged_in(machine: RemoteMachine, key: str, argv: Sequence[str]) -> CommandResult | Obstacle:
    """Run a command on a machine; return its result, or why nobody can log in there.

    Args:
        machine: the machine.
        key: its key in the inventory.
        argv: the command; its exit status is not examined.
    """
    for name, path in (("key", machine.reach.key), ("known_hosts", machine.reach.known_hosts)):
        if path and not Path(path).expanduser().is_file():
            return Obstacle(f"{key}.{name}", f"{path}: there is no such file", "correct it")
    try:
        return machine.run(argv, check=False)
    except HostError as error:
        message = str(error)
        why = ((what, remedy) for sign, what, remedy in _REFUSED if sign in message)
        return Obstacle(key, *next(why, (message, "check its address, port and network")))


def lacking(host: RemoteHost, tools: Collection[str]) -> list[str]:
    """Return the programs that a host does not have."""
    return run_script(host, _MISSING, *sorted(tools)).split()


def run_script(host: RemoteHost, script: str, *arguments: str) -> str:
    """Run a script of bash with positional parameters; return its output."""
    return bash(host, script, *arguments, timeout_s=_SCRIPT_S).out
