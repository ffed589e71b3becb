"""Pulsar's producer (the C++ client through pulsar-client), and the classification of its completions.

An error does not imply that a message was not written: the client resends pending messages after each reconnection, and
reports a timeout after `send_timeout_millis` regardless of their fate. Only errors that it raises before a message
becomes pending are `fail`. Everything else is `info`.

Completions arrive on threads of the client; they wait in a queue until the worker polls.
"""

from __future__ import annotations

import base64
import time
from collections.abc import Mapping
from functools import partial
from queue import Empty, SimpleQueue
from typing import Any

import pulsar

from chaoskit.base.errors import BadInput
from chaoskit.contract.clients.client import Completed
from chaoskit.model.message import WITHOUT_CONTENT
from chaoskit.model.outcome import DUPLICATE, FAIL, INFO, OK, Outcome
from clusters.pulsar.clients.settings import chosen_producer
from clusters.pulsar.connection import connect, full_name, library_settings, name_of
from clusters.pulsar.positions import BATCH_MAX, pack

NEVER_SENT = {
    "MessageTooBig": "larger than allowed: rejected by the client before it is pending",
    "ProducerQueueIsFull": "queue full: rejected by the client before it is pending",
    "MemoryBufferIsFull": "no memory: rejected by the client before it is pending",
}
"""Results that prove that a message was not written, and why."""

FOR_GOOD = {"AlreadyClosed", "NotConnected", "ProducerFenced", "ProducerNotInitialized"}
"""Results after which a producer that was not closed never works again."""

_PENDING = "max_pending_messages"
_OURS = (
    "topic", "schema", "block_if_queue_full", "max_pending_messages_across_partitions", "message_routing_mode",
    "message_router", "lazy_start_partitioned_producers", "crypto_key_reader", "encryption_key",
)  # fmt: skip
"""Parameters that scenarios cannot set: one producer per partition, which never blocks."""

Route = tuple[str, int]
"""Topic and partition."""


def resolve_producer(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the effective producer settings: given ones override chaoskit's; null selects pulsar-client's default.

    Raises:
        BadInput: a setting does not exist, or a value is invalid.
    """
    settings = library_settings(chosen_producer(given), pulsar.Client.create_producer, _OURS, "producer")
    if settings.get("batching_max_messages", 0) > BATCH_MAX:
        raise BadInput(f"workload.producer.batching_max_messages: positions allow at most {BATCH_MAX}; reduce it")
    return settings


def classify(result: str) -> Outcome:
    """Return the outcome code of a failed send, given the name of the library's result.

    >>> classify("Timeout") == INFO, classify("MessageTooBig") == FAIL
    (True, True)
    """
    return FAIL if result in NEVER_SENT else INFO


class PulsarProducer:
    """See `chaoskit.contract.clients.client.Producer`."""

    def __init__(
        self, connection: Mapping[str, Any], settings: Mapping[str, Any], completed: Completed, **client: Any
    ) -> None:
        self._client = connect(connection, **client)
        self._settings = resolve_producer(settings)
        self._chunked = bool(self._settings.get("chunking_enabled"))
        self._pending_max = int(self._settings.get(_PENDING, 1000))
        self._completed = completed
        self._producers: dict[Route, pulsar.Producer] = {}
        self._pending: dict[int, Route] = {}
        self._arrived: SimpleQueue[tuple[int, Any, Any]] = SimpleQueue()
        self._closing = False

    def send(self, topic: str, partition: int, key: bytes | None, payload: bytes, token: int) -> bool:
        return self._hand_over((topic, partition), key, payload, token)

    def delete(self, topic: str, partition: int, key: bytes, payload: bytes, token: int) -> bool:
        """See `chaoskit.contract.clients.client.DeletingProducer`; properties are text."""
        carried = {WITHOUT_CONTENT: base64.b64encode(payload).decode()}
        return self._hand_over((topic, partition), key, b"", token, properties=carried)

    def pending(self) -> int:
        return len(self._pending)

    def poll(self, timeout_s: float) -> None:
        try:
            self._complete(*(self._arrived.get(timeout=timeout_s) if timeout_s > 0 else self._arrived.get_nowait()))
            while True:
                self._complete(*self._arrived.get_nowait())
        except Empty:
            return

    def close(self, timeout_s: float) -> None:
        deadline = time.monotonic() + timeout_s
        while self._pending and time.monotonic() < deadline:
            self.poll(0.05)
        self._closing = True
        try:
            self._client.close()
        except pulsar.PulsarException:
            self._client.shutdown()
        self._give_up()

    def _hand_over(self, route: Route, key: bytes | None, payload: bytes, token: int, **more: Any) -> bool:
        """Enqueue one message, with `more` of what `pulsar.Producer.send_async` takes; see `send`."""
        if len(self._pending) >= self._pending_max:
            return False
        try:
            producer = self._producer(route)
        except pulsar.PulsarException as error:  # there is no producer, so nothing was enqueued
            self._completed(token, FAIL, name_of(error), None)
            return True
        self._pending[token] = route
        partition_key = None if key is None else key.decode()
        # Called on a thread of the client, or within this call if the client rejects the message.
        producer.send_async(payload, partial(self._tell, token), partition_key=partition_key, **more)
        return True

    def _give_up(self) -> None:
        """Report the sends whose outcome will never be known."""
        self.poll(0)
        for token in list(self._pending):
            self._pending.pop(token)
            self._completed(token, INFO, "AlreadyClosed", None)

    def _producer(self, route: Route) -> pulsar.Producer:
        if route not in self._producers:
            self._producers[route] = self._client.create_producer(full_name(*route), **self._settings)
        return self._producers[route]

    def _tell(self, token: int, result: Any, message_id: Any) -> None:
        self._arrived.put((token, result, message_id))

    def _complete(self, token: int, result: Any, message_id: Any) -> None:
        route = self._pending.pop(token, None)
        if route is None:
            return
        if result == pulsar.Result.Ok:
            if message_id.entry_id() < 0:  # a duplicate that the broker dropped
                self._completed(token, OK, DUPLICATE, None)
            elif self._chunked:  # the position may be that of a chunk that was sent again
                self._completed(token, OK, None, None)
            else:
                position = pack(message_id.ledger_id(), message_id.entry_id(), message_id.batch_index())
                self._completed(token, OK, None, position)
            return
        self._completed(token, classify(result.name), result.name, None)
        if result.name in FOR_GOOD and not self._closing:
            # Continue with a new producer, as an application must.
            self._producers.pop(route, None)
