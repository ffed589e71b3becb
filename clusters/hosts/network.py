"""The cables of local hosts: each lab has a bridge and an address range, each host a veth pair."""

from __future__ import annotations

import fcntl
import ipaddress
import json
import socket
import struct
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from chaoskit.base.errors import BadInput
from chaoskit.contract.hosts.host import HostError

_LOCK = Path("/run/chaoskit-labs.lock")

_GET_FLAGS, _SET_FLAGS, _UP = 0x8913, 0x8914, 1
"""SIOCGIFFLAGS, SIOCSIFFLAGS and IFF_UP of netdevice(7)."""

PREFIX_LENGTH = 24
PREFIX_LENGTH6 = 64
_RANGES = list(ipaddress.IPv4Network("10.197.0.0/16").subnets(new_prefix=PREFIX_LENGTH))


_UNIQUE_LOCAL = int(ipaddress.IPv6Address("fd63:6861:6f73::"))
"""A /48 of unique local addresses (RFC 4193) for all labs; the labs' IPv4 ranges make addresses unique."""


def address6(address: str) -> str:
    """Return the IPv6 address that corresponds to a local IPv4 address; empty if IPv6 is disabled on this machine.

    Its subnet is the third byte of the IPv4 address, its interface identifier the fourth.
    """
    switch = Path("/proc/sys/net/ipv6/conf/all/disable_ipv6")
    if not switch.exists() or switch.read_text().strip() == "1":
        return ""
    *_, subnet, interface = ipaddress.IPv4Address(address).packed
    return str(ipaddress.IPv6Address(_UNIQUE_LOCAL | subnet << 64 | interface))


def ip(*commands: str, check: bool = True) -> None:
    """Run `ip` commands in one batch.

    Raises:
        HostError: a command failed and `check` is true.
    """
    force = [] if check else ["-force"]
    batch = "\n".join(commands) + "\n"
    done = subprocess.run(["ip", *force, "-batch", "-"], input=batch, text=True, capture_output=True, check=False)
    if check and done.returncode != 0:
        raise HostError(f"ip failed: {done.stderr.strip()}; ran: {'; '.join(commands)}")


def take_down(interface: str) -> None:
    """Take a network interface down at once, without a process that a busy machine starts late.

    Raises:
        HostError: there is none of that name.
    """
    request = struct.pack("16sH14x", interface.encode(), 0)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
        try:
            _, flags = struct.unpack("16sH14x", fcntl.ioctl(asking, _GET_FLAGS, request))
            fcntl.ioctl(asking, _SET_FLAGS, struct.pack("16sH14x", interface.encode(), flags & ~_UP))
        except OSError as error:
            raise HostError(f"interface {interface}: {error.strerror}") from error


def links() -> list[str]:
    """Return the names of this machine's network interfaces."""
    return [link["ifname"] for link in _query("link")]


@contextmanager
def choosing() -> Iterator[None]:
    """Hold the machine-wide lock for choosing a lab's address range, whatever the state folder."""
    with _LOCK.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def free_range(claimed: Sequence[str]) -> ipaddress.IPv4Network:
    """Return a range that does not overlap any interface, route or claim on this machine.

    Raises:
        BadInput: all ranges are in use.
    """
    addresses = [info for link in _query("-4", "address") for info in link.get("addr_info", [])]
    own = [f"{info['local']}/{info['prefixlen']}" for info in addresses]
    routes = [route["dst"] for route in _query("-4", "route") if route["dst"] != "default"]
    taken = [ipaddress.IPv4Network(text, strict=False) for text in (*claimed, *own, *routes)]
    for candidate in _RANGES:
        if not any(candidate.overlaps(network) for network in taken):
            return candidate
    raise BadInput("every address range in 10.197.0.0/16 is in use; run `chaoskit heal` or stop other runs")


def _query(*arguments: str) -> list[dict[str, Any]]:
    done = subprocess.run(["ip", "-json", *arguments], text=True, capture_output=True, check=True)
    rows: list[dict[str, Any]] = json.loads(done.stdout or "[]")
    return rows
