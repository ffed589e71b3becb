"""Handles the packets that the kernel passes to user space (NFQUEUE); a stand-alone program that runs on the host.

It needs only `netfilterqueue`. Argument: JSON with `queue` (number), `seed` and the actions: `delay` and `jitter` (ns;
order is kept), `reorder` (percent, held back by `by` ns), `duplicate` (percent), `corrupt` (percent), `rate` (bytes per
second; packets are queued, and dropped if more than `_BACKLOG` are waiting).
"""

from __future__ import annotations

import heapq
import json
import random
import select
import signal
import socket
import sys
import time
from typing import Any

_BACKLOG = 1000
_KERNEL_QUEUE = 8192
_NS = 10**9
_IPV6_HDRINCL = 36


class PacketQueue:
    """The waiting packets, soonest first."""

    def __init__(self, what: dict[str, Any]) -> None:
        self._what = what
        self._draw = random.Random(what["seed"])  # noqa: S311  # a repeatable draw, no secret
        self._waiting: list[tuple[int, int, Any]] = []
        self._count = 0
        self._last_due = 0
        self._raw = {4: socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW)}
        if socket.has_ipv6:
            self._raw[6] = socket.socket(socket.AF_INET6, socket.SOCK_RAW, socket.IPPROTO_RAW)
            self._raw[6].setsockopt(socket.IPPROTO_IPV6, _IPV6_HDRINCL, 1)

    def take(self, packet: Any) -> None:
        """Handle one packet from the kernel."""
        now = time.monotonic_ns()
        due = self._due(now, packet.get_payload_len())
        if due is None:
            packet.drop()
            return
        if self._drawn("duplicate"):
            self._send_again(packet.get_payload())
        if self._drawn("corrupt"):
            packet.set_payload(self._corrupted(packet.get_payload()))
        if due <= now:
            packet.accept()
            return
        packet.retain()
        self._count += 1
        heapq.heappush(self._waiting, (due, self._count, packet))

    def let_go(self, until: int) -> float | None:
        """Accept packets that are due; return the time until the next one, in ms."""
        while self._waiting and self._waiting[0][0] <= until:
            heapq.heappop(self._waiting)[2].accept()
        return max(0.0, (self._waiting[0][0] - time.monotonic_ns()) / 1e6) if self._waiting else None

    def _drawn(self, key: str) -> bool:
        return bool(self._what.get(key)) and self._draw.random() * 100 < self._what[key]

    def _due(self, now: int, size: int) -> int | None:
        if "rate" in self._what:
            if len(self._waiting) >= _BACKLOG:
                return None
            self._last_due = max(now, self._last_due) + size * _NS // self._what["rate"]
        elif "delay" in self._what:
            jitter = self._what["jitter"]
            drawn = now + self._what["delay"] + self._draw.randint(-jitter, jitter)
            self._last_due = max(drawn, self._last_due)
        else:
            return now + self._what["by"] if self._drawn("reorder") else now
        return self._last_due

    def _send_again(self, packet: bytes) -> None:
        """Deliver a copy to this host through loopback, which the queue's rules do not affect."""
        version = packet[0] >> 4
        family, address = (socket.AF_INET, packet[16:20]) if version == 4 else (socket.AF_INET6, packet[24:40])
        self._raw[version].sendto(packet, (socket.inet_ntop(family, address), 0))

    def _corrupted(self, packet: bytes) -> bytes:
        """Flip one bit after the IP header, so that the checksum of TCP, UDP or ICMP is wrong."""
        header = (packet[0] & 15) * 4 if packet[0] >> 4 == 4 else 40
        changed = bytearray(packet)
        changed[self._draw.randrange(header, len(packet))] ^= 1 << self._draw.randrange(8)
        return bytes(changed)


def main(argument: str) -> None:
    """Serve the queue until SIGTERM; then release all waiting packets."""
    from netfilterqueue import NetfilterQueue  # noqa: PLC0415  # absent where this file is only read

    what = json.loads(argument)
    packets = PacketQueue(what)
    queue = NetfilterQueue()
    queue.bind(what["queue"], packets.take, max_len=_KERNEL_QUEUE)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    poll = select.poll()
    poll.register(queue.get_fd(), select.POLLIN)
    try:
        while True:
            if poll.poll(packets.let_go(time.monotonic_ns())):
                queue.run(block=False)
    finally:
        packets.let_go(sys.maxsize)


if __name__ == "__main__":
    main(sys.argv[1])
