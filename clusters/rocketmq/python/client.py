"""RocketMQ's Python client, for worker processes, and what it cannot do."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from chaoskit.base.errors import BadInput, Problems
from chaoskit.base.quantities import SECOND
from chaoskit.contract.clients.client import Completed
from chaoskit.contract.clients.queue import Publishing
from chaoskit.contract.guarantees.guarantee import Declared
from chaoskit.contract.power import P, held
from chaoskit.contract.workloads.traits import Queueing
from clusters.rocketmq.clients import settings as client_settings
from clusters.rocketmq.clients.popped import Invisible
from clusters.rocketmq.connection import BROKERS, DELAYS, ORDERED, PROXIES
from clusters.rocketmq.python import library
from clusters.rocketmq.python.consumer import PythonQueueConsumer
from clusters.rocketmq.python.publisher import PythonPublisher


class PythonClients:
    """The power `chaoskit.contract.clients.queue.QueueClients`."""

    def __init__(self, connection: Mapping[str, Any]) -> None:
        self._connection = connection
        self._invisible: Invisible | None = None

    def power(self, kind: type[P]) -> P:
        return held(kind, [self], "RocketMQ's Python client")

    def publisher(
        self, settings: Mapping[str, Any], index: int, completed: Completed, publishing: Publishing
    ) -> PythonPublisher:
        ordered, delays_ms = self._connection[ORDERED], self._connection[DELAYS]
        endpoints, group = self._connection[PROXIES], f"producer-{index}"
        return PythonPublisher(endpoints, completed, group, ordered=ordered, delays_ms=delays_ms)

    def queue_consumer(self, settings: Mapping[str, Any], index: int, prefetch: int) -> PythonQueueConsumer:
        if self._invisible is None:
            self._invisible = Invisible(client_settings.pop_settings(settings).invisible_duration / SECOND)
        return PythonQueueConsumer(self._connection[PROXIES], self._connection[BROKERS][0], prefetch, self._invisible)


def check_python_clients(declared: Declared) -> None:
    """Reject what RocketMQ's Python client cannot do.

    Raises:
        BadInput: names each key and its remedy.
    """
    problems = Problems()
    problems.tried(library.check)
    queueing = declared.get(Queueing)
    if queueing is None:
        problems.add(BadInput("cluster.clients: python: is for workload.kind: queue; remove it"))
    elif not queueing.confirms:
        problems.add(BadInput("workload.confirms: proxies answer every send of the Python client; remove it"))
    for name in declared.producer:
        problems.add(BadInput(f"workload.producer.{name}: the Python client has no settings; remove it"))
    if queueing is not None:
        problems.tried(client_settings.pop_settings, declared.consumer)
    problems.raise_any()
