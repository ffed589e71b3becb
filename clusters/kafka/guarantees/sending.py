"""What Kafka's producer settings allow: messages that are acknowledged too early, written twice, or out of order."""

from __future__ import annotations

from collections.abc import Sequence

from chaoskit.base.quantities import MILLISECOND
from chaoskit.contract.guarantees.act import LATE, PARTS_CONNECTIONS
from chaoskit.contract.guarantees.guarantee import Declared
from chaoskit.contract.guarantees.mechanism import Choice, Copies, Elects, Mechanism, Party, Required, Retry, Way
from chaoskit.contract.guarantees.setting import is_true
from clusters.kafka.clients.settings import resolve_producer
from clusters.kafka.settings import lag_ns

PRODUCE = frozenset({"Produce"})
"""The request that carries messages of producers."""

_REQUEST_TIMEOUT_MS = 30_000
"""Default of `request.timeout.ms`, of librdkafka and of Kafka's own client."""


def acks(declared: Declared) -> str:
    """Return the producers' `acks`: `0`, `1` or `all`."""
    asked = str(resolve_producer(declared.producer).get("acks", "all"))
    return "all" if asked == "-1" else asked


def acks_zero(declared: Declared) -> Sequence[Mechanism]:
    """Return how acknowledged messages may be gone with acks=0."""
    if acks(declared) != "0":
        return ()
    why = "acks=0: a send is acknowledged as soon as it is written to the socket, before any broker has it"
    return Way(why=why, path=(Party.PRODUCER, Party.LEADER), names=PRODUCE), _by_leader_alone(declared, why)


def acks_zero_order(declared: Declared) -> Sequence[Mechanism]:
    """Return how messages may arrive out of order with acks=0."""
    if acks(declared) != "0":
        return ()
    return (Choice(why="acks=0: a send is acknowledged before any broker has it, so a later one may arrive first"),)


def acks_one(declared: Declared) -> Sequence[Mechanism]:
    """Return how a message may be gone that the leader alone acknowledged."""
    if acks(declared) != "1":
        return ()
    why = (
        "acks=1: only the leader acknowledges, and a message that no follower has fetched is lost when another replica "
        "becomes leader"
    )
    return (_by_leader_alone(declared, why),)


def _by_leader_alone(declared: Declared, why: str) -> Copies:
    return Copies(
        why=why,
        required=Required.LEADER,
        elects=Elects.LAGGING,
        lag_ns=lag_ns(declared.options),
        from_its_end=True,
    )


def required(declared: Declared) -> Required:
    """Return who has a message when it is acknowledged."""
    return Required.IN_SYNC if acks(declared) == "all" else Required.LEADER


def retries(declared: Declared) -> Sequence[Mechanism]:
    """Return how a message may be written twice."""
    if not _sends_twice(declared):
        return ()
    return _retried(declared, "enable.idempotence=false with retries: a batch is written twice if its answer was lost")


def in_flight(declared: Declared) -> Sequence[Mechanism]:
    """Return how a message that was sent again may come after later ones."""
    producer = resolve_producer(declared.producer)
    many = int(producer.get("max.in.flight.requests.per.connection", 1_000_000))
    if not _sends_twice(declared) or many <= 1:
        return ()
    why = f"retries without idempotence and max.in.flight={many}: a retried batch may be appended after later ones"
    return _retried(declared, why)


def _retried(declared: Declared, why: str) -> Sequence[Mechanism]:
    """Return how a batch is sent again: its answer was lost, or came too late, because replicas were waited for."""
    asked = resolve_producer(declared.producer).get("request.timeout.ms", _REQUEST_TIMEOUT_MS)
    patience_ns = int(float(asked) * MILLISECOND)
    lost = Retry(why=why, by=PARTS_CONNECTIONS | LATE, patience_ns=patience_ns, names=PRODUCE)
    if acks(declared) != "all":
        return (lost,)
    return lost, Retry(
        why=f"{why}, or too late: with acks=all it waits for the replicas in sync",
        path=(Party.LEADER, Party.HOLDERS),
        by=PARTS_CONNECTIONS | LATE,
        patience_ns=patience_ns,
        longer_ns=patience_ns,
        unanswered=True,
    )


def _sends_twice(declared: Declared) -> bool:
    producer = resolve_producer(declared.producer)
    never = is_true(producer.get("enable.idempotence")) or str(producer.get("retries", 1)) == "0"
    return not never and acks(declared) != "0"


def never_twice(declared: Declared) -> str:
    """Return why no message is written twice if no rule allows it."""
    producer = resolve_producer(declared.producer)
    if is_true(producer.get("enable.idempotence")):
        return "enable.idempotence=true: brokers drop a batch whose sequence they already have (KIP-98)"
    if str(producer.get("retries", 1)) == "0" or acks(declared) == "0":
        return "sends are never retried (retries=0 or acks=0)"
    return "no fault caused the producer to retry a send"
