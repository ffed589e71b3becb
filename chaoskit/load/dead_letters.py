"""Records what comes from a queue of dead letters."""

from __future__ import annotations

from chaoskit.contract.clients.queue import Arrival
from chaoskit.contract.clients.recorder import Recorder
from chaoskit.contract.workloads.topic import DEAD
from chaoskit.model.observations.queue import OTHER_QUEUE, DeadLettered

_UNTOLD = "", 0


def note_death(recorder: Recorder, op: int, arrival: Arrival, value: int) -> None:
    """Record why a dead letter was dead-lettered, with the queue that it was sent to; of other messages, nothing."""
    topic, death = arrival.delivery.topic, arrival.death
    if not topic.endswith(DEAD):
        return
    source = topic.removesuffix(DEAD)
    reason, count = _UNTOLD if death is None else (death.reason, death.times)
    if death is not None and death.queue != source:
        reason = OTHER_QUEUE
    recorder.observe(op, source, 0, DeadLettered(value, reason, count))
