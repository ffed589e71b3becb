"""The guarantees of what queues do with messages besides keeping them: dead letters, priorities, limits, routing."""

from __future__ import annotations

from collections.abc import Sequence

from chaoskit.contract.guarantees.act import Act
from chaoskit.contract.guarantees.guarantee import Declared, Rule
from chaoskit.contract.guarantees.mechanism import Choice, Limit, Measure, Mechanism, Party, Session
from chaoskit.contract.workloads.traits import Queueing
from clusters.rabbitmq.guarantees.limits import NACKS_FREE_SINCE, limits
from clusters.rabbitmq.queues import QUORUM, type_of
from clusters.rabbitmq.releases import parse_version

_STRICT_SINCE = (4, 3)


def _setting(declared: Declared, name: str) -> int:
    queueing = declared.get(Queueing)
    return dict(queueing.settings).get(name, 0) if queueing else 0


def _dead_letters_once(declared: Declared) -> Sequence[Mechanism]:
    if not _setting(declared, "dead-letters"):
        return ()
    why = "dead letters are published without confirms (at most once): a failure in between loses them"
    return (Session(why=why, path=(Party.BROKERS, Party.BROKERS)),)


def _two_levels(declared: Declared) -> Sequence[Mechanism]:
    if not _setting(declared, "priorities") or type_of(declared) != QUORUM:
        return ()
    if parse_version(declared.options.version) >= _STRICT_SINCE:
        return ()
    why = "quorum queues before 4.3 have no strict priorities: 3.10 has none, 4.0 delivers two high ones to a low one"
    return (Choice(why=why),)


def _nacks_are_free(declared: Declared) -> Sequence[Mechanism]:
    if not _setting(declared, "delivery-limit") or type_of(declared) != QUORUM:
        return ()
    if parse_version(declared.options.version) < NACKS_FREE_SINCE:
        return ()
    why = "since 4.3 a message that a consumer returns (basic.nack) does not count towards the delivery limit"
    return (Choice(why=why),)


def _not_mandatory(declared: Declared) -> Sequence[Mechanism]:
    queueing = declared.get(Queueing)
    if queueing is None or queueing.mandatory:
        return ()
    return (Choice(why="mandatory: false: a message that no queue takes is dropped and confirmed"),)


def _suspected(declared: Declared) -> Sequence[Mechanism]:
    if type_of(declared) != QUORUM:
        return ()
    why = (
        "a quorum queue that loses the connection to a consumer's node takes the consumer for down and lets the next "
        "one become active, although the first may run on"
    )
    return (Session(why=why, path=(Party.BROKERS, Party.BROKERS), by=Act.CUTS | Act.BREAKS | Act.DROPS),)


def _limited(declared: Declared) -> Sequence[Mechanism]:
    known = limits(declared)
    return (Limit(why=f"{', '.join(known)}: a queue drops messages beyond it", measure=Measure.SHOWN),) if known else ()


SETTLED_RULES = (
    Rule(
        "rabbitmq.limits",
        ("dropped",),
        _limited,
        "set dead_letters: true to keep what is dropped, or remove the limit",
        "RabbitMQ documentation, Queue Length Limit, Time-To-Live, and Quorum Queues, Poison Message Handling",
        "rabbitmq/over-length:dropped",
        "rabbitmq/over-length:unlimited",
    ),
    Rule(
        "rabbitmq.dead-letters-at-most-once",
        ("dead-letter-missing",),
        _dead_letters_once,
        "",
        "RabbitMQ documentation, Dead Letter Exchanges, Safety",
        "rabbitmq/dead-letters:kill",
        "rabbitmq/dead-letters:quiet",
        alone=True,
    ),
    Rule(
        "rabbitmq.quorum-priorities",
        ("priority-inversion",),
        _two_levels,
        "use type: classic, or RabbitMQ 4.3",
        "RabbitMQ documentation, Quorum Queues, Priorities",
        "rabbitmq/priorities:quorum",
        "rabbitmq/priorities:classic",
        alone=True,
    ),
    Rule(
        "rabbitmq.returns-not-counted",
        ("delivery-limit-exceeded",),
        _nacks_are_free,
        "",
        "RabbitMQ 4.3 release notes, Quorum Queues, Delivery Limit; docs/rabbitmq.md, Dead letters, limits, priorities",
        "rabbitmq/delivery-limit:v4-3",
        "rabbitmq/delivery-limit:v4-0",
    ),
    Rule(
        "rabbitmq.suspected-consumer",
        ("two-active",),
        _suspected,
        "",
        "RabbitMQ's source, deps/rabbit/src/rabbit_fifo.erl, command {down, Pid, noconnection}",
        "rabbitmq/single-active:node-isolated",
        "rabbitmq/single-active:node-killed",
        alone=True,
    ),
    Rule(
        "rabbitmq.not-mandatory",
        ("unroutable-confirmed",),
        _not_mandatory,
        "set mandatory: true",
        "RabbitMQ documentation, Consumer Acknowledgements and Publisher Confirms, When Will Published Messages Be "
        "Confirmed",
        "rabbitmq/unroutable:not-mandatory",
        "rabbitmq/unroutable:mandatory",
    ),
)

SETTLED_PROMISES = {
    "dropped": "no limit makes a queue drop messages",
    "stuck": "a queue delivers what is ready to a consumer that has room",
    "dead-letter-missing": "a message that is dropped is published to the queue of dead letters",
    "dead-letter-early": "a message is dead-lettered only for the reason that it carries",
    "dead-letter-mislabelled": "a dead letter carries its reason, its queue and its count",
    "dead-letter-twice": "without a failure a message is dead-lettered once",
    "expired-early": "a message is kept until its time to live has passed",
    "expired-late": "an expired message is not delivered",
    "delivered-early": "a message waits until its time to live has passed, and is then dead-lettered",
    "priority-inversion": "of the messages that are ready, those with the highest priority are delivered first",
    "unroutable-confirmed": "mandatory: true: a message that no queue takes is returned before it is confirmed",
    "over-length": "a queue drops its oldest messages when it is longer than its maximum",
    "depth-wrong": "a queue counts the messages that are ready",
    "delivery-limit-exceeded": "a message that was returned more often than the limit is dropped or dead-lettered",
    "two-active": "a queue delivers to one consumer until that one is cancelled, or its channel ends",
    "no-failover": "when the active consumer is gone, the next one becomes active",
}
