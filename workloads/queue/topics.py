"""The queues of the workload, and what each is declared with."""

from __future__ import annotations

from chaoskit.base.quantities import MILLISECOND
from chaoskit.contract.clients.recorder import Recorder
from chaoskit.contract.workloads.datamodel import QUEUE
from chaoskit.contract.workloads.topic import Topic
from chaoskit.model.observations.queue import QueueSettings
from workloads.queue.options import NOWHERE, QueueOptions

_REPLICATION = 3


def topics(options: QueueOptions, brokers: int) -> list[Topic]:
    """Return the queues to create: those that messages are sent to, those of dead letters, and none for `nowhere`."""
    copies = options.replication or min(_REPLICATION, brokers)
    exchange = exchange_of(options)

    def queue(name: str, settings: dict[str, int], exchange: str = "") -> Topic:
        return Topic(name, QUEUE, 1, copies, options.type, tuple(settings.items()), exchange)

    return [
        *(queue(name, {"dead-letters-of": 1}) for name in options.dead_names()),
        *(queue(name, settings_of(options), exchange) for name in options.queue_names()),
        *([queue(NOWHERE, {"unrouted": 1}, exchange)] if options.unrouted_every else []),
    ]


def exchange_of(options: QueueOptions) -> str:
    """Return the system's own way of routing to the queues; empty: directly."""
    return "" if options.exchange == "default" else options.exchange


def settings_of(options: QueueOptions) -> dict[str, int]:
    """Return what the queues that messages are sent to are declared with."""
    given = {
        "message-ttl": options.ttl and options.ttl // MILLISECOND,
        "delay": options.delay and options.delay // MILLISECOND,
        "max-length": options.max_length,
        "delivery-limit": options.delivery_limit,
        "priorities": options.priorities,
        "single-active": int(options.single_active),
        "dead-letters": int(options.dead_letters),
    }
    return {name: number for name, number in given.items() if number}


def declare(recorder: Recorder, options: QueueOptions) -> None:
    """Record what the queues are declared with, and what clients do that bounds what they may see."""
    op = recorder.invoke("declare")
    for topic in topics(options, brokers=1):
        settings = dict(topic.settings)
        if topic.name in options.queue_names():
            settings["prefetch"] = options.prefetch
            if options.lives_ns is not None:
                settings["message-ttl"] = options.lives_ns // MILLISECOND
        recorder.observe(op, recorder.in_system(topic.name), 0, QueueSettings(settings))
    recorder.complete(op)
