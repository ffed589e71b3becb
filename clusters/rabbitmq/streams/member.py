"""Members of groups that read a super stream: of each partition one of them is active, and the others wait.

A node tells a member that it is active, or not any more, and waits for its answer: where to go on. The group's offsets
are stored in the streams themselves (RabbitMQ documentation, Streams, Single Active Consumer). No node confirms that it
stored an offset, so no commit is `ok`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rstream import OffsetType, schema
from rstream.client import Client
from rstream.exceptions import OffsetNotFound
from rstream.schema import Broker, OffsetSpecification

from chaoskit.contract.clients.client import Membership, PositionLost, Reached, Unreachable
from chaoskit.model.message import Delivery
from chaoskit.model.outcome import INFO, Outcome
from chaoskit.model.place import Place
from clusters.rabbitmq.connection import Addresses
from clusters.rabbitmq.streams.consumer import ReaderLink, StreamConsumer
from clusters.rabbitmq.streams.link import Link
from clusters.rabbitmq.streams.names import place_of, stream_name

NO_RECEIPT = "NoReceipt"
"""Why no commit is `ok`: offsets are sent off, and no node confirms them."""

_PARTITIONS_S = 10
_ANSWER_S = 4


class StreamMember(StreamConsumer):
    """See `chaoskit.contract.clients.client.Consumer`.

    Args:
        addresses: addresses of the nodes.
        settings: rstream's parameters of a connection.
        group: name of the group.
    """

    def __init__(self, addresses: list[str], settings: Mapping[str, Any], group: str) -> None:
        super().__init__(addresses, settings)
        self._group = group
        self._members: dict[Place, _MemberLink] = {}
        self._membership: Membership | None = None

    def subscribe(self, topics: Sequence[str], membership: Membership) -> None:
        self._membership = membership
        for topic in topics:
            for stream in self._partitions(topic):
                addresses = Addresses(self._addresses, len(self._members))
                self._members[place_of(stream)] = _MemberLink(addresses, stream, self._settings, self._group, topic)
        self._links = dict(self._members)

    def reached(self) -> Reached:
        return [
            (*place, link.next) for place, link in self._members.items() if link.active and link.next > link.committed
        ]

    def commit(self, reached: Reached) -> tuple[Outcome, str | None]:
        error = NO_RECEIPT
        for topic, partition, position in reached:
            link = self._members[topic, partition]
            if link.client is None:
                error = link.error
                continue
            link.committed = position
            self._loop.call(link.client.store_offset(link.stream, self._group, position - 1), _ANSWER_S)
        return INFO, error

    def poll(self, timeout_s: float, messages_max: int) -> tuple[list[Delivery], list[PositionLost], str | None]:
        polled = super().poll(timeout_s, messages_max)
        for link in self._members.values():
            self._follow(link)
        return polled

    def _follow(self, link: _MemberLink) -> None:
        """Do what a node has told a member of one partition, or what follows from the loss of its connection."""
        if link.left:
            link.left = False
            self._revoked()
            self._assigned()
        for update in link.updates():
            if update.active:
                self._loop.call(link.activate(update), _ANSWER_S)
            else:
                self._revoked()
                self._loop.call(link.deactivate(update), _ANSWER_S)
            self._assigned()

    def _revoked(self) -> None:
        assert self._membership is not None
        self._membership.revoked()

    def _assigned(self) -> None:
        assert self._membership is not None
        owned = [place for place, link in self._members.items() if link.active]
        self._membership.assigned(self._group, None, owned)

    def _partitions(self, topic: str) -> list[str]:
        link = _PartitionsLink(Addresses(self._addresses, 0), stream_name(topic, 0), self._settings, topic)
        self._loop.run(_PARTITIONS_S, lambda: link.client is not None, link.keep)
        why = link.error if link.client is None else ""
        self._loop.run(0, lambda: True, lambda: link.drop(""))
        if why:
            raise Unreachable(f"super stream {topic}: {why}")
        return link.partitions


class _MemberLink(ReaderLink):
    """A member's subscription to one partition.

    Args:
        addresses, stream, settings: see `Link`.
        group: name of the group.
        super_stream: the super stream of which the stream is a partition.

    Attributes:
        active: whether this member is the active one.
        committed: the position that it committed last.
        left: whether it was active on a connection that was lost.
    """

    def __init__(
        self, addresses: Addresses, stream: str, settings: Mapping[str, Any], group: str, super_stream: str
    ) -> None:
        super().__init__(addresses, stream, settings)
        self.active = False
        self.committed = 0
        self.left = False
        self._group = group
        self._super_stream = super_stream
        self._pending: deque[schema.ConsumerUpdateResponse] = deque()

    def properties(self) -> dict[str, Any]:
        return {"single-active-consumer": "true", "name": self._group, "super-stream": self._super_stream}

    def begin(self) -> schema.OffsetSpec:
        return schema.OffsetSpec.from_params(OffsetType.FIRST, None)

    async def attach(self, client: Client) -> None:
        def update(frame: schema.ConsumerUpdateResponse) -> None:
            if client is self.latest:
                self.heard()
                self._pending.append(frame)

        client.add_handler(schema.ConsumerUpdateResponse, update, "member")
        await super().attach(client)

    def arrived(self, chunk: schema.Deliver) -> None:
        if self.active:
            super().arrived(chunk)
        else:  # of before it was told to wait
            self.give_back(1)

    def lost(self, why: str) -> None:
        super().lost(why)
        self._pending.clear()
        self.active, self.left = False, self.active or self.left

    def updates(self) -> Iterator[schema.ConsumerUpdateResponse]:
        """Yield what the node has told, once."""
        while self._pending:
            yield self._pending.popleft()

    async def activate(self, update: schema.ConsumerUpdateResponse) -> None:
        """Go on where the group is: behind the offset that it stored, or at the first message."""
        client = self.client
        if client is None:
            return
        try:
            self.next = await client.query_offset(self.stream, self._group) + 1
        except OffsetNotFound:
            self.next = 0
        except BaseException:  # the node waits for an answer, and gives the partition to nobody else
            self.drop("NoStoredOffset")
            raise
        self.committed, self.active = self.next, True
        await client.consumer_update(update.correlation_id, OffsetSpecification(OffsetType.OFFSET, self.next))

    async def deactivate(self, update: schema.ConsumerUpdateResponse) -> None:
        """Wait until the node says that it is this member's turn again."""
        self.active = False
        self.give_back(len(self.chunks))
        self.chunks.clear()
        if self.client is not None:
            await self.client.consumer_update(update.correlation_id, OffsetSpecification(OffsetType.NEXT, 0))


class _PartitionsLink(Link):
    """Asks a node for the streams of a super stream.

    Attributes:
        partitions: the answer, in order, once there is a connection.
    """

    def __init__(self, addresses: Addresses, stream: str, settings: Mapping[str, Any], super_stream: str) -> None:
        super().__init__(addresses, stream, settings)
        self.partitions: list[str] = []
        self._super_stream = super_stream

    def chosen(self, leader: Broker, replicas: list[Broker]) -> Broker:
        return leader

    async def attach(self, client: Client) -> None:
        self.partitions = await client.partitions(self._super_stream)

    def lost(self, why: str) -> None:
        """Another connection asks again."""
