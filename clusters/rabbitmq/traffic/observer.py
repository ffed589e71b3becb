"""Observes what an application does with queues, by the connections of its hosts with the nodes."""

from __future__ import annotations

from collections.abc import Sequence

from chaoskit.contract.clients.traffic import Passed
from clusters.rabbitmq.traffic.connection import ObservedConnection
from clusters.rabbitmq.traffic.packets import ACK, RST, SYN, Packets, Segment

_Ends = tuple[tuple[str, int], tuple[str, int]]


class RabbitTraffic:
    """See `chaoskit.contract.clients.traffic.TrafficObserver`.

    A settlement has arrived once the node's host has acknowledged its bytes.

    Args:
        hosts: the addresses of the instances' hosts.
        port: on which nodes speak AMQP, without TLS.
    """

    def __init__(self, hosts: Sequence[str], port: int) -> None:
        self.gap: str = ""
        self._hosts = frozenset(hosts)
        self._port = port
        self._packets = Packets(hosts)
        self._connections: dict[_Ends, ObservedConnection] = {}
        self._ended: list[ObservedConnection] = []
        self._reset: set[_Ends] = set()

    def poll(self, timeout_s: float) -> list[Passed]:
        passed: list[Passed] = []
        for segment in self._packets.read(timeout_s):
            passed += self._of(segment)
        passed += [event for connection in self._ended for event in connection.end()]
        self._ended = []
        if self._packets.dropped():
            self.gap = self.gap or "packets of the application passed faster than they could be read"
        return passed

    def consumers(self, queue: str) -> set[str]:
        return {
            ends[0][0]
            for ends, connection in self._connections.items()
            for channel in connection.channels.values()
            if queue in channel.gets or any(queue == consumed for consumed, _ in channel.consumers.values())
        }

    def held(self, queue: str) -> int:
        channels = [channel for connection in self._connections.values() for channel in connection.channels.values()]
        return sum(record.topic == queue for channel in channels for record in channel.held.values())

    def end(self) -> list[Passed]:
        return [event for connection in self._connections.values() for event in connection.end()]

    def close(self) -> None:
        self._packets.close()

    def _of(self, segment: Segment) -> list[Passed]:
        if segment.target[1] == self._port and segment.source[0] in self._hosts:
            ends = segment.source, segment.target
        elif segment.source[1] == self._port and segment.target[0] in self._hosts:
            ends = segment.target, segment.source
        else:
            return []
        if segment.flags & SYN and not segment.flags & ACK:
            self._ended += [self._connections[ends]] if ends in self._connections else []
            self._connections[ends] = ObservedConnection(ends[0][0], segment)
        connection = self._connections.get(ends)
        if connection is None:
            if segment.content and ends not in self._reset:
                self.gap = self.gap or f"a connection of {ends[0][0]} did not begin while it was observed"
            return []
        passed = connection.add(segment)
        if connection.unreadable:
            self.gap = self.gap or f"a connection of {ends[0][0]} could not be read: {connection.unreadable}"
        if segment.flags & RST:
            del self._connections[ends]
            self._reset.add(ends)
        return passed
