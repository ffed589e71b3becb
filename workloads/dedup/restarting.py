"""A producer that abandons its client periodically, with sends in flight, and continues with a new one."""

from __future__ import annotations

from collections.abc import Callable

from chaoskit.contract.clients.client import Producer
from chaoskit.contract.workloads.workload import Job
from chaoskit.load.restarts import Restarts
from workloads.dedup.options import DedupOptions


class Restarting:
    """A `chaoskit.contract.clients.client.Producer`. Sends in flight of an abandoned client are reported as unknown and
    not resent.

    Args:
        job: the client's job.
        connect: creates the next client.
        every_ns: how long a client is used; None for no limit.
    """

    def __init__(self, job: Job[DedupOptions], connect: Callable[[], Producer], every_ns: int | None) -> None:
        self._recorder = job.recorder
        self._connect = connect
        self._producer = connect()
        self._restarts = Restarts(every_ns)

    def send(self, topic: str, partition: int, key: bytes | None, payload: bytes, token: int) -> bool:
        return self._producer.send(topic, partition, key, payload, token)

    def pending(self) -> int:
        return self._producer.pending()

    def poll(self, timeout_s: float) -> None:
        if self._restarts.due():
            with self._recorder.operation("restart"):
                self._producer.close(0)
                self._producer = self._connect()
        self._producer.poll(timeout_s)

    def close(self, timeout_s: float) -> None:
        self._producer.close(timeout_s)
