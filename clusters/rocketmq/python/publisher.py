"""A publisher to queues by RocketMQ's Python client. It sends a message again by itself, up to three times in all."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from math import ceil
from queue import Empty, SimpleQueue
from typing import Any

from chaoskit.contract.clients.client import Completed
from chaoskit.model.outcome import FAIL, INFO, OK
from clusters.rocketmq.clients.queues import real_topic
from clusters.rocketmq.python.library import configuration, library

_NEVER_COMPLETED = "never completed"
_SECOND_MS = 1000
_STEP_S = 0.05


class PythonPublisher:
    """See `chaoskit.contract.clients.queue.Publisher`. In a queue that keeps order, its messages are one message group,
    and are sent one after the other; there are no priorities.

    Args:
        endpoints: addresses and ports of proxies.
        completed: is told each completion.
        group: the message group.
        ordered: the queues that keep order.
        delays_ms: by queue, how long its messages wait; the client has whole seconds, so up to 1 s longer.
    """

    def __init__(
        self, endpoints: str, completed: Completed, group: str, *, ordered: Sequence[str], delays_ms: Mapping[str, int]
    ) -> None:
        self._completed = completed
        self._group = group
        self._ordered = frozenset(ordered)
        self._delays_ms = delays_ms
        self._producer = library().Producer(configuration(endpoints))
        self._producer.startup()
        self._line = ThreadPoolExecutor(1)
        self._pending: set[int] = set()
        self._done: SimpleQueue[tuple[int, str | None, int]] = SimpleQueue()

    def send(self, topic: str, partition: int, key: bytes | None, payload: bytes, token: int) -> bool:
        return self.publish(topic, payload, token, None)

    def publish(self, topic: str, payload: bytes, token: int, priority: int | None) -> bool:
        message = library().Message()
        message.topic = real_topic(topic)
        message.body = payload
        self._pending.add(token)
        if topic in self._ordered:
            message.message_group = self._group
            self._line.submit(self._producer.send, message).add_done_callback(lambda sent: self._tell(token, sent))
            return True
        if delay_ms := self._delays_ms.get(topic):
            message.delivery_timestamp = ceil(time.time() + delay_ms / _SECOND_MS)
        try:
            sent = self._producer.send_async(message)
        except Exception as error:  # noqa: BLE001  # it names its errors only in part
            self._pending.discard(token)
            self._completed(token, FAIL, type(error).__name__, None)
        else:
            sent.add_done_callback(lambda future: self._tell(token, future))
        return True

    def pending(self) -> int:
        return len(self._pending)

    def poll(self, timeout_s: float) -> None:
        try:
            completion = self._done.get(timeout=timeout_s) if timeout_s > 0 else self._done.get_nowait()
            while True:
                self._complete(*completion)
                completion = self._done.get_nowait()
        except Empty:
            return

    def close(self, timeout_s: float) -> None:
        deadline = time.monotonic() + timeout_s
        while self._pending and time.monotonic() < deadline:
            self.poll(_STEP_S)
        for token in self._pending:
            self._completed(token, INFO, _NEVER_COMPLETED, None)
        self._pending.clear()
        self._line.shutdown(wait=False, cancel_futures=True)
        self._producer.shutdown()

    def _tell(self, token: int, sent: Future[Any]) -> None:
        error = sent.exception()
        self._done.put((token, None if error is None else type(error).__name__, time.monotonic_ns()))

    def _complete(self, token: int, error: str | None, at_ns: int) -> None:
        if token in self._pending:
            self._pending.discard(token)
            self._completed(token, OK if error is None else INFO, error, None, at_ns)
