"""RocketMQ's guarantees: promises, and rules for documented failures.

Sources: RocketMQ's documentation ("Deployment", "Controller", "Sending in order"), its design documents
(docs/en/controller in its repository), and its source, release 5.5.0; see docs/rocketmq.md for the places.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from chaoskit.base.quantities import MILLISECOND, SECOND
from chaoskit.contract.guarantees.act import LATE, PARTS_CONNECTIONS, Damage
from chaoskit.contract.guarantees.guarantee import Declared, Guarantees, Rule
from chaoskit.contract.guarantees.mechanism import (
    Choice,
    Copies,
    Elects,
    Limit,
    Measure,
    Mechanism,
    Party,
    Required,
    Retry,
    Session,
    Way,
)
from chaoskit.contract.workloads.traits import Group, Queueing, Resends
from clusters.common.properties import setting
from clusters.common.supervision import RUNS
from clusters.rocketmq.artifacts import parse_version
from clusters.rocketmq.clients.settings import ASYNC, ONEWAY, producer_settings
from clusters.rocketmq.guarantees.copies import all_ack, copies_at_least, flushes_each, has_queues, lag_ns, taken
from clusters.rocketmq.guarantees.transactions import TRANSACTION_PROMISES, TRANSACTION_RULES
from clusters.rocketmq.guarantees.unflushed import UNFLUSHED_RULES
from clusters.rocketmq.settings import (
    FLUSH,
    OFFSETS_FLUSH_MS,
    SETTINGS,
    TIMER_FLUSH_MS,
    TIMER_PRECISION_MS,
    RocketOptions,
)
from clusters.rocketmq.ways import in_order, retried, way

_GIVES_UP_SLAVES = (5, 4)
"""First release whose `AutoSwitchHAService.removeConnection` changes the set in use; before, the former set counted
until controllers had agreed (`getSyncStateSet`)."""


_TIMES_OUT = ("sendMsgTimeout", 3_000)
"""How long a client waits for an answer, with its default, ms."""

_COUNTED_NS = 120 * SECOND
"""How long a broker keeps a connection of which it hears nothing."""


def _os_flush(declared: Declared) -> Sequence[Mechanism]:
    if flushes_each(declared.options):
        return ()
    why = "flushDiskType=ASYNC_FLUSH: what a broker that lost its power had acknowledged may have been in memory only"
    return (taken(declared, why, Damage.FORGETS | Damage.DESTROYS),)


def _disks_lost(declared: Declared) -> Sequence[Mechanism]:
    why = f"a message needs to be on the disks of {copies_at_least(declared)} broker(s) that can be master"
    return (taken(declared, why, Damage.DESTROYS),)


def _alone(declared: Declared, why: str) -> Sequence[Mechanism]:
    """Return how what the master alone has is lost when another broker becomes master."""
    return (
        Copies(
            why=why,
            required=Required.LEADER,
            elects=Elects.LAGGING,
            lag_ns=lag_ns(declared),
            from_its_end=not has_queues(declared),
        ),
    )


def _one_copy(declared: Declared) -> Sequence[Mechanism]:
    if not declared.options.elects or copies_at_least(declared) > 1 or all_ack(declared):
        return ()
    why = (
        "allAckInSyncStateSet=false, inSyncReplicas=1: the master acknowledges alone, and what no slave has yet is "
        "lost when another broker becomes master"
    )
    return _alone(declared, why)


def _gives_up_slaves(declared: Declared) -> Sequence[Mechanism]:
    options: RocketOptions = declared.options
    if not options.elects or not all_ack(declared) or parse_version(options.version) < _GIVES_UP_SLAVES:
        return ()
    why = (
        "a master whose connection to a slave breaks takes it out of its own sync-state set before controllers agree: "
        "what waited for the last slave is acknowledged, by the master alone"
    )
    return _alone(declared, why)


def _oneway(declared: Declared) -> Sequence[Mechanism]:
    if way(declared) != ONEWAY:
        return ()
    why = "send: oneway: a message counts as sent once it is written to the socket, and no broker answers"
    on_its_way = Way(why=why, path=(Party.PRODUCER, Party.LEADER))
    return (on_its_way, *_alone(declared, why)) if declared.options.elects else (on_its_way,)


def _not_in_order(declared: Declared) -> Sequence[Mechanism]:
    chosen = way(declared)
    if chosen not in (ASYNC, ONEWAY):
        return ()
    why = f"send: {chosen}: several threads of the client send, and several of the broker write, one message each"
    return (Choice(why=why),)


def _retries(declared: Declared) -> Sequence[Mechanism]:
    again, name = retried(declared)
    if not again:
        return ()
    why = (
        f"send: {way(declared)}, {name}={again}: a message whose answer was lost is sent again, and "
        "brokers recognise no duplicates"
    )
    asked_ms = int(setting(producer_settings(declared.producer), *_TIMES_OUT))
    lost = Retry(why=why, path=_WAY, by=PARTS_CONNECTIONS | LATE, patience_ns=asked_ms * MILLISECOND)
    if declared.get(Resends) is not None or declared.options.clients == "python" or way(declared) != ASYNC:
        return (lost,)  # one that waits for its answer has waited for all its attempts by then
    late = f"{_TIMES_OUT[0]}={asked_ms}, {name}={again}: a message is sent again if its answer takes longer"
    return lost, Limit(why=late, measure=Measure.ANSWER, most=asked_ms * MILLISECOND)


def _counted_twice(declared: Declared) -> Sequence[Mechanism]:
    if declared.get(Group) is None:
        return ()
    why = (
        "a member that connected again counts twice while the broker keeps its former connection, for two minutes at "
        "most: the second one's share is not read"
    )
    return (Session(why=why, after_ns=_COUNTED_NS, group=True),)


def _any_order(declared: Declared) -> Sequence[Mechanism]:
    if not has_queues(declared) or in_order(declared):
        return ()
    return (Choice(why="type: normal: messages are spread over the queues of a topic, and popped from all of them"),)


_WRITTEN_LATER = (TIMER_FLUSH_MS, TIMER_PRECISION_MS, OFFSETS_FLUSH_MS)
"""How long after its time a broker may not have written that a delayed message has come to light, and was popped."""


def _delayed_again(declared: Declared) -> Sequence[Mechanism]:
    delay_ms = max((dict(topic.settings).get("delay", 0) for topic in declared.topics), default=0)
    if not delay_ms:
        return ()
    why = (
        "which delayed messages came to light is written a second later, and slaves copy it every 3 s: after a failure "
        "of the master some come to light again"
    )
    path, options = (Party.LEADER,), declared.options
    waits_ms = delay_ms + sum(setting.number_of(options) for setting in _WRITTEN_LATER)
    # What comes to light again, and is popped again besides, is received once more after that was settled.
    return Session(why=why, path=path), Retry(why=why, path=path, after_ns=waits_ms * MILLISECOND)


def _popped_again(declared: Declared) -> Sequence[Mechanism]:
    if not has_queues(declared):
        return ()
    why = (
        "how far a group has popped, and what of it is acknowledged, is written seconds later, and slaves copy it "
        "every 10 s: after a failure messages are popped again"
    )
    return (Session(why=why, group=True),)


_WAY = (Party.PRODUCER, Party.BROKERS, Party.LEADER)

RULES = (
    Rule(
        "rocketmq.disks-lost",
        ("truncated", "unacked-vanished"),
        _disks_lost,
        "set mode: controller, allAckInSyncStateSet=true and minInSyncReplicas=2",
        "RocketMQ documentation, Controller mode, minInSyncReplicas",
        "rocketmq/disk-wiped:one-copy",
        "rocketmq/disk-wiped:two-copies",
    ),
    Rule(
        "rocketmq.os-flush",
        ("truncated", "unacked-vanished"),
        _os_flush,
        "set flushDiskType=SYNC_FLUSH",
        "RocketMQ documentation, broker setting flushDiskType; CommitLog.handleDiskFlush",
        "rocketmq/power-all:async-flush",
        "rocketmq/power-all:sync-flush",
    ),
    *UNFLUSHED_RULES,
    Rule(
        "rocketmq.one-copy",
        ("truncated",),
        _one_copy,
        "set allAckInSyncStateSet=true and minInSyncReplicas=2",
        "RocketMQ documentation, Controller mode, allAckInSyncStateSet; issue 7017 of apache/rocketmq",
        "rocketmq/master-isolated:one-copy",
        "rocketmq/master-isolated:all-copies",
    ),
    Rule(
        "rocketmq.gives-up-slaves",
        ("truncated",),
        _gives_up_slaves,
        "set version: 5.3.3",
        "AutoSwitchHAService.removeConnection and GroupTransferService.doWaitTransfer of 5.4.0; docs/rocketmq.md",
        "rocketmq/master-isolated:gives-up",
        "rocketmq/master-isolated:all-copies",
        known="RocketMQ since 5.4.0, AutoSwitchHAService.removeConnection: a master changes its sync-state set alone",
    ),
    Rule(
        "rocketmq.oneway",
        ("lost",),
        _oneway,
        "set workload.producer.send: sync",
        "RocketMQ documentation, one-way transmission",
        "rocketmq/kill-master:oneway",
        "rocketmq/kill-master:sync",
    ),
    Rule(
        "rocketmq.not-in-order",
        ("reordered", "order-violation"),
        _not_in_order,
        "set workload.producer.send: sync",
        "RocketMQ documentation, ordered messages: one thread, and each send waits for the one before",
        "rocketmq/quiet:async",
        "rocketmq/quiet:master-slave",
    ),
    Rule(
        "rocketmq.delayed-again",
        ("duplicate", "redelivery-flag-missing"),
        _delayed_again,
        "",
        "TimerMessageStore.recover; broker setting timerFlushIntervalMs",
        "rocketmq/queue:delayed-killed",
        "rocketmq/queue:delayed",
        alone=True,
    ),
    Rule(
        "rocketmq.retries",
        ("duplicate", "redelivery-flag-missing"),
        _retries,
        "set retryTimesWhenSendAsyncFailed: 0, with clients: java",
        "MQClientAPIImpl.onExceptionImpl; RocketMQ documentation, message retries",
        "rocketmq/retries:async",
        "rocketmq/retries:no-retries",
    ),
    Rule(
        "rocketmq.any-order",
        ("fifo-violation",),
        _any_order,
        "set type: fifo",
        "RocketMQ documentation, ordered messages: order is kept in a message group of a FIFO topic",
        "rocketmq/queue:normal",
        "rocketmq/queue:fifo",
        alone=True,
    ),
    Rule(
        "rocketmq.popped-again",
        ("duplicate", "redelivery-flag-missing", "fifo-violation", "dead-letter-twice"),
        _popped_again,
        "",
        "ConsumerOffsetManager, ConsumerOrderInfoManager and PopReviveService; docs/rocketmq.md, Queues",
        "rocketmq/queue:fifo-killed",
        "rocketmq/queue:fifo",
        alone=True,
    ),
    *TRANSACTION_RULES,
    Rule(
        "rocketmq.counted-twice",
        ("stuck-partition",),
        _counted_twice,
        "",
        "ConsumerGroupInfo.getAllClientId: one id for each connection; docs/rocketmq.md, Found on the way",
        "rocketmq/group:master-killed",
        "rocketmq/group:quiet",
        alone=True,
        known="RocketMQ 5.5.0, ConsumerGroupInfo.getAllClientId: a client with two connections counts twice",
    ),
)


def promises(declared: Declared) -> Mapping[str, str]:
    """Return, by anomaly, why it must not occur if no rule allows it."""
    options = declared.options
    kept = (
        f"mode {options.mode}, flushDiskType={FLUSH.of(options)}: an acknowledged message is in the log of "
        f"{copies_at_least(declared)} broker(s) that can be master"
    )
    ordered = "a queue keeps the order of its messages, and each send waits for the one before"
    kept_names = (
        "lost", "truncated", "late", "rewound", "skipped", "offset-conflict", "redelivered", "commit-regression",
        "commit-beyond", "dropped-as-duplicate",
    )  # fmt: skip
    return {
        **dict.fromkeys(kept_names, kept),
        **dict.fromkeys(("reordered", "order-violation"), ordered),
        "duplicate": _SENT_ONCE if retried(declared)[0] else "a send to a chosen queue is made once",
        "sequence-jump": "the log keeps each producer's sequence, and readers follow the log",
        "expired": "fileReservedTime keeps messages for longer than the run",
        "phantom": "only messages that were sent can be read",
        "misrouted": "a message stays in the queue that it was sent to",
        "corrupt": "a message carries a CRC of its body",
        "failed-visible": "a send is classified as failed only if nothing was appended",
        "passed-over": "a member that takes over a queue begins where its group had committed, or earlier",
        "double-assignment": "each member divides the queues by itself, without a generation",
        "stuck-partition": "delivery resumes once the queue has a master",
        "stuck": "readable messages are delivered to every reader of the queue",
        "crashed": RUNS,
        **(_OF_QUEUES if declared.get(Queueing) else {}),
        **TRANSACTION_PROMISES,
    }


_OF_QUEUES = {
    "unacked-vanished": "a message that was popped is visible again if it is not acknowledged in time",
    "duplicate": "an acknowledged message is not popped again without a failure",
    "redelivery-flag-missing": "a message that is popped again carries its delivery count",
    "fifo-violation": "a FIFO topic delivers a message group in the order in which it was sent",
    "delivered-early": "a delayed message waits for its time",
    "dead-letter-missing": "a message that came too often goes to the group's topic of dead letters",
    "dead-letter-early": "a message goes to the dead letters when it came too often, and not before",
    "dead-letter-twice": "without a failure a message goes to the dead letters once",
    "delivery-limit-exceeded": "a message that came as often as its group allows comes no more",
    "dropped": "nothing but the dead letters takes a message from its topic",
}

_SENT_ONCE = "no fault caused the producer to send a message again"

GUARANTEES = Guarantees(RULES, promises, settings=SETTINGS)
