"""Datagrams: a line of JSON, and behind it the payload. Calls go to all by multicast, everything else to one peer."""

from __future__ import annotations

import fcntl
import json
import select
import socket
import struct
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

SIZE_MAX = 60_000
_GROUP, _PORT = "239.255.77.77", 7300
_BUFFER = 4 * 2**20
_SIOCGIFADDR = 0x8915
"""Asks for the address of an interface: netdevice(7)."""

Address = tuple[str, int]
Received = tuple[dict[str, Any], bytes, Address]


class Datagrams:
    """The sockets of one peer.

    Args:
        mesh: name of the mesh; those of others are not heard.
        hears_calls: whether it receives what others call to all.
    """

    def __init__(self, mesh: str, *, hears_calls: bool = False) -> None:
        self._mesh = mesh
        self._socket = _bound("", 0)
        self._sockets = [self._socket]
        if hears_calls:
            self._sockets.append(_bound(_GROUP, _PORT))
            for way in _ways():
                joined = socket.inet_aton(_GROUP) + way
                self._sockets[-1].setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, joined)

    def send(self, to: Address, payload: bytes = b"", /, **head: Any) -> None:
        """Send to a peer, and never mind whether it is there."""
        with suppress(OSError):
            self._socket.sendto(json.dumps({"mesh": self._mesh, **head}).encode() + b"\n" + payload, to)

    def call(self, **head: Any) -> None:
        """Send to all."""
        for way in _ways():
            with suppress(OSError):  # an interface may go
                self._socket.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, way)
                self.send((_GROUP, _PORT), **head)

    def receive(self, timeout_s: float) -> Iterator[Received]:
        """Wait for datagrams, and yield what is there."""
        for readable in select.select(self._sockets, (), (), max(0.0, timeout_s))[0]:
            with suppress(BlockingIOError):
                while True:
                    content, address = readable.recvfrom(2**16)
                    line, _, payload = content.partition(b"\n")
                    head = json.loads(line)
                    if head["mesh"] == self._mesh:
                        yield head, payload, address

    def close(self) -> None:
        for listening in self._sockets:
            listening.close()


def _bound(address: str, port: int) -> socket.socket:
    made = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    made.setblocking(False)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _BUFFER)
    made.bind((address, port))
    return made


def _ways() -> list[bytes]:
    """Return the addresses of this machine's interfaces, of those that have one."""
    ways = []
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
        for _, name in socket.if_nameindex():
            with suppress(OSError):
                ways.append(fcntl.ioctl(asking, _SIOCGIFADDR, struct.pack("256s", name.encode()))[20:24])
    return ways
