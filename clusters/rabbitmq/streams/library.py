"""rstream's own producer, as programs in Python use it: it connects again by itself, and tells what it was told.

A send is `ok` when rstream reports its confirm. What it reports as lost with a connection is unknown, and so is what
was refused: rstream publishes what it still holds in its buffer again, under another publishing id, if it
could not write all of it (1.1.1, `Producer._publish_buffered_messages`).
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Mapping
from functools import partial
from typing import Any

from rstream import ConfirmationStatus, Producer
from rstream.exceptions import ServerError

from chaoskit.contract.clients.client import Completed
from chaoskit.model.outcome import FAIL, INFO, OK
from clusters.rabbitmq.connection import AGAIN_S
from clusters.rabbitmq.settings import PASSWORD, STREAM_PORT, USER
from clusters.rabbitmq.streams.link import DEFAULTS
from clusters.rabbitmq.streams.loop import Loop
from clusters.rabbitmq.streams.messages import encoded
from clusters.rabbitmq.streams.names import stream_name

_START_S = 10
_CLOSE_S = 5
_LOST = -1
"""The code by which rstream reports that a connection was lost before a confirm came."""


class LibraryProducer:
    """See `chaoskit.contract.clients.client.Producer`.

    Args:
        address: the node that rstream is told; it learns of the others from it.
        settings: rstream's parameters of a connection.
        completed: called once per send.
    """

    def __init__(self, address: str, settings: Mapping[str, Any], completed: Completed) -> None:
        self._address = address
        self._settings = {**DEFAULTS, **settings}
        self._completed = completed
        self._loop = Loop()
        self._producer: Producer | None = None
        self._task: asyncio.Task[None] | None = None
        self._outbox: deque[tuple[str, bytes, int]] = deque()
        self._unconfirmed: set[int] = set()
        self._again_at = 0.0
        self._error = "not connected"

    def send(self, topic: str, partition: int, key: bytes | None, payload: bytes, token: int) -> bool:
        self._outbox.append((stream_name(topic, partition), encoded(key, payload), token))
        return True

    def pending(self) -> int:
        return len(self._outbox) + len(self._unconfirmed)

    def poll(self, timeout_s: float) -> None:
        self._loop.run(timeout_s, lambda: False, self._keep)

    def close(self, timeout_s: float) -> None:
        self._loop.run(timeout_s, lambda: not self.pending(), self._keep)
        if self._producer is not None:
            self._loop.call(self._producer.close(), _CLOSE_S)
        for _, _, token in self._outbox:
            self._completed(token, FAIL, self._error, None)
        for token in self._unconfirmed:
            self._completed(token, INFO, "no confirm in time", None)
        self._outbox, self._unconfirmed = deque(), set()
        self._loop.end(())

    def _keep(self) -> None:
        if self._task is not None and not self._task.done():
            return
        if self._producer is None:
            if time.monotonic() >= self._again_at:
                self._again_at = time.monotonic() + AGAIN_S
                self._task = asyncio.get_running_loop().create_task(self._start())
        elif self._outbox:
            self._task = asyncio.get_running_loop().create_task(self._hand_over(self._producer))

    async def _start(self) -> None:
        given = {name: self._settings[name] for name in DEFAULTS}
        producer = Producer(
            self._address, STREAM_PORT, username=USER, password=PASSWORD, connection_name="chaoskit", **given
        )
        try:
            async with asyncio.timeout(_START_S):
                await producer.start()
            self._producer = producer
        except Exception as error:  # noqa: BLE001 - rstream raises assertions and KeyError, too
            self._error = type(error).__name__

    async def _hand_over(self, producer: Producer) -> None:
        """Give rstream what is to be sent; it waits here while rstream publishes, or connects again."""
        while self._outbox:
            stream, data, token = self._outbox.popleft()
            self._unconfirmed.add(token)
            await producer.send(stream, data, on_publish_confirm=partial(self._reported, token))

    def _reported(self, token: int, status: ConfirmationStatus) -> None:
        """Take the first of the reports of a send."""
        if token not in self._unconfirmed:
            return
        self._unconfirmed.discard(token)
        if status.is_confirmed:
            self._completed(token, OK, None, None)
            return
        lost = status.response_code == _LOST
        error = "ConnectionClosed" if lost else ServerError.from_code(status.response_code).__name__
        self._completed(token, INFO, error, None)
