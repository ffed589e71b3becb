"""RabbitMQ's guarantees: promises, and rules for what its documentation, and runs, say about losses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from chaoskit.base.quantities import SECOND
from chaoskit.contract.guarantees.act import Act, Damage
from chaoskit.contract.guarantees.guarantee import Declared, Guarantees, Rule
from chaoskit.contract.guarantees.mechanism import Copies, Mechanism, Party, Required, Retry, Session, Way
from chaoskit.contract.workloads.traits import Queueing, Resends
from clusters.common.supervision import RUNS
from clusters.rabbitmq.guarantees.mirrors import MIRROR_RULES
from clusters.rabbitmq.guarantees.settled import SETTLED_PROMISES, SETTLED_RULES
from clusters.rabbitmq.queues import CLASSIC, MIRRORED, QUORUM, STREAM, type_of
from clusters.rabbitmq.releases import parse_version
from clusters.rabbitmq.streams.names import NAMED

_NOT_FSYNCED_SINCE = (4, 0)
"""Classic queues of 3.10 synced their journal before a confirm; those of 4.0 (version 2) write, and do not sync."""

_HANG_NOT_SEEN_SINCE = (4, 0)
"""Nodes of 3.10.8 hung when they started again after a power cut, and after a partition."""

_HANGS_NS = 60 * SECOND
"""How long a node may hang before the harness takes it for hung; see `clusters.common.supervision`."""

_AT_LEAST_ONCE = "delivery is at least once: what is not acknowledged when a connection or a leader ends comes again"


def _no_confirms(declared: Declared) -> Sequence[Mechanism]:
    queueing = declared.get(Queueing)
    if queueing is None or queueing.confirms:
        return ()
    why = "confirms: false: a message counts as sent once the client has written it to its connection"
    way = Way(why=why, path=(Party.PRODUCER, Party.BROKERS, Party.LEADER))
    if type_of(declared) != CLASSIC:
        return (way,)
    # Its index is written when it has as many entries as a segment, or somebody waits for a confirm.
    buffered = f"{why}, and a classic queue keeps messages without confirms in memory"
    return way, Copies(why=buffered, required=Required.LEADER, in_process=Act.ENDS)


def _transient(declared: Declared) -> Sequence[Mechanism]:
    queueing = declared.get(Queueing)
    if queueing is None or queueing.persistent or type_of(declared) == QUORUM:
        return ()
    why = "persistent: false: classic queues keep the message in memory only, and a node restarted"
    return (Copies(why=why, required=Required.LEADER, in_process=Act.ENDS | Act.STOPS),)


def _one_copy_not_fsynced(declared: Declared) -> Sequence[Mechanism]:
    if type_of(declared) != CLASSIC:
        return ()
    if parse_version(declared.options.version) >= _NOT_FSYNCED_SINCE:
        why = "a classic queue is on one node, which confirms persistent messages before they are synced to its disk"
        return (Copies(why=why, required=Required.LEADER, takes=Damage.FORGETS | Damage.DESTROYS),)
    why = "a classic queue is on one node, and what that node had synced was destroyed"
    return (Copies(why=why, required=Required.LEADER, takes=Damage.DESTROYS),)


def _stream_not_synced(declared: Declared) -> Sequence[Mechanism]:
    if type_of(declared) != STREAM:
        return ()
    majority = declared.replication // 2 + 1
    members = f"{majority} of {declared.replication} members"
    why = f"a stream is confirmed when {members} have written it, and none has synced it"
    takes = Damage.FORGETS | Damage.DESTROYS
    return (Copies(why=why, required=Required.HOLDERS, takes=takes, enough=majority, lag_ns=0, from_its_end=True),)


def _without_name(declared: Declared) -> Sequence[Mechanism]:
    if declared.producer.get(NAMED, True) or declared.get(Resends) is None:
        return ()
    why = "named: false: a stream knows publishing ids again of producers with names only"
    return (Retry(why=why, path=(Party.PRODUCER, Party.BROKERS)),)


def _global_hangs(declared: Declared) -> Sequence[Mechanism]:
    if parse_version(declared.options.version) >= _HANG_NOT_SEEN_SINCE:
        return ()
    why = (
        "nodes lost their connections to each other: Erlang's global may wait for ever when one of them starts again "
        '("Global hang workaround" in its log)'
    )
    path = (Party.HOLDERS, Party.BROKERS)
    return (Session(why=why, path=path, by=Act.CUTS | Act.BREAKS | Act.DROPS | Act.VANISHES, after_ns=_HANGS_NS),)


def _redelivers(declared: Declared) -> Sequence[Mechanism]:
    queueing = declared.get(Queueing)
    if queueing is None or not queueing.consumers:
        return ()
    return (Session(why=_AT_LEAST_ONCE, path=(Party.CONSUMER, Party.BROKERS, Party.HOLDERS), group=True),)


RULES = (
    Rule(
        "rabbitmq.no-confirms",
        ("lost",),
        _no_confirms,
        "set confirms: true",
        "RabbitMQ documentation, Consumer Acknowledgements and Publisher Confirms; rabbit_classic_queue_index_v2, "
        "maybe_flush_buffer",
        "rabbitmq/kill-leader:no-confirms",
        "rabbitmq/kill-leader:confirms",
    ),
    Rule(
        "rabbitmq.transient",
        ("lost",),
        _transient,
        "set persistent: true",
        "RabbitMQ documentation, Classic Queues, Durability",
        "rabbitmq/restart:transient",
        "rabbitmq/restart:persistent",
    ),
    Rule(
        "rabbitmq.classic-queue",
        ("lost",),
        _one_copy_not_fsynced,
        "use type: quorum",
        "RabbitMQ documentation, Quorum Queues, Data Safety; docs/rabbitmq.md, Power cuts",
        "rabbitmq/power-all:classic",
        "rabbitmq/power-all:quorum",
    ),
    Rule(
        "rabbitmq.stream-not-synced",
        ("truncated",),
        _stream_not_synced,
        "use type: quorum",
        "RabbitMQ documentation, Streams, Data Safety",
        "rabbitmq/stream-power:all",
        "rabbitmq/stream-power:leader",
    ),
    Rule(
        "rabbitmq.without-name",
        ("duplicate",),
        _without_name,
        "remove named: false",
        "RabbitMQ documentation, Streams, Message Deduplication",
        "rabbitmq/lost-confirms:without-name",
        "rabbitmq/lost-confirms:named",
    ),
    *MIRROR_RULES,
    *SETTLED_RULES,
    Rule(
        "rabbitmq.global-hangs",
        ("crashed",),
        _global_hangs,
        "use RabbitMQ 4, or restart a node that does not come back",
        "rabbitmq/rabbitmq-server, pull request 5442; docs/rabbitmq.md, Partitions",
        "rabbitmq/mirrored-partition:pause-minority",
        "rabbitmq/partition:no-consumers",
        alone=True,
        known="rabbitmq/rabbitmq-server, pull requests 5442 and 5483: global:sync/0 hangs after network failures",
    ),
    Rule(
        "rabbitmq.at-least-once",
        ("duplicate", "redelivery-flag-missing", "fifo-violation", "dead-letter-twice", "expired-late"),
        _redelivers,
        "",
        "RabbitMQ documentation, Reliability Guide, Acknowledgements and Confirms",
        "rabbitmq/partition:consumers",
        "rabbitmq/partition:no-consumers",
        alone=True,
    ),
)

_COPIES = {
    QUORUM: "the quorum queue, on the synced disks of a majority of {} members",
    CLASSIC: "the classic queue, on one node",
    MIRRORED: "the mirrored queue, on all of its {} nodes that run",
    STREAM: "the stream, written by a majority of {} members",
}

_PROMISED = {
    "crashed": RUNS,
    "phantom": "only messages that were published are delivered",
    "misrouted": "the default exchange routes a message to the queue that it names",
    "corrupt": "messages are delivered as they were published",
    "failed-visible": "a publish is classified as failed only if it was not written, or was returned as unroutable",
    "unacked-vanished": "a message stays in its queue until a consumer acknowledges it",
    "duplicate": "an acknowledged message is not delivered again without a failure",
    "redelivery-flag-missing": "a message that is delivered again is marked",
    "fifo-violation": "a queue delivers messages of one channel in the order in which they were published",
}


def promises(declared: Declared) -> Mapping[str, str]:
    """Return, by anomaly, why it must not occur if no rule allows it."""
    copies = _COPIES[type_of(declared) or CLASSIC].format(declared.replication)
    return {**_PROMISED, **SETTLED_PROMISES, "lost": f"a confirmed message is in {copies}"}


GUARANTEES = Guarantees(RULES, promises)
