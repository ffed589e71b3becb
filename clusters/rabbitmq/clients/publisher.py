"""RabbitMQ's publisher (pika's SelectConnection), and the classification of its completions.

A confirm (`basic.ack`) means that every queue took the message; one that was returned before its confirm is in no
queue. A negative one means that a queue failed, which says nothing about what it kept. What was published on a
connection that is lost is unknown, and the publisher's to know: pika forgets it.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Mapping
from typing import Any

import pika
from pika.adapters.select_connection import IOLoop
from pika.channel import Channel
from pika.exceptions import AMQPError
from pika.frame import Method

from chaoskit.contract.clients.client import Completed
from chaoskit.contract.clients.queue import Publishing
from chaoskit.model.outcome import FAIL, INFO, NOT_CONNECTED, OK, Outcome
from clusters.rabbitmq.connection import AGAIN_S, Addresses
from clusters.rabbitmq.routing import Route

_TRANSIENT, _PERSISTENT = 1, 2
_UNROUTABLE = "unroutable"
_CONNECT_S = 2.0
"""Time that a new publisher takes to connect at most; after that it goes on trying while it is polled."""

_STEP_S = 0.02
_TOKEN = "token"  # noqa: S105  # a header


class RabbitPublisher:
    """See `chaoskit.contract.clients.client.Producer`.

    Args:
        settings: pika's parameters of the connection.
        addresses: the nodes.
        completed: called once per send.
        publishing: how to publish.
        routes: how messages get to each queue; to others through the default exchange.
    """

    def __init__(
        self,
        settings: Mapping[str, Any],
        addresses: Addresses,
        completed: Completed,
        publishing: Publishing,
        routes: Mapping[str, Route],
    ) -> None:
        self._settings = settings
        self._addresses = addresses
        self._completed = completed
        self._confirms = publishing.confirms
        self._mandatory = publishing.mandatory
        self._common: dict[str, Any] = {"delivery_mode": _PERSISTENT if publishing.persistent else _TRANSIENT}
        if publishing.ttl_ms is not None:
            self._common["expiration"] = str(publishing.ttl_ms)
        self._routes = routes
        self._loop = IOLoop()
        self._channel: Channel | None = None
        self._published = 0
        self._open: deque[tuple[int, int]] = deque()
        self._returned: set[int] = set()
        self._closing = False
        self._connection: pika.SelectConnection | None = None
        self._connect()
        deadline = time.monotonic() + _CONNECT_S
        while self._channel is None and time.monotonic() < deadline:
            self.poll(_STEP_S)

    def send(self, topic: str, partition: int, key: bytes | None, payload: bytes, token: int) -> bool:
        return self.publish(topic, payload, token, None)

    def publish(self, topic: str, payload: bytes, token: int, priority: int | None) -> bool:
        """See `chaoskit.contract.clients.client.Publisher`."""
        if self._channel is None or not self._channel.is_open:
            self._completed(token, FAIL, NOT_CONNECTED, None)
            return True
        route = self._routes.get(topic) or Route("", topic)
        headers = {_TOKEN: token, **route.headers}
        properties = pika.BasicProperties(headers=headers, priority=priority, **self._common)
        self._published += 1
        self._open.append((self._published, token))
        try:
            self._channel.basic_publish(route.exchange, route.key, payload, properties, mandatory=self._mandatory)
        except AMQPError as error:
            self._lost(type(error).__name__)
        if not self._confirms:
            self._settle(self._published, OK, None, multiple=True)
        return True

    def pending(self) -> int:
        return len(self._open)

    def poll(self, timeout_s: float) -> None:
        timer = self._loop.call_later(timeout_s, self._loop.stop)
        self._loop.start()
        self._loop.remove_timeout(timer)

    def close(self, timeout_s: float) -> None:
        waited_s = 0.0
        while self._open and waited_s < timeout_s and self._channel is not None:
            self.poll(AGAIN_S)
            waited_s += AGAIN_S
        self._closing = True
        self._lost("no confirm in time")
        if self._connection is not None and self._connection.is_open:
            self._connection.close()
            self.poll(AGAIN_S)
        self._loop.close()

    def _connect(self) -> None:
        self._connection = pika.SelectConnection(
            self._addresses.parameters(self._settings),
            on_open_callback=self._opened,
            on_open_error_callback=self._closed,
            on_close_callback=self._closed,
            custom_ioloop=self._loop,
        )

    def _opened(self, connection: pika.SelectConnection) -> None:
        connection.channel(on_open_callback=self._channel_opened)

    def _channel_opened(self, channel: Channel) -> None:
        channel.add_on_return_callback(self._was_returned)
        channel.add_on_close_callback(self._channel_closed)
        self._published = 0
        if self._confirms:
            channel.confirm_delivery(self._was_confirmed, callback=lambda _: self._ready(channel))
        else:
            self._ready(channel)

    def _ready(self, channel: Channel) -> None:
        self._channel = channel

    def _channel_closed(self, channel: Channel, reason: Exception) -> None:
        """Connect again: a node closes a channel with an error, such as an unknown queue."""
        self._lost(type(reason).__name__)
        if channel.connection.is_open:
            channel.connection.close()

    def _closed(self, connection: pika.SelectConnection, reason: Exception) -> None:
        self._lost(type(reason).__name__)
        if not self._closing:
            self._loop.call_later(AGAIN_S, self._connect)

    def _was_returned(self, channel: Channel, method: Any, properties: pika.BasicProperties, body: bytes) -> None:
        headers: dict[str, int] = properties.headers or {}
        self._returned.add(headers[_TOKEN])

    def _was_confirmed(self, frame: Method) -> None:
        method = frame.method
        if isinstance(method, pika.spec.Basic.Ack):
            self._settle(method.delivery_tag, OK, None, multiple=method.multiple)
        else:
            self._settle(method.delivery_tag, INFO, "nack", multiple=method.multiple)

    def _settle(self, tag: int, outcome: Outcome, error: str | None, *, multiple: bool) -> None:
        """Complete the sends up to a tag, or only that one."""
        if multiple:
            while self._open and self._open[0][0] <= tag:
                self._complete(self._open.popleft(), outcome, error)
            return
        if self._open and self._open[0][0] == tag:
            self._complete(self._open.popleft(), outcome, error)
            return
        for index, send in enumerate(self._open):
            if send[0] == tag:
                del self._open[index]
                self._complete(send, outcome, error)
                return

    def _complete(self, sent: tuple[int, int], outcome: Outcome, error: str | None) -> None:
        token = sent[1]
        if token in self._returned:
            self._returned.discard(token)
            outcome, error = FAIL, _UNROUTABLE
        self._completed(token, outcome, error, None)

    def _lost(self, why: str) -> None:
        """Complete all sends that nobody will confirm any more."""
        self._channel = None
        while self._open:
            self._complete(self._open.popleft(), INFO, why)
