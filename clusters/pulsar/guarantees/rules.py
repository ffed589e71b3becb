"""Pulsar's guarantees: promises, and rules for documented failures.

The rules for bookies and ZooKeeper are in `clusters.storage.durability`, those for subscriptions in
`subscription_guarantees`, those for queues in `queue_guarantees`. Sources: Pulsar's documentation of
`brokerDeduplicationEnabled`; for sequence ids and batches, `MessageDeduplication.isDuplicate` (Pulsar 4.0.7), pull
request 5491 of apache/pulsar (which added the highest sequence id to batches of the Java client), issue 1395 of
apache/pulsar-client-go, and runs (docs/deduplication.md).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from chaoskit.contract.guarantees.act import Act
from chaoskit.contract.guarantees.guarantee import Declared, Guarantees, Rule
from chaoskit.contract.guarantees.mechanism import Choice, Mechanism, Party, Retry, Session
from chaoskit.contract.workloads.traits import Group, Resends, Transactions
from clusters.common.guarantees.cycles import CYCLES
from clusters.common.supervision import RUNS
from clusters.pulsar.clients.settings import chosen_producer
from clusters.pulsar.guarantees.queues import QUEUE_RULES, queue_promises
from clusters.pulsar.guarantees.subscriptions import SUBSCRIPTION_PROMISES, SUBSCRIPTION_RULES
from clusters.pulsar.settings import SETTINGS
from clusters.storage.durability import ONE_WRITER, STORAGE_RULES, kept

_APART = frozenset({"offset-conflict", "commit-regression", "commit-beyond", "torn-transaction", "zombie-write"})
"""A ledger that lost its end gets no other entries there, and commits are never confirmed."""

_BATCHES = "pulsar-client's batches carry only the sequence id of their first message"
_NO_RESENDS = Resends("never", restarts=False)


def _resends(declared: Declared) -> Resends:
    return declared.get(Resends) or _NO_RESENDS


def _batches(declared: Declared) -> bool:
    return bool(chosen_producer(declared.producer).get("batching_enabled"))


def _resent(declared: Declared, why: str) -> Sequence[Mechanism]:
    """Return how a message is sent again: whenever a producer goes on with a new client, or its answer was lost, or its
    owner lost ZooKeeper or its bookies, and with them the topic."""
    if _resends(declared).restarts:
        return (Choice(why=why),)
    return Retry(why=why, names=SEND), Retry(why=why, path=(Party.LEADER, Party.BROKERS), by=Act.CUTS | Act.BREAKS)


def _other_batches(declared: Declared) -> Sequence[Mechanism]:
    if not declared.options.deduplication or _resends(declared).what == "never" or not _batches(declared):
        return ()
    why = f"{_BATCHES}: messages that an application resends in different batches are not recognised individually"
    return (Choice(why=why),)


def _no_deduplication(declared: Declared) -> Sequence[Mechanism]:
    if declared.options.deduplication:
        return ()
    if _resends(declared).restarts:
        why = "deduplication is off: a producer that continues with a new client resends unconfirmed messages"
        return (Choice(why=why),)
    why = (
        "deduplication is off: after a reconnection the client resends messages that were written but whose "
        "acknowledgement was lost"
    )
    return _resent(declared, why)


def _resent_behind(declared: Declared) -> Sequence[Mechanism]:
    if not declared.options.deduplication or _resends(declared).what != "at-once":
        return ()
    why = "resend: at-once: brokers treat a message that is resent after later ones as a duplicate, stored or not"
    return _resent(declared, why)


def _batch_dropped(declared: Declared) -> Sequence[Mechanism]:
    resent = _resends(declared).what == "unconfirmed" and _batches(declared)
    if not declared.options.deduplication or not resent:
        return ()
    why = f"{_BATCHES}: a batch whose first message the broker already has is dropped, including its new messages"
    return _resent(declared, why)


def _reordered(declared: Declared) -> Sequence[Mechanism]:
    if _resends(declared).what != "at-once":
        return ()
    return _resent(declared, "resend: at-once: a resent message follows later messages")


def _moved(declared: Declared) -> Sequence[Mechanism]:
    if declared.get(Group) is None:
        return ()
    why = (
        "a fault made members connect again: subscriptions deliver at least once, and pulsar-client does not notify a "
        "member when its partition is assigned to another one and back"
    )
    return (Session(why=why, path=(Party.CONSUMER, Party.BROKERS), group=True),)


def _not_isolated(declared: Declared) -> Sequence[Mechanism]:
    if declared.get(Transactions) is None:
        return ()
    why = (
        "Pulsar's transactions are atomic and read committed, but not isolated from each other: their writes "
        "interleave in the log"
    )
    return (Choice(why=why),)


def _chunks_resent(declared: Declared) -> Sequence[Mechanism]:
    if not chosen_producer(declared.producer).get("chunking_enabled"):
        return ()
    why = (
        "chunking_enabled=true: after a reconnection the client sends chunks again that the topic has, and consumers "
        "discard a message whose chunks do not follow each other"
    )
    return (Retry(why=why, names=SEND),)


SEND = frozenset({"SEND", "SEND_RECEIPT"})
"""The messages that carry a producer's messages, and their answers."""

RULES = (
    Rule(
        "pulsar.chunks-resent",
        ("lost",),
        _chunks_resent,
        "send messages that fit into one entry, and set chunking_enabled: false",
        "apache/pulsar-client-cpp, pull request 587; apache/pulsar, pull request 21070",
        "pulsar/chunks:lost-chunk",
        "pulsar/chunks:whole",
        known="https://github.com/apache/pulsar-client-cpp/pull/587",
    ),
    Rule(
        "pulsar.not-isolated",
        CYCLES,
        _not_isolated,
        "no setting isolates them; use one producer for messages that must not interleave",
        "Pulsar documentation, transactions; PIP-31",
        "pulsar/transactions:two-producers",
        "pulsar/transactions:one-producer",
    ),
    Rule(
        "pulsar.resent-behind",
        ("dropped-as-duplicate",),
        _resent_behind,
        "set resend: asked",
        "Pulsar 4.0.7, MessageDeduplication.isDuplicate",
        "pulsar/deduplication:resend-at-once",
        "pulsar/deduplication:on",
    ),
    Rule(
        "pulsar.batch-dropped",
        ("dropped-as-duplicate",),
        _batch_dropped,
        "set workload.producer.batching_enabled: false, or resend: asked",
        "pull request 5491 of apache/pulsar, issue 1395 of apache/pulsar-client-go",
        "pulsar/deduplication:batches-dropped",
        "pulsar/deduplication:on",
        known="apache/pulsar, pull request 5491: only batches of the Java client carry their highest sequence id",
    ),
    *STORAGE_RULES,
    Rule(
        "pulsar.other-batches",
        ("duplicate",),
        _other_batches,
        "set workload.producer.batching_enabled: false",
        "Pulsar 4.0.7, MessageDeduplication.isDuplicate",
        "pulsar/deduplication:other-batches",
        "pulsar/deduplication:on",
    ),
    Rule(
        "pulsar.no-deduplication",
        ("duplicate",),
        _no_deduplication,
        "set deduplication: true",
        "Pulsar documentation, broker setting brokerDeduplicationEnabled",
        "pulsar/deduplication:off",
        "pulsar/deduplication:on",
    ),
    Rule(
        "pulsar.resent-order",
        ("reordered",),
        _reordered,
        "set resend: asked",
        "chaoskit documentation, workload dedup",
        "pulsar/deduplication:resend-at-once-off",
        "pulsar/deduplication:on",
    ),
    Rule(
        "pulsar.at-least-once",
        ("redelivered", "rewound", "skipped"),
        _moved,
        "",
        'Pulsar documentation, "Subscriptions"',
        "pulsar/group:members",
        "pulsar/group:assigned",
    ),
    *SUBSCRIPTION_RULES,
    *QUEUE_RULES,
)


def promises(declared: Declared) -> Mapping[str, str]:
    """Return, by anomaly, why it must not occur if no rule allows it."""
    no_commits = "commits are never confirmed: acknowledgements have no receipt"
    ordered = "a producer sends and resends in sequence order, to one owner at a time"
    forgotten = (
        "lost",
        "resurrected",
        "truncated",
        "late",
        "dropped-as-duplicate",
        "redelivered",
        "rewound",
        "skipped",
    )
    return {
        **dict.fromkeys(forgotten, kept(declared)),
        **dict.fromkeys(("reordered", "order-violation"), ordered),
        **dict.fromkeys(("commit-regression", "commit-beyond"), no_commits),
        "passed-over": "a member that takes over a partition begins where its group had committed, or earlier",
        "double-assignment": "pulsar-client does not report which consumer of a failover subscription is active",
        "stuck-partition": "a subscription delivers again once its partition has an owner",
        "stuck": "readable messages are delivered to every reader of the partition",
        "crashed": RUNS,
        "duplicate": _never_twice(declared),
        "offset-conflict": ONE_WRITER,
        "sequence-jump": "the log keeps each producer's sequence, and readers follow the log",
        "expired": "retention keeps all messages of the namespace for longer than the run",
        "phantom": "only messages that were sent can be read",
        "misrouted": "a message stays in the partition that it was sent to",
        "failed-visible": "a send is classified as failed only if the client rejected it before it was pending",
        "corrupt": "brokers verify a CRC32C of each entry that they read, clients a CRC32C of each message",
        **SUBSCRIPTION_PROMISES,
        **queue_promises(declared),
    }


def _never_twice(declared: Declared) -> str:
    if declared.options.deduplication:
        return "deduplication: brokers drop messages of a producer whose sequence ids they already have"
    return "no fault caused the producer to resend a message"


GUARANTEES = Guarantees(RULES, promises, _APART, SETTINGS)
