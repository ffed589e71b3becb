"""Queues with Pulsar's own client: its settings, and retry topics, which only that client has.

With `retryEnable` a consumer that refuses a message publishes it to the queue's retry topic, to be delivered later from
there, and acknowledges it (`Consumer.reconsumeLater`); the message itself says how often that happened.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, model_validator

from chaoskit.base.errors import BadInput, Problems
from chaoskit.contract.guarantees.guarantee import Declared
from chaoskit.contract.mistakes import validated
from clusters.pulsar.clients.queues import BATCHING_JAVA, LIMIT, RETRY_JAVA, UNJUDGED, retries

PREFETCH, DELAYS = "prefetch", "delay of "
"""Settings of the relay: the workload's `prefetch`, and for how many ms the messages of a queue wait."""

LATER = "reconsumeLaterMs"
"""The relay's own setting: what Pulsar's applications give `reconsumeLater`, in ms."""

_BACKOFF = "negativeAckRedeliveryBackoff"
_REFUSAL_US = "negativeAckRedeliveryDelayMicros"
_ACK_TIMEOUT = "ackTimeoutMillis"
_GROUPED_US, _GROUPED_MAX_US = "acknowledgementsGroupTimeMicros", 1_000_000
"""What was acknowledged so long before a crash counts as acknowledged; see `checkers.queue`."""

_DELAY_MS, _DELAY_MAX_MS = 1000, 20_000

PUBLISHER = {BATCHING_JAVA: False}
"""As chaoskit's defaults for queues with pulsar-client; see `clusters.pulsar.clients.queues`."""

CONSUMER = {_REFUSAL_US: _DELAY_MS * 1000, LATER: _DELAY_MS}
"""What is refused must come again within a run (the client waits one minute)."""

OURS = (PREFETCH, "deadLetterPolicy", "receiverQueueSize", "subscriptionType")
"""Settings of consumers that the workload's own keys set."""

SIMILAR = (RETRY_JAVA, LATER, _BACKOFF, _REFUSAL_US, "ackReceiptEnabled", "batchIndexAckEnabled")


class Backoff(BaseModel):
    """`MultiplierRedeliveryBackoff`: how long a refused message waits, longer each time.

    Attributes:
        min_delay_ms: the first time, ms.
        max_delay_ms: at most, ms.
        multiplier: by how much it grows each time.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    min_delay_ms: int = Field(default=_DELAY_MS, ge=1, alias="minDelayMs")
    max_delay_ms: int = Field(default=_DELAY_MAX_MS, ge=1, le=_DELAY_MAX_MS, alias="maxDelayMs")
    multiplier: float = Field(default=2, gt=1)

    @model_validator(mode="after")
    def _grows(self) -> Backoff:
        if self.max_delay_ms < self.min_delay_ms:
            raise ValueError(f"maxDelayMs must be at least minDelayMs ({self.min_delay_ms})")
        return self

    @classmethod
    def of(cls, settings: Mapping[str, Any]) -> Backoff | None:
        """Return the one that consumers with such settings have, if they have one."""
        return cls.model_validate(settings[_BACKOFF]) if _BACKOFF in settings else None


def for_client(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return those settings of consumers that the client itself reads."""
    return {name: value for name, value in settings.items() if name not in {LATER, _BACKOFF}}


def for_relay(settings: Mapping[str, Any], prefetch: int) -> dict[str, Any]:
    """Return the settings of a consumer as its JVM takes them."""
    extra = {PREFETCH: prefetch, LATER: settings[LATER]}
    if backoff := Backoff.of(settings):
        extra |= {f"{_BACKOFF}.{name}": value for name, value in backoff.model_dump(by_alias=True).items()}
    return {**for_client(settings), **extra}


def refusal_ms(settings: Mapping[str, Any]) -> float:
    """Return how long a refused message may wait in the client, in ms."""
    if backoff := Backoff.of(settings):
        return backoff.max_delay_ms
    return int(settings[_REFUSAL_US]) / 1000


def check_consumers(declared: Declared) -> None:
    """Reject what is of no use in the settings of consumers of queues.

    Raises:
        BadInput: names each of them.
    """
    given, key = declared.consumer, "workload.consumer"
    problems = Problems()
    if _BACKOFF in given:
        problems.tried(validated, Backoff, given[_BACKOFF], key, f"{_BACKOFF}.")
    for refusal in (*_refused_retries(declared), *_refused_delays(given)):
        problems.add(BadInput(f"{key}.{refusal}"))
    problems.raise_any()


def _refused_retries(declared: Declared) -> Iterator[str]:
    given = declared.consumer
    if not retries(given):
        if LATER in given:
            yield f"{LATER}: is used with {RETRY_JAVA}: true only"
        return
    if not any(LIMIT in dict(topic.settings) for topic in declared.topics):
        yield f"{RETRY_JAVA}: a retry topic goes with dead letters; set workload.delivery_limit and dead_letters: true"
    if _BACKOFF in given:
        yield f"{_BACKOFF}: is not used with {RETRY_JAVA}; write {LATER}"


def _refused_delays(given: Mapping[str, Any]) -> Iterator[str]:
    if given.get(_ACK_TIMEOUT):
        yield f"{_ACK_TIMEOUT}: {UNJUDGED}"
    for name, most in ((_REFUSAL_US, _DELAY_MAX_MS * 1000), (LATER, _DELAY_MAX_MS), (_GROUPED_US, _GROUPED_MAX_US)):
        value = given.get(name, 0)
        if type(value) is not int or not 0 <= value <= most:
            yield f"{name}: write a whole number, {most} at most (given: {value!r})"
