"""Data models: what a system stores under a topic's name, and what follows from it for a run.

A workload's topics have a model, a system says which ones it serves, and a checker for which ones it is made. A history
knows a model by its name.
"""

from __future__ import annotations

from dataclasses import dataclass

from chaoskit.base.errors import BadInput, nearest
from chaoskit.contract.clients.application import ApplicationClients
from chaoskit.contract.clients.client import (
    DeletingClients,
    LogClients,
    SeekingClients,
    SequencedClients,
    SubscribingClients,
    TransactionalClients,
)
from chaoskit.contract.clients.feed import FeedClients
from chaoskit.contract.clients.ledger import LedgerClients
from chaoskit.contract.clients.queue import QueueClients
from chaoskit.contract.clients.traffic import QueueApplicationClients


@dataclass(frozen=True, slots=True)
class DataModel:
    """A data model.

    Attributes:
        name: its name in the history.
        powers: the client powers that serve it; a system must have one of them.
        bounded: whether the system tells the bounds of a partition, up to which the final read reads
            (`chaoskit.model.audit.Bounds`); otherwise it is drained, or nothing is left to be read.
        lasts: whether a partition takes messages until the load ends.
        keeps: whether what was sent can be read later; otherwise consumers stay for the final read's probes.
        gives_back: whether a delivery that was not settled comes back once its consumer is gone: then consumers leave
            before the final read.
        alarms: whether receivers are told, within a time, of what does not come; then each time that they ask counts.
    """

    name: str
    powers: tuple[type, ...]
    bounded: bool = False
    lasts: bool = True
    keeps: bool = True
    gives_back: bool = False
    alarms: bool = False

    def __str__(self) -> str:
        return self.name

    def __reduce__(self) -> tuple[object, ...]:
        return model_named, (self.name,)


LOG = DataModel(
    "log",
    (LogClients, SeekingClients, DeletingClients, TransactionalClients, SequencedClients, SubscribingClients),
    bounded=True,
)
"""Messages at positions, kept until they expire; the system reports the end of each partition."""

LEDGER = DataModel("ledger", (LedgerClients,), bounded=True, lasts=False)
"""A single-writer log that any client may close, after which it never changes."""

QUEUE = DataModel("queue", (QueueClients,), gives_back=True)
"""A message is deleted once it is settled; the final read drains what is left."""

PUBSUB = DataModel("pubsub", (FeedClients,), keeps=False, alarms=True)
"""Nothing is stored; those receive a message who were subscribed when it was sent."""

OUTPUT = DataModel("output", (ApplicationClients, QueueApplicationClients), bounded=True)
"""What an application of the user's writes, by the inputs to which it belongs."""

MODELS = (LOG, LEDGER, QUEUE, PUBSUB, OUTPUT)


def model_named(name: str) -> DataModel:
    """Return the data model of this name.

    Raises:
        BadInput: there is none.
    """
    for model in MODELS:
        if model.name == name:
            return model
    raise BadInput(f"there is no data model {name!r}; {nearest(name, [model.name for model in MODELS])}")
