"""The settings of RocketMQ's clients: chaoskit's defaults, and checks before anything starts.

Names are those of the properties of RocketMQ's classes `DefaultMQProducer` and `DefaultLitePullConsumer`, with those of
`ClientConfig`, which they have in common.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from chaoskit.base.errors import BadInput, Problems
from chaoskit.base.quantities import HOUR, SECOND, Duration
from chaoskit.contract.guarantees.guarantee import Declared
from chaoskit.contract.workloads.traits import Queueing
from clusters.common.client_settings import checked
from clusters.common.relay.process import Chosen
from clusters.rocketmq.java.relay import RELAY

SEND, GROUP, BROKERS = "send", "group", "brokers"
"""How producers send; name of the group of a client; number of brokers that have queues. The relay's own settings."""

SYNC, ASYNC, ONEWAY = "sync", "async", "oneway"
WAYS = (SYNC, ASYNC, ONEWAY)
"""`sync`: to each queue one message after the other, as RocketMQ's documentation asks for where order counts. `async`:
without waiting for an answer. `oneway`: without an answer."""

END, CHECK = "end", "check"
SENT, ANSWERED = "sent", "answered"
CHOICES = {SEND: WAYS, END: (SENT, "unsent"), CHECK: (ANSWERED, "unanswered")}
"""What producers of transactions do once one has ended: whether they tell the broker, and answer when it asks. Nobody
should do otherwise; but a message may be lost, and a producer may be gone."""

BATCHES = {"batchMaxDelayMs": 30_000, "batchMaxBytes": 2 * 2**20, "totalBatchMaxBytes": 2**63 - 1}
"""What `ProduceAccumulator` takes at most, and refuses no sooner than when a producer starts."""

NAME_SERVERS = "namesrvAddr"

_CLIENT = {"pollNameServerInterval": 1000}
"""Where masters are is asked for each second, not twice a minute, so that runs are short."""

_TRANSACTIONAL = {END: SENT, CHECK: ANSWERED, "heartbeatBrokerInterval": 1000}
"""A broker that was started again knows each second, not twice a minute, whom it can ask."""

_PRODUCER = {SEND: SYNC, "sendMsgTimeout": 10_000}
_CONSUMER = {"autoCommit": False, "pullBatchSize": 1000}


class PopSettings(BaseModel):
    """Settings of a consumer that pops messages: `workload.consumer` of the workload `queue`.

    Attributes:
        invisible_duration: how long a message that it got is not given to others.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    invisible_duration: Annotated[Duration, Field(ge=SECOND, le=12 * HOUR)] = 10 * SECOND


_OURS = {
    "producer": (NAME_SERVERS, GROUP, BROKERS, "producerGroup", "namespace", "namespaceV2", "instanceName"),
    "consumer": (
        NAME_SERVERS, GROUP, BROKERS, "consumerGroup", "namespace", "namespaceV2", "instanceName", "messageModel",
        "consumeFromWhere", "consumeTimestamp",
    ),
}  # fmt: skip


def producer_settings(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the effective producer settings: given ones override chaoskit's; null selects RocketMQ's default."""
    return _chosen({**_CLIENT, **_PRODUCER, **given})


def transactional_settings(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the effective settings of producers of transactions; see `producer_settings`."""
    return producer_settings({**_TRANSACTIONAL, **given})


def consumer_settings(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the effective consumer settings; see `producer_settings`."""
    return _chosen({**_CLIENT, **_CONSUMER, **given})


def pop_settings(given: Mapping[str, Any]) -> PopSettings:
    """Return the settings of a consumer that pops.

    Raises:
        BadInput: names each that is wrong, below `workload.consumer`.
    """
    return checked(PopSettings, "consumer", given)


def way_of(given: Mapping[str, Any]) -> str:
    """Return how producers with these settings send."""
    return str(given.get(SEND) or SYNC)


def way_to_queues(given: Mapping[str, Any], *, ordered: bool, confirms: bool) -> str:
    """Return how publishers to queues with these settings send: if nothing is said, without waiting for each other,
    unless order counts."""
    default = (SYNC if ordered else ASYNC) if confirms else ONEWAY
    return str(given.get(SEND) or default)


def check_clients(declared: Declared) -> None:
    """Reject settings of producers and consumers that RocketMQ's client refuses; download it if it is missing.

    Raises:
        BadInput: names each of them.
    """
    path, problems = RELAY.classpath(declared.options.version), Problems()
    for name, values in CHOICES.items():
        if declared.producer.get(name, values[0]) not in values:
            problems.add(BadInput(f"workload.producer.{name}: write {', '.join(values[:-1])} or {values[-1]}"))
    for name, most in BATCHES.items():
        given = declared.producer.get(name, 1)
        if given is not None and not (type(given) is int and 1 <= given <= most):
            problems.add(BadInput(f"workload.producer.{name}: write a number from 1 to {most}"))
    chosen = {"producer": (declared.producer, producer_settings(declared.producer))}
    if declared.get(Queueing):
        problems.tried(pop_settings, declared.consumer)
    else:
        chosen["consumer"] = declared.consumer, consumer_settings(declared.consumer)
    for role, (given, settings) in chosen.items():
        tried = Chosen(role, f"workload.{role}", given, settings, _OURS[role])
        for refusal in RELAY.refusals(path, tried, (*_CLIENT, *_PRODUCER, *_CONSUMER)):
            problems.add(refusal)
    problems.raise_any()


def _chosen(settings: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in settings.items() if value is not None}
