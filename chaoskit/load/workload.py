"""What workloads with producers and consumers have in common."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from chaoskit.contract.workloads.workload import CONSUMER, PRODUCER, Task
from chaoskit.load.options import LoadOptions


class LoadWorkload:
    """The tasks of a load, and the settings of their clients."""

    def tasks(self, options: LoadOptions) -> list[Task]:
        producers = [Task(PRODUCER, index) for index in range(options.producers)]
        return producers + [Task(CONSUMER, index) for index in range(options.consumers)]

    def client_settings(self, options: LoadOptions, role: str) -> Mapping[str, Any]:
        return options.producer if role == PRODUCER else options.consumer
