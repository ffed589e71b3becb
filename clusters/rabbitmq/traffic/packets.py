"""The TCP segments of some hosts of the lab, as they pass its bridge on this machine.

Sources: packet(7), socket(7), and Documentation/networking/filter.rst of Linux for the filter.
"""

from __future__ import annotations

import ctypes
import select
import socket
import struct
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from chaoskit.contract.systems.service import ServiceError

_ETH_P_IP = 0x0800
_SO_ATTACH_FILTER, _SO_RCVBUFFORCE, _SO_TIMESTAMPNS = 26, 33, 35
_SOL_PACKET, _PACKET_ADD_MEMBERSHIP, _PACKET_STATISTICS, _PROMISCUOUS = 263, 1, 6, 1
_BUFFER_BYTES = 64 << 20
_PACKET_BYTES = 1 << 17
_PACKETS_MAX = 5000

_IP, _TCP = 14, struct.Struct(">HHIIBB")
_TIMESPEC = struct.Struct("qq")
_LOAD_HALF, _LOAD_BYTE, _LOAD_WORD, _JUMP_IF_EQUAL, _RETURN = 0x28, 0x30, 0x20, 0x15, 0x06

FIN, SYN, RST, ACK = 0x01, 0x02, 0x04, 0x10


class Segment(NamedTuple):
    """A TCP segment.

    Attributes:
        source, target: address and port of either end.
        seq, ack: its numbers; `ack` counts if the flag `ACK` is set.
        flags: see `FIN` and the following.
        content: what it carries.
        at_ns: when it passed, CLOCK_MONOTONIC.
    """

    source: tuple[str, int]
    target: tuple[str, int]
    seq: int
    ack: int
    flags: int
    content: bytes
    at_ns: int


class Packets:
    """Reads the segments that some hosts send and receive.

    Args:
        hosts: their addresses (IPv4).

    Raises:
        ServiceError: their packets cannot be read from here.
    """

    def __init__(self, hosts: Sequence[str]) -> None:
        device = _bridge_of(hosts[0])
        try:
            self._socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
            self._socket.setsockopt(socket.SOL_SOCKET, _SO_RCVBUFFORCE, _BUFFER_BYTES)
            self._socket.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPNS, 1)
            _attach(self._socket, hosts)
            self._socket.bind((device, _ETH_P_IP))
            # A bridge passes on to nobody what is for others, unless somebody asks for everything.
            request = struct.pack("iHH8x", socket.if_nametoindex(device), _PROMISCUOUS, 0)
            self._socket.setsockopt(_SOL_PACKET, _PACKET_ADD_MEMBERSHIP, request)
        except OSError as error:
            raise ServiceError(f"the packets of the application cannot be read: {error}; run as root") from error
        self._socket.setblocking(False)

    def read(self, timeout_s: float) -> list[Segment]:
        """Return the segments that passed since the last call; wait for the first one."""
        if not select.select([self._socket], [], [], timeout_s)[0]:
            return []
        segments: list[Segment] = []
        ahead_ns = time.time_ns() - time.monotonic_ns()
        for _ in range(_PACKETS_MAX):
            try:
                packet, extra, _, _ = self._socket.recvmsg(_PACKET_BYTES, 64)
            except BlockingIOError:
                break
            seconds, nanoseconds = _TIMESPEC.unpack_from(extra[0][2])
            segment = segment_of(packet, seconds * 1_000_000_000 + nanoseconds - ahead_ns)
            segments += [] if segment is None else [segment]
        return segments

    def dropped(self) -> int:
        """Return how many packets were not read in time since the last call."""
        _, drops = struct.unpack("II", self._socket.getsockopt(_SOL_PACKET, _PACKET_STATISTICS, 8))
        return int(drops)

    def close(self) -> None:
        """Read no more."""
        self._socket.close()


def segment_of(packet: bytes, at_ns: int) -> Segment | None:
    """Return the segment in an Ethernet frame with IPv4; None if there is none."""
    if len(packet) < _IP + 40 or packet[_IP + 9] != socket.IPPROTO_TCP:
        return None
    begin = _IP + (packet[_IP] & 0x0F) * 4
    end = _IP + int.from_bytes(packet[_IP + 2 : _IP + 4], "big")
    source_port, target_port, seq, ack, offset, flags = _TCP.unpack_from(packet, begin)
    source = socket.inet_ntoa(packet[_IP + 12 : _IP + 16]), source_port
    target = socket.inet_ntoa(packet[_IP + 16 : _IP + 20]), target_port
    return Segment(source, target, seq, ack, flags, packet[begin + (offset >> 4) * 4 : end], at_ns)


def _bridge_of(address: str) -> str:
    """Return the bridge behind which an address is.

    Raises:
        ServiceError: it is behind none of this machine.
    """
    done = subprocess.run(["ip", "-o", "route", "get", address], capture_output=True, text=True, check=False)
    words = done.stdout.split()
    device = words[words.index("dev") + 1] if "dev" in words else ""
    if not device or not Path(f"/sys/class/net/{device}/bridge").exists():
        raise ServiceError(f"{address} is on no lab of this machine: what the application does cannot be read")
    return device


def _attach(reader: socket.socket, hosts: Sequence[str]) -> None:
    """Have the kernel pass on only what these hosts send or receive by IPv4 and TCP."""
    reject = 6 + 2 * len(hosts)
    program = [(_LOAD_HALF, 0, 0, 12), (_JUMP_IF_EQUAL, 0, reject - 2, _ETH_P_IP)]
    program += [(_LOAD_BYTE, 0, 0, _IP + 9), (_JUMP_IF_EQUAL, 0, reject - 4, socket.IPPROTO_TCP)]
    for at in (_IP + 12, _IP + 16):
        program.append((_LOAD_WORD, 0, 0, at))
        for host in hosts:
            program.append((_JUMP_IF_EQUAL, reject - len(program), 0, int.from_bytes(socket.inet_aton(host), "big")))
    program += [(_RETURN, 0, 0, 0), (_RETURN, 0, 0, _PACKET_BYTES)]
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in program))
    reader.setsockopt(
        socket.SOL_SOCKET, _SO_ATTACH_FILTER, struct.pack("HxxxxxxP", len(program), ctypes.addressof(code))
    )
