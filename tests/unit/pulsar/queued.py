"""A workload of one queue of Pulsar, as it was declared."""

from __future__ import annotations

from typing import Any

from chaoskit.contract.guarantees.guarantee import Declared
from chaoskit.contract.workloads.datamodel import QUEUE
from chaoskit.contract.workloads.topic import Topic
from chaoskit.contract.workloads.traits import Queueing
from clusters.pulsar.settings import PulsarOptions

NORMAL = {"confirms": True, "persistent": True, "consumers": 2}


def queued(
    queueing: dict[str, Any] | None = None,
    settings: dict[str, int] | None = None,
    producer: dict[str, Any] | None = None,
    consumer: dict[str, Any] | None = None,
    **options: Any,
) -> Declared:
    given = tuple((settings or {}).items())
    topics = (Topic("queue-0", QUEUE, 1, 3, "shared", given),)
    trait = Queueing(**{"settings": given, **NORMAL, **(queueing or {})})
    return Declared(PulsarOptions.model_validate(options), 3, 3, topics, producer or {}, consumer or {}, (trait,))
