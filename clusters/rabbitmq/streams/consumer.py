"""Readers of streams, and the reader of the final read. A position is an offset."""

from __future__ import annotations

import asyncio
import random
from abc import abstractmethod
from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any

from rstream import OffsetType, schema
from rstream.client import Client
from rstream.schema import Broker

from chaoskit.contract.clients.client import Membership, PositionLost, Reached, Unreachable
from chaoskit.model.message import Delivery
from chaoskit.model.outcome import FAIL, Outcome
from chaoskit.model.place import Place
from clusters.rabbitmq.connection import Addresses
from clusters.rabbitmq.streams.link import Link
from clusters.rabbitmq.streams.loop import Loop
from clusters.rabbitmq.streams.messages import decoded
from clusters.rabbitmq.streams.names import place_of, stream_name

_SUBSCRIPTION = 1
"""Number of the subscription on its connection."""

_CREDIT = 10
"""Chunks that a node may send ahead; rstream's own default."""


class StreamConsumer:
    """See `chaoskit.contract.clients.client.Consumer`.

    Args:
        addresses: addresses of the nodes.
        settings: rstream's parameters of a connection.
    """

    def __init__(self, addresses: list[str], settings: Mapping[str, Any]) -> None:
        self._addresses = addresses
        self._settings = settings
        self._loop = Loop()
        self._links: dict[Place, ReaderLink] = {}
        self._paused = False

    def assign(self, partitions: Sequence[Place]) -> None:
        self._links = {
            place: ReaderLink(Addresses(self._addresses, index), stream_name(*place), self._settings)
            for index, place in enumerate(partitions)
        }

    def subscribe(self, topics: Sequence[str], membership: Membership) -> None:
        raise TypeError("a reader of partitions is no member of a group")

    def reached(self) -> Reached:
        return []

    def commit(self, reached: Reached) -> tuple[Outcome, str | None]:
        return FAIL, "no group"

    def poll(self, timeout_s: float, messages_max: int) -> tuple[list[Delivery], list[PositionLost], str | None]:
        self._loop.run(timeout_s, self._arrived, self._keep)
        deliveries: list[Delivery] = []
        for link in () if self._paused else self._links.values():
            deliveries += link.take(messages_max - len(deliveries))
        errors = [link.told() for link in self._links.values()]
        return deliveries, [], next((error for error in errors if error), None)

    def seek_to_beginning(self, topic: str, partition: int) -> None:
        self._links[topic, partition].next = 0

    def hold(self, *, paused: bool) -> None:
        self._paused = paused

    def close(self) -> None:
        self._loop.end(link.end() for link in self._links.values())

    def _arrived(self) -> bool:
        return not self._paused and any(link.chunks for link in self._links.values())

    def _keep(self) -> None:
        for link in self._links.values():
            link.keep()


class StreamAuditor(StreamConsumer):
    """See `chaoskit.contract.clients.client.Auditor`."""

    def bounds(self, topic: str, partition: int, timeout_s: float) -> tuple[int, int]:
        first = self._chunk(topic, partition, OffsetType.FIRST, timeout_s)
        last = self._chunk(topic, partition, OffsetType.LAST, timeout_s)
        return first.chunk_first_offset, last.chunk_first_offset + last.num_records

    def position(self, topic: str, partition: int) -> int:
        return self._links[topic, partition].next

    def _chunk(self, topic: str, partition: int, where: OffsetType, timeout_s: float) -> schema.Deliver:
        """Return the first or last chunk of a stream, according to its leader.

        A stream without one says nothing, as one that is late: nobody can tell its bounds.
        """
        link = _ChunkLink(Addresses(self._addresses, 0), stream_name(topic, partition), self._settings, where)
        self._loop.run(timeout_s, lambda: link.chunk is not None, link.keep)
        why = "delivers nothing" if link.client is not None else link.error
        self._loop.run(0, lambda: True, lambda: link.drop(""))
        if link.chunk is None:
            raise Unreachable(f"stream {link.stream}: {why}")
        return link.chunk


class _Subscription(Link):
    """A subscription to one stream.

    Args:
        addresses, stream, settings: see `Link`.
        credit: number of chunks that the node may send at first.
    """

    def __init__(self, addresses: Addresses, stream: str, settings: Mapping[str, Any], credit: int) -> None:
        super().__init__(addresses, stream, settings)
        self._credit = credit

    @abstractmethod
    def begin(self) -> schema.OffsetSpec:
        """Return where a new connection begins."""

    @abstractmethod
    def arrived(self, chunk: schema.Deliver) -> None:
        """Take a chunk."""

    def properties(self) -> dict[str, Any]:
        """Return the properties of the subscription."""
        return {}

    async def attach(self, client: Client) -> None:
        def deliver(chunk: schema.Deliver) -> None:
            if client is self.latest:
                self.heard()
                self.arrived(chunk)

        await client.run_queue_listener_task(_SUBSCRIPTION, deliver)
        client.add_handler(schema.Deliver, deliver, str(_SUBSCRIPTION))
        await client.subscribe(self.stream, _SUBSCRIPTION, self.begin(), self._credit, self.properties())


class ReaderLink(_Subscription):
    """Reads one stream in order, across all its connections.

    Attributes:
        next: the next position to read.
        chunks: what has arrived: position of the first message, and messages.
    """

    def __init__(self, addresses: Addresses, stream: str, settings: Mapping[str, Any]) -> None:
        super().__init__(addresses, stream, settings, _CREDIT)
        self.next = 0
        self.chunks: deque[tuple[int, list[bytes]]] = deque()
        self._owed = 0
        self._why_lost = ""

    def take(self, messages_max: int) -> list[Delivery]:
        """Return the messages that have arrived, in order."""
        place = place_of(self.stream)
        taken: list[Delivery] = []
        while self.chunks and len(taken) < messages_max:
            position, messages = self.chunks.popleft()
            self.give_back(1)
            for offset, data in enumerate(messages, position):
                if offset >= self.next:
                    taken.append(Delivery(*place, *decoded(data), offset, None))
            self.next = max(self.next, position + len(messages))
        return taken

    def give_back(self, chunks: int) -> None:
        """Let the node send so many chunks more."""
        self._owed += chunks

    def told(self) -> str:
        """Return why the connection was lost, once."""
        why, self._why_lost = self._why_lost, ""
        return why

    def keep(self) -> None:
        super().keep()
        if self._owed and self.client is not None:
            asyncio.get_running_loop().create_task(self.client.credit(_SUBSCRIPTION, self._owed))
            self._owed = 0

    def chosen(self, leader: Broker, replicas: list[Broker]) -> Broker:
        return random.choice(replicas) if replicas else leader  # noqa: S311 - as rstream's own consumer

    def begin(self) -> schema.OffsetSpec:
        return schema.OffsetSpec.from_params(OffsetType.OFFSET, self.next)

    def arrived(self, chunk: schema.Deliver) -> None:
        self.chunks.append((chunk.chunk_first_offset, chunk.get_messages()))

    def lost(self, why: str) -> None:
        self.chunks.clear()
        self._owed = 0
        self._why_lost = why


class _ChunkLink(_Subscription):
    """Asks a stream's leader for one chunk.

    Attributes:
        chunk: the answer, once there is one.
    """

    def __init__(self, addresses: Addresses, stream: str, settings: Mapping[str, Any], where: OffsetType) -> None:
        super().__init__(addresses, stream, settings, credit=1)
        self.chunk: schema.Deliver | None = None
        self._where = where

    def chosen(self, leader: Broker, replicas: list[Broker]) -> Broker:
        return leader

    def begin(self) -> schema.OffsetSpec:
        return schema.OffsetSpec.from_params(self._where, None)

    def arrived(self, chunk: schema.Deliver) -> None:
        self.chunk = self.chunk or chunk

    def lost(self, why: str) -> None:
        """Another connection asks again."""
