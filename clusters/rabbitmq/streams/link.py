"""A connection to the node that a client of one stream needs, made again whenever it is lost.

rstream's own producer and consumer connect again by themselves, and then nobody knows which sends were lost with the
old connection. So its `Client`, one connection, is used directly, and each loss of it is seen.
"""

from __future__ import annotations

import asyncio
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from rstream import schema
from rstream.client import Client
from rstream.schema import Broker

from chaoskit.contract.workloads.workload import PRODUCER
from clusters.rabbitmq.connection import AGAIN_S, Addresses, check_each
from clusters.rabbitmq.settings import PASSWORD, STREAM_PORT, USER
from clusters.rabbitmq.streams.names import NAMED

DEFAULTS: dict[str, Any] = {"heartbeat": 4, "frame_max": 1 << 20}
"""rstream's parameters of a connection: interval of heartbeats in s, size of a frame in bytes."""


def check_settings(role: str, settings: Mapping[str, Any]) -> None:
    """Reject settings of streams' clients that rstream does not have.

    Raises:
        BadInput: names each.
    """
    known = {**DEFAULTS, NAMED: True} if role == PRODUCER else DEFAULTS
    check_each(role, settings, known, "rstream", _wrong)


def _wrong(name: str, value: Any) -> str:
    if name == NAMED:
        return "" if type(value) is bool else f"{value!r} is not true or false"
    return "" if type(value) is int and value >= 1 else f"{value!r} is not a number of at least 1"


_CONNECT_S = 4
_CLOSE_S = 1
_SILENT_HEARTBEATS = 2.5
"""A node that is silent for so many intervals is gone; rstream itself only writes a warning."""


class Link(ABC):
    """The connection for one stream.

    Args:
        addresses: the nodes.
        stream: name of the stream.
        settings: parameters of the connection, as in `DEFAULTS`.

    Attributes:
        client: the connection, once it can be used; None while there is none.
        latest: the same, already while it is being prepared: what others still deliver is too late.
        error: why there is none.
    """

    def __init__(self, addresses: Addresses, stream: str, settings: Mapping[str, Any]) -> None:
        self.client: Client | None = None
        self.latest: Client | None = None
        self.error = "not connected"
        self.stream = stream
        self._addresses = addresses
        self._settings = {**DEFAULTS, **settings}
        self._task: asyncio.Task[None] | None = None
        self._again_at = 0.0
        self._heard_at = 0.0

    @abstractmethod
    def chosen(self, leader: Broker, replicas: list[Broker]) -> Broker:
        """Return the node to connect to."""

    @abstractmethod
    async def attach(self, client: Client) -> None:
        """Begin to use a new connection."""

    @abstractmethod
    def lost(self, why: str) -> None:
        """Take note that the connection was lost."""

    def keep(self) -> None:
        """Notice that the connection is lost, or connect, in the background of the running loop."""
        now = time.monotonic()
        if self.client is not None:
            silent_s = _SILENT_HEARTBEATS * self._settings["heartbeat"]
            if not self.client.is_connection_alive():
                self.drop("ConnectionClosed")
            elif now - self._heard_at > silent_s:
                self.drop("HeartbeatTimeout")
        elif self._task is None and now >= self._again_at:
            self._again_at = now + AGAIN_S
            self._task = asyncio.get_running_loop().create_task(self._connect())

    def heard(self, _: object = None) -> None:
        """Note that the node is there."""
        self._heard_at = time.monotonic()

    def drop(self, why: str) -> None:
        """Give the connection up."""
        client, self.client, self.latest, self.error = self.client, None, None, why
        if client is not None:
            asyncio.get_running_loop().create_task(_closed(client))
            self.lost(why)

    async def end(self) -> None:
        """Disconnect."""
        if self._task is not None:
            self._task.cancel()
        if self.client is not None:
            await _closed(self.client)

    async def _connect(self) -> None:
        try:
            async with asyncio.timeout(_CONNECT_S):
                client = await self._open()
            if client is self.latest:
                self.client = client
            else:  # the leader moved meanwhile
                await _closed(client)
        except Exception as error:  # noqa: BLE001 - rstream raises assertions and KeyError, too
            self.error = type(error).__name__
            self.latest = None
        finally:
            self._task = None

    async def _open(self) -> Client:
        client = await self._reach(self._addresses.next())
        try:
            broker = self.chosen(*await client.query_leader_and_replicas(self.stream))
            if broker.host != client.host:
                await _closed(client)
                client = await self._reach(broker.host)
            self.heard()
            client.add_stream(self.stream)
            client.add_handler(schema.Heartbeat, self.heard, "link")
            client.add_handler(schema.MetadataUpdate, self._moved, "link")
            self.latest = client
            await self.attach(client)
        except BaseException:
            asyncio.get_running_loop().create_task(_closed(client))
            raise
        return client

    async def _reach(self, address: str) -> Client:
        options = {name: self._settings[name] for name in DEFAULTS}
        client = Client(
            address, STREAM_PORT, connection_name="chaoskit", connection_closed_handler=lambda _: None, **options
        )
        await client.start()
        try:
            await client.authenticate("/", USER, PASSWORD)
        except BaseException:
            asyncio.get_running_loop().create_task(_closed(client))
            raise
        return client

    def _moved(self, frame: schema.MetadataUpdate) -> None:
        """The stream has another leader, or was deleted."""
        if frame.metadata_info.stream == self.stream:
            self.drop("MetadataUpdate")


async def _closed(client: Client) -> None:
    connection = client._conn  # rstream leaves the socket of a connection open that it found broken
    with suppress(Exception):
        async with asyncio.timeout(_CLOSE_S):
            await client.close()
    if connection is not None and connection._writer is not None:
        connection._writer.close()
