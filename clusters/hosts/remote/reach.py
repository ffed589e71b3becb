"""Connections to the hosts of an inventory, and why one cannot be used."""

from __future__ import annotations

import socket
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from chaoskit.base.errors import BadInput, Problems
from chaoskit.base.parallel import on_each
from chaoskit.contract.host import HostError
from chaoskit.contract.shell import bash
from clusters.hosts.remote.host import RemoteHost
from clusters.hosts.remote.inventory import HostSpec, Inventory

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
    for name, spec in inventory.hosts.items():
        problems.tried(_check_files, name, spec)
    problems.raise_any()
    for why in filter(None, on_each(hosts, why_not)):
        problems.add(BadInput(why))
    if problems:
        disconnect(hosts)
    problems.raise_any()
    return hosts


def _check_files(name: str, spec: HostSpec) -> None:
    for key, path in (("key", spec.key), ("known_hosts", spec.known_hosts)):
        if path and not Path(path).expanduser().is_file():
            raise BadInput(f"{KEY}.{name}.{key}: {path}: there is no such file")


def disconnect(hosts: Sequence[RemoteHost]) -> None:
    """Close the connections."""
    for host in hosts:
        host.disconnect()


def address_of(name: str, given: str) -> str:
    """Return the IP address of a host.

    Raises:
        BadInput: it has none.
    """
    try:
        found = socket.getaddrinfo(given, None, type=socket.SOCK_STREAM)
    except OSError as error:
        raise BadInput(f"{KEY}.{name}.address: {given!r} has no IP address ({error.strerror}); write one") from error
    return str(found[0][4][0])


def why_not(host: RemoteHost) -> str:
    """Return why a host cannot be used; empty if it can."""
    key = f"{KEY}.{host.name}"
    try:
        _check_files(host.name, host.spec)
    except BadInput as error:
        return f"{error}; correct it"
    try:
        seen = host.run(["id", "-u"], check=False)
    except HostError as error:
        told = str(error)
        return next(
            (f"{key}: {why}; {remedy}" for sign, why, remedy in _REFUSED if sign in told),
            f"{key}: {told}; check its address, port and network",
        )
    if seen.status != 0 and "sudo" in seen.err:
        return f"{key}: sudo: {seen.err.strip().removeprefix('sudo: ')}; allow it without a password (NOPASSWD)"
    if seen.out.strip() != "0":
        return f"{key}: the user is not root; leave out become: none"
    return ""


def lacking(host: RemoteHost, tools: Collection[str]) -> list[str]:
    """Return the programs that a host does not have."""
    return run_script(host, _MISSING, *sorted(tools)).split()


def run_script(host: RemoteHost, script: str, *arguments: str) -> str:
    """Run a script of bash with positional parameters; return its output."""
    return bash(host, script, *arguments, timeout_s=_SCRIPT_S).out
