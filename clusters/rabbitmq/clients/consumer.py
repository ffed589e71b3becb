"""RabbitMQ's consumer (pika's BlockingConnection): deliveries stay unsettled until they are acknowledged.

A delivery belongs to the channel that it came on. When that is gone, the node puts the message back into the queue, and
an acknowledgement is of no use any more. A node may end a consumer and leave the connection as it is (`basic.cancel`:
the queue's node is gone, or the consumer was too slow); then the consumer subscribes again, as applications do.
"""

from __future__ import annotations

import socket
import struct
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

import pika
from pika.adapters.blocking_connection import BlockingChannel
from pika.exceptions import AMQPChannelError, AMQPError, ChannelClosedByBroker

from chaoskit.contract.clients.client import Settlement, Unreachable
from chaoskit.contract.clients.queue import Arrival, ConsumerChange, Death, NoQueue
from chaoskit.model.message import NO_POSITION, Delivery
from chaoskit.model.outcome import FAIL, INFO, NOT_CONNECTED, OK, Outcome
from clusters.rabbitmq.clients.properties import delivered_before, headers_of
from clusters.rabbitmq.connection import AGAIN_S, Addresses, answered

_EPOCH_SHIFT = 48
"""A tag has the number of its connection in the bits from here on."""

_ANSWERED_S = 20.0
"""How long a node may take to answer; then the next one is asked."""

_ACKS = ("ack", "ack-cumulative")
_GONE = "the connection is gone"


class RabbitConsumer:
    """See `chaoskit.contract.clients.client.QueueConsumer`.

    Args:
        settings: pika's parameters of the connection.
        addresses: the nodes.
        prefetch: number of unsettled deliveries at which nodes stop delivering.
    """

    def __init__(self, settings: Mapping[str, Any], addresses: Addresses, prefetch: int) -> None:
        self._settings = settings
        self._addresses = addresses
        self._prefetch = prefetch
        self._queues: list[str] = []
        self._connection: pika.BlockingConnection | None = None
        self._channel: BlockingChannel | None = None
        self._epoch = 0
        self._again_at = 0.0
        self._queue_of: dict[str, str] = {}
        self._arrived: list[Arrival] = []
        self._cancelled: list[str] = []
        self._absent: set[str] = set()
        self._changes: list[ConsumerChange] = []

    def consume(self, queues: Sequence[str]) -> None:
        self._queues = list(queues)

    def poll(self, timeout_s: float, messages_max: int) -> tuple[list[Arrival], str | None]:
        try:
            self._connected(timeout_s)
            if self._connection is not None and not self._arrived:
                self._connection.process_data_events(timeout_s)
            if self._channel is not None and not self._channel.is_open:
                self._drop()
                return [], "ChannelClosedByBroker"
            self._subscribe_again()
        except (AMQPError, OSError) as error:
            self._absent |= {queue for queue in self._queues if _is_absent(queue, error)}
            connected = self._connection is not None
            self._drop()
            return [], type(error).__name__ if connected else NOT_CONNECTED
        taken, self._arrived = self._arrived[:messages_max], self._arrived[messages_max:]
        return taken, None

    def settle(self, tags: Sequence[int], how: Settlement) -> tuple[Outcome, str | None]:
        if self._channel is None or any(tag >> _EPOCH_SHIFT != self._epoch for tag in tags):
            return FAIL, _GONE
        try:
            for tag in tags:
                own = tag & ((1 << _EPOCH_SHIFT) - 1)
                if how in _ACKS:
                    self._channel.basic_ack(own, multiple=how == "ack-cumulative")
                else:
                    self._channel.basic_nack(own, requeue=how == "nack")
        except (AMQPError, OSError) as error:  # what was written before may have arrived
            self._drop()
            return INFO, type(error).__name__
        return OK, None

    def changes(self) -> list[ConsumerChange]:
        changes, self._changes = self._changes, []
        return changes

    def left(self, queue: str) -> tuple[int, int]:
        try:
            self._connected(AGAIN_S)
            if self._channel is None or self._connection is None:
                raise Unreachable(_GONE)
            with answered(self._connection, _ANSWERED_S):
                # A node closes the channel on which one asks for a queue that it does not have.
                channel = self._connection.channel()
                declared = channel.queue_declare(queue, passive=True).method
                channel.close()
        except (AMQPError, OSError) as error:
            if _is_absent(queue, error):
                raise NoQueue(f"there is no queue {queue}") from error
            self._drop()
            raise Unreachable(f"queue {queue}: {type(error).__name__}") from error
        return declared.message_count, declared.consumer_count

    def close(self, *, abruptly: bool = False) -> None:
        connection = self._connection
        if connection is None:
            return
        if abruptly:
            _reset(connection)
            self._forget()
        else:
            self._drop()

    def _connected(self, timeout_s: float) -> None:
        """Connect, unless that was tried a moment ago."""
        if self._channel is not None:
            return
        if (wait_s := self._again_at - time.monotonic()) > 0:
            time.sleep(min(wait_s, timeout_s))
            return
        self._again_at = time.monotonic() + AGAIN_S
        self._connection = pika.BlockingConnection(self._addresses.parameters(self._settings))
        with answered(self._connection, _ANSWERED_S):
            channel = self._connection.channel()
            channel.basic_qos(prefetch_count=self._prefetch)
            channel.add_on_cancel_callback(self._note_cancel)
            self._epoch += 1
            queues = [queue for queue in self._queues if queue not in self._absent]
            self._queue_of = {channel.basic_consume(queue, self._deliver): queue for queue in queues}
        self._channel = channel
        self._changes += [ConsumerChange("subscribed", queue) for queue in self._cancelled if queue in queues]
        self._cancelled = [queue for queue in self._queues if queue in self._absent]

    def _note_cancel(self, frame: Any) -> None:
        """Note that the node has ended a consumer."""
        queue = self._queue_of.pop(frame.method.consumer_tag)
        self._cancelled.append(queue)
        self._changes.append(ConsumerChange("cancelled", queue))

    def _subscribe_again(self) -> None:
        """Subscribe to the queues whose consumers were ended, unless that was tried a moment ago."""
        if (
            not self._cancelled
            or self._connection is None
            or self._channel is None
            or self._again_at > time.monotonic()
        ):
            return
        self._again_at = time.monotonic() + AGAIN_S
        for queue in list(self._cancelled):
            if _exists(self._connection, queue):
                self._queue_of[self._channel.basic_consume(queue, self._deliver)] = queue
                self._cancelled.remove(queue)
                self._absent.discard(queue)
                self._changes.append(ConsumerChange("subscribed", queue))

    def _deliver(self, channel: BlockingChannel, method: Any, properties: pika.BasicProperties, body: bytes) -> None:
        headers: dict[str, Any] = properties.headers or {}
        count = delivered_before(properties, redelivered=method.redelivered)
        delivery = Delivery(self._queue_of[method.consumer_tag], 0, None, body, NO_POSITION, count)
        tag = self._epoch << _EPOCH_SHIFT | method.delivery_tag
        self._arrived.append(Arrival(delivery, tag, _death(headers), headers_of(properties)))

    def _forget(self) -> None:
        self._connection, self._channel, self._arrived = None, None, []

    def _drop(self) -> None:
        """Forget the connection and what came on it: the node delivers it again."""
        connection = self._connection
        self._forget()
        if connection is not None and connection.is_open:
            try:
                connection.close()
            except (AMQPError, OSError):
                return


def _is_absent(queue: str, error: Exception) -> bool:
    """Return whether a node says that there is no such queue; of one that is on a host that is down, it says so."""
    return isinstance(error, ChannelClosedByBroker) and f"no queue '{queue}' in vhost" in error.reply_text


def _exists(connection: pika.BlockingConnection, queue: str) -> bool:
    """Return whether a queue can be used; a node closes the channel on which one asks for another."""
    channel = connection.channel()
    try:
        channel.queue_declare(queue, passive=True)
    except AMQPChannelError:
        return False
    channel.close()
    return True


def _reset(connection: pika.BlockingConnection) -> None:
    """End a connection as the kernel does when a process dies; pika has no such thing."""
    sock = connection._impl._transport._sock
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    sock.close()
    with suppress(AMQPError, OSError, ValueError, KeyError):
        connection._cleanup()


def _death(headers: Mapping[str, Any]) -> Death | None:
    """Return why a message was dead-lettered the last time; None if it was not."""
    deaths = headers.get("x-death")
    if not deaths:
        return None
    return Death(str(deaths[0]["reason"]), str(deaths[0]["queue"]), int(deaths[0]["count"]))
