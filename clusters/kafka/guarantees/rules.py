"""Kafka's guarantees: promises, and rules for documented failures.

Sources are Kafka's own documentation: producer settings `acks`, `retries`, `enable.idempotence`,
`max.in.flight.requests.per.connection`; topic settings `min.insync.replicas`, `unclean.leader.election.enable`,
`flush.messages` (broker: `log.flush.interval.messages`); "Replication" (a message is committed once all in-sync
replicas have it); KIP-98 (idempotence and transactions).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from chaoskit.contract.guarantees.act import Damage
from chaoskit.contract.guarantees.guarantee import Declared, Guarantees, Rule
from chaoskit.contract.guarantees.mechanism import Choice, Copies, Elects, Mechanism
from chaoskit.contract.guarantees.setting import is_true
from chaoskit.contract.workloads.traits import Queueing, Resends
from clusters.common.guarantees.cycles import CYCLES
from clusters.common.supervision import RUNS
from clusters.kafka.clients.settings import ISOLATION, READ_COMMITTED
from clusters.kafka.guarantees.elections import ELECTION_RULES, EMPTY_LEADER, insync
from clusters.kafka.guarantees.feeds import FEED_RULES
from clusters.kafka.guarantees.given_up import GIVEN_UP
from clusters.kafka.guarantees.late_ends import LATE_END
from clusters.kafka.guarantees.orders import ORDER_RULES
from clusters.kafka.guarantees.queues import OF_QUEUES, QUEUE_RULES
from clusters.kafka.guarantees.retention import RETENTION_RULES
from clusters.kafka.guarantees.sending import (
    acks,
    acks_one,
    acks_zero,
    acks_zero_order,
    in_flight,
    never_twice,
    retries,
)
from clusters.kafka.guarantees.storing import DISKS_LOST, STORING_RULES
from clusters.kafka.guarantees.tiered import TIERED_RULES
from clusters.kafka.guarantees.zookeeper import ZOOKEEPER_RULES
from clusters.kafka.settings import SETTINGS, lag_ns


def _restarts(declared: Declared) -> Sequence[Mechanism]:
    resends = declared.get(Resends)
    if resends is None or not resends.restarts:
        return ()
    why = (
        "restart_every: messages in flight of an abandoned client may be appended after the first messages of the next "
        "client"
    )
    return (Choice(why=why),)


def _isolation(declared: Declared) -> str:
    """Return what consumers read; null selects the client's default, which is not the same for both."""
    own = "read_uncommitted" if declared.options.clients == "java" else READ_COMMITTED
    return str(declared.consumer.get(ISOLATION, READ_COMMITTED) or own)


def _uncommitted(declared: Declared) -> Sequence[Mechanism]:
    if _isolation(declared) != "read_uncommitted":
        return ()
    return (Choice(why="isolation.level=read_uncommitted: consumers receive uncommitted messages"),)


def _own_ids(declared: Declared) -> Sequence[Mechanism]:
    if "{incarnation}" not in str(declared.producer.get("transactional.id", "")):
        return ()
    why = "each incarnation has a different transactional.id, so registering it does not fence earlier ones"
    return (Choice(why=why),)


def _not_isolated(declared: Declared) -> Sequence[Mechanism]:
    why = (
        "Kafka's transactions are atomic and read committed, but not isolated from each other: their writes interleave "
        "in the log; early and partial reads are reported as precommitted-read and torn-transaction"
    )
    return (Choice(why=why),)


def _checks_crcs(declared: Declared) -> bool:
    return is_true(declared.consumer.get("check.crcs", True))


def _unchecked(declared: Declared) -> Sequence[Mechanism]:
    if _checks_crcs(declared):
        return ()
    why = "check.crcs=false: consumers receive the content of a damaged file of the leader, with damaged positions"
    return (Copies(why=why, takes=Damage.CORRUPTS, enough=1, elects=Elects.DAMAGED, lag_ns=lag_ns(declared.options)),)


RULES = (
    Rule(
        "kafka.acks-zero",
        ("lost",),
        acks_zero,
        "set acks=all",
        "Kafka documentation, producer setting acks",
        "kafka/kill-leader:acks-zero",
        "kafka/kill-leader:acks-all",
    ),
    Rule(
        "kafka.acks-zero-order",
        ("order-violation",),
        acks_zero_order,
        "set acks=all",
        "Kafka documentation, producer setting acks",
        "kafka/reset-connections:acks-zero",
        "kafka/reset-connections:acks-all",
    ),
    Rule(
        "kafka.acks-one",
        ("lost",),
        acks_one,
        "set acks=all and min.insync.replicas=2",
        "Kafka documentation, producer setting acks",
        "kafka/kill-leader:acks-one",
        "kafka/kill-leader:acks-all",
    ),
    DISKS_LOST,
    EMPTY_LEADER,
    *STORING_RULES,
    *ORDER_RULES,
    *RETENTION_RULES,
    *FEED_RULES,
    *QUEUE_RULES,
    *ELECTION_RULES,
    *ZOOKEEPER_RULES,
    *TIERED_RULES,
    Rule(
        "kafka.retries",
        ("duplicate",),
        retries,
        "set enable.idempotence=true",
        "Kafka documentation, producer settings retries and enable.idempotence",
        "kafka/retries:plain",
        "kafka/retries:idempotent",
    ),
    Rule(
        "kafka.restarts",
        ("reordered",),
        _restarts,
        "remove restart_every",
        "chaoskit documentation, workload dedup",
        "kafka/restarting-producers:restarts",
        "kafka/restarting-producers:steady",
    ),
    Rule(
        "kafka.in-flight",
        ("reordered",),
        in_flight,
        "set enable.idempotence=true, or max.in.flight=1",
        "Kafka documentation, producer setting max.in.flight.requests.per.connection",
        "kafka/retries-reordered:many-in-flight",
        "kafka/retries-reordered:one-in-flight",
    ),
    GIVEN_UP,
    LATE_END,
    Rule(
        "kafka.read-uncommitted",
        ("aborted-read", "precommitted-read", "zombie-write"),
        _uncommitted,
        "set isolation.level=read_committed",
        "Kafka documentation, consumer setting isolation.level",
        "kafka/transactions-read:uncommitted",
        "kafka/transactions-read:committed",
    ),
    Rule(
        "kafka.own-transactional-ids",
        ("zombie-write",),
        _own_ids,
        "use the same transactional.id for all incarnations of a producer",
        "KIP-98, zombie fencing",
        "kafka/transactions-zombie:own-ids",
        "kafka/transactions-zombie:one-id",
    ),
    Rule(
        "kafka.not-isolated",
        CYCLES,
        _not_isolated,
        "no setting isolates them; use one transactional producer for messages that must not interleave",
        "KIP-98",
        "kafka/transactions:two-producers",
        "kafka/transactions:one-producer",
    ),
    Rule(
        "kafka.unchecked-crcs",
        ("corrupt", "duplicate"),
        _unchecked,
        "set check.crcs=true",
        "Kafka documentation, consumer setting check.crcs",
        "kafka/bit-flip:unchecked",
        "kafka/bit-flip:checked",
    ),
)


def promises(declared: Declared) -> Mapping[str, str]:
    """Return, by anomaly, why it must not occur if no rule allows it."""
    committed = (
        f"acks={acks(declared)}, min.insync.replicas={insync(declared)}, replication {declared.replication}: "
        "a committed message survives as long as one in-sync replica has it"
    )
    ordered = "one producer's messages to one partition keep their order (idempotence, or one request in flight)"
    read_committed = f"isolation.level={_isolation(declared)}"
    return {
        **dict.fromkeys(
            (
                "lost", "resurrected", "truncated", "rewound", "skipped", "late", "offset-conflict",
                "dropped-as-duplicate", "commit-regression", "commit-beyond", "torn-transaction", "zombie-write",
                "redelivered",
            ),
            committed,
        ),
        **dict.fromkeys(("reordered", "order-violation", "fifo-violation"), ordered),
        **dict.fromkeys(("aborted-read", "precommitted-read"), read_committed),
        "duplicate": never_twice(declared),
        "sequence-jump": "the log keeps each producer's sequence, and readers follow the log",
        "corrupt": "record batches carry a CRC32C: brokers verify what is produced, consumers what they read",
        "expired": "retention.ms and retention.bytes keep messages for longer than the run",
        "phantom": "only messages that were sent can be read",
        "misrouted": "a message stays in the partition that it was sent to",
        "failed-visible": "a send is classified as failed only if the error proves that nothing was appended",
        "passed-over": "a member that takes over a partition begins where its group had committed, or earlier",
        "double-assignment": "the group leader assigns each partition to one member per generation",
        "crashed": RUNS,
        "stuck-partition": "delivery of an assigned partition resumes once its leader and the coordinator are back",
        "stuck": "readable messages are delivered to every reader of the partition",
        **(OF_QUEUES if declared.get(Queueing) else {}),
    }  # fmt: skip


GUARANTEES = Guarantees(RULES, promises, settings=SETTINGS)
