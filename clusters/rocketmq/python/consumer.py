"""A consumer that pops messages of queues by RocketMQ's Python client, with a thread for each queue."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from queue import Empty, SimpleQueue
from typing import Any

from chaoskit.contract.clients.client import Settlement
from chaoskit.contract.clients.queue import Arrival, ConsumerChange
from chaoskit.model.message import NO_POSITION, Delivery
from chaoskit.model.outcome import INFO, OK, Outcome
from clusters.rocketmq.clients.popped import Invisible, death_in, left_in
from clusters.rocketmq.clients.queues import group_of, real_topic
from clusters.rocketmq.python.library import configuration, library

_BATCH, _LIMITLESS = 32, 1 << 20
_AWAITS_S = 3
_WAIT_S = 0.2
_SOON_S = 1
_SETTLERS = 8
_ENDS_S = 8.0


class PythonQueueConsumer:
    """See `chaoskit.contract.clients.queue.QueueConsumer`.

    Args:
        endpoints: addresses and ports of proxies.
        brokers: addresses of the brokers that have the queues.
        prefetch: number of unsettled deliveries at which nothing more is popped; 0: none.
        invisible: what consumers before this one left, and for how long; it adds what it leaves itself.
    """

    def __init__(self, endpoints: str, brokers: Sequence[str], prefetch: int, invisible: Invisible) -> None:
        self._endpoints = endpoints
        self._brokers = brokers
        self._invisible = invisible
        self._room = threading.Semaphore(prefetch or _LIMITLESS)
        self._arrived: SimpleQueue[tuple[str, Any, Any]] = SimpleQueue()
        self._unsettled: dict[int, tuple[Any, Any]] = {}
        self._settlers = ThreadPoolExecutor(_SETTLERS)
        self._receivers: list[threading.Thread] = []
        self._ends = threading.Event()
        self._error: str | None = None
        self._tag = 0

    def consume(self, queues: Sequence[str]) -> None:
        self._receivers = [
            threading.Thread(target=self._receive, args=(queue,), name=f"receive-{queue}", daemon=True)
            for queue in queues
        ]
        for receiver in self._receivers:
            receiver.start()

    def poll(self, timeout_s: float, messages_max: int) -> tuple[list[Arrival], str | None]:
        arrivals: list[Arrival] = []
        try:
            arrived = self._arrived.get(timeout=timeout_s)
            while True:
                arrivals.append(self._arrival(*arrived))
                if len(arrivals) == messages_max:
                    break
                arrived = self._arrived.get_nowait()
        except Empty:
            pass
        error, self._error = self._error, None
        if error:
            self._invisible.begin()
        return arrivals, error

    def settle(self, tags: Sequence[int], how: Settlement) -> tuple[Outcome, str | None]:
        settled = [(tag, *self._unsettled[tag]) for tag in tags]
        failed = None
        for tag, error in self._settlers.map(lambda entry: (entry[0], _settled(entry[1], entry[2], how)), settled):
            self._room.release()
            if error is None:
                del self._unsettled[tag]
            failed = error or failed
        return (INFO, failed) if failed else (OK, None)

    def changes(self) -> list[ConsumerChange]:
        """Return none: a broker never ends a consumer."""
        return []

    def left(self, queue: str) -> tuple[int, int]:
        return left_in(self._brokers, queue), bool(self._receivers) + self._invisible.there()

    def close(self, *, abruptly: bool = False) -> None:
        self._ends.set()
        deadline = time.monotonic() + (0 if abruptly else _ENDS_S)
        for receiver in self._receivers:
            receiver.join(max(0.0, deadline - time.monotonic()))
        waits = any(receiver.is_alive() for receiver in self._receivers)
        if self._receivers and (abruptly or waits or self._unsettled or self._error or not self._arrived.empty()):
            self._invisible.begin()
        self._settlers.shutdown(wait=False, cancel_futures=True)

    def _receive(self, queue: str) -> None:
        """Pop messages of a queue until the end; connect first, and again until that is possible."""
        consumer: Any = None
        while not self._ends.is_set():
            if not self._room.acquire(timeout=_WAIT_S):
                continue
            wanted = 1
            while wanted < _BATCH and self._room.acquire(blocking=False):
                wanted += 1
            popped: Sequence[Any] = ()
            try:
                consumer = consumer or self._connect(queue)
                popped = consumer.receive(wanted, round(self._invisible.duration_s)) or ()
            except Exception as error:  # noqa: BLE001  # it names its errors only in part
                self._error = type(error).__name__
                self._ends.wait(_WAIT_S)
            for message in popped:
                self._arrived.put((queue, consumer, message))
            if wanted > len(popped):
                self._room.release(wanted - len(popped))
        if consumer is not None:
            consumer.shutdown()

    def _connect(self, queue: str) -> Any:
        known = library()
        subscription = {real_topic(queue): known.FilterExpression()}
        consumer = known.SimpleConsumer(configuration(self._endpoints), group_of(queue), subscription, _AWAITS_S)
        consumer.startup()
        return consumer

    def _arrival(self, queue: str, consumer: Any, message: Any) -> Arrival:
        self._tag += 1
        self._unsettled[self._tag] = consumer, message
        delivery = Delivery(queue, 0, None, message.body, NO_POSITION, message.delivery_attempt - 1)
        return Arrival(delivery, self._tag, death_in(queue))


def _settled(consumer: Any, message: Any, how: Settlement) -> str | None:
    """Acknowledge a message, or have it come again soon; return an error, if any."""
    try:
        if how == "nack":
            consumer.change_invisible_duration(message, _SOON_S)
        else:
            consumer.ack(message)
    except Exception as error:  # noqa: BLE001  # it names its errors only in part
        return type(error).__name__
    return None
