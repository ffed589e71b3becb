"""The publisher of streams, and the classification of its completions.

A confirm means that a majority of the members has the message. A publish error answers a message that was not written.
What was published on a connection that is lost is unknown.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from functools import partial
from typing import Any

from rstream import schema
from rstream.client import Client
from rstream.exceptions import ServerError
from rstream.schema import Broker

from chaoskit.contract.clients.client import Completed, Unreachable
from chaoskit.model.outcome import FAIL, INFO, OK, Outcome
from chaoskit.model.place import Place
from clusters.rabbitmq.connection import Addresses
from clusters.rabbitmq.streams.link import Link
from clusters.rabbitmq.streams.loop import Loop
from clusters.rabbitmq.streams.messages import encoded
from clusters.rabbitmq.streams.names import stream_name

_PUBLISHER = 1
"""Number of the publisher on its connection."""

_BATCH_MAX = 1000
"""Number of messages in one frame."""

_ASK_S = 4


class StreamPublisher:
    """See `chaoskit.contract.clients.client.SequencedProducer`; without a name, it is a plain `Producer`.

    Args:
        addresses: addresses of the nodes.
        settings: rstream's parameters of a connection.
        completed: called once per send.
        name: persistent name, for which the system knows the highest publishing id; empty: none.
    """

    def __init__(self, addresses: list[str], settings: Mapping[str, Any], completed: Completed, name: str = "") -> None:
        self._addresses = addresses
        self._settings = settings
        self._completed = completed
        self._name = name
        self._loop = Loop()
        self._links: dict[Place, _PublisherLink] = {}

    def send(self, topic: str, partition: int, key: bytes | None, payload: bytes, token: int) -> bool:
        link = self._link(topic, partition)
        link.publish(link.last + 1, encoded(key, payload), token)
        return True

    def send_as(  # noqa: PLR0917 - as the protocol
        self, topic: str, partition: int, key: bytes | None, payload: bytes, token: int, sequence: int
    ) -> bool:
        """See `chaoskit.contract.clients.client.SequencedProducer`."""
        self._link(topic, partition).publish(sequence, encoded(key, payload), token)
        return True

    def last_sequence(self, topic: str, partition: int) -> int:
        """See `chaoskit.contract.clients.client.SequencedProducer`."""
        link = self._link(topic, partition)
        self._loop.run(_ASK_S, lambda: link.client is not None, self._keep)
        if link.client is None:
            raise Unreachable(link.error)
        return link.known

    def pending(self) -> int:
        return sum(len(link.unconfirmed) for link in self._links.values())

    def poll(self, timeout_s: float) -> None:
        self._loop.run(timeout_s, lambda: False, self._keep)

    def close(self, timeout_s: float) -> None:
        self._loop.run(timeout_s, lambda: not self.pending(), self._keep)
        self._end("no confirm in time")

    def abandon(self) -> None:
        """See `chaoskit.contract.clients.client.SequencedProducer`."""
        self._end("abandoned")

    def _link(self, topic: str, partition: int) -> _PublisherLink:
        """Return the connection for a partition, after some time to connect if it is the first use."""
        link = self._links.get((topic, partition))
        if link is None:
            addresses = Addresses(self._addresses, len(self._links))
            link = _PublisherLink(addresses, stream_name(topic, partition), self._settings, self._completed, self._name)
            self._links[topic, partition] = link
            self._loop.run(_ASK_S, lambda: link.client is not None, self._keep)
        return link

    def _keep(self) -> None:
        for link in self._links.values():
            link.keep()

    def _end(self, why: str) -> None:
        for link in self._links.values():
            link.lost(why)
        self._loop.end(link.end() for link in self._links.values())


class _PublisherLink(Link):
    """The publisher of one stream.

    Attributes:
        last: the highest publishing id of this client.
        known: the highest one that the system had for the name when the connection was made; 0: none.
        unconfirmed: token of each unconfirmed publishing id.
    """

    def __init__(
        self, addresses: Addresses, stream: str, settings: Mapping[str, Any], completed: Completed, name: str
    ) -> None:
        super().__init__(addresses, stream, settings)
        self.last = 0
        self.known = 0
        self.unconfirmed: dict[int, int] = {}
        self._completed = completed
        self._name = name
        self._waiting: list[schema.Message] = []
        self._writing: asyncio.Task[None] | None = None

    def publish(self, number: int, data: bytes, token: int) -> None:
        """Publish one message, under a publishing id."""
        if self.client is None:
            self._completed(token, FAIL, self.error, None)
            return
        self.last = max(self.last, number)
        self.unconfirmed[number] = token
        self._waiting.append(schema.Message(number, None, data))

    def keep(self) -> None:
        super().keep()
        if self._waiting and self._writing is None and self.client is not None:
            self._writing = asyncio.get_running_loop().create_task(self._write(self.client))

    def chosen(self, leader: Broker, replicas: list[Broker]) -> Broker:
        return leader

    async def attach(self, client: Client) -> None:
        client.add_handler(schema.PublishConfirm, partial(self._confirmed, client), "publisher")
        client.add_handler(schema.PublishError, partial(self._refused, client), "publisher")
        await client.declare_publisher(self.stream, self._name or None, _PUBLISHER)
        if self._name:
            self.known = await client.query_publisher_sequence(self.stream, self._name)
            self.last = max(self.last, self.known)

    def lost(self, why: str) -> None:
        self._waiting = []
        unconfirmed, self.unconfirmed = self.unconfirmed, {}
        for token in unconfirmed.values():
            self._completed(token, INFO, why, None)

    async def _write(self, client: Client) -> None:
        try:
            while self._waiting and client is self.client:
                batch, self._waiting = self._waiting[:_BATCH_MAX], self._waiting[_BATCH_MAX:]
                await client.send_publish_frame(schema.Publish(_PUBLISHER, batch))
        finally:
            self._writing = None

    def _confirmed(self, client: Client, frame: schema.PublishConfirm) -> None:
        if client is not self.latest:
            return
        self.heard()
        for number in frame.publishing_ids:
            self._complete(number, OK, None)

    def _refused(self, client: Client, frame: schema.PublishError) -> None:
        if client is not self.latest:
            return
        self.heard()
        for error in frame.errors:
            self._complete(error.publishing_id, FAIL, ServerError.from_code(error.response_code).__name__)

    def _complete(self, number: int, outcome: Outcome, error: str | None) -> None:
        token = self.unconfirmed.pop(number, None)
        if token is not None:
            self._completed(token, outcome, error, None)
