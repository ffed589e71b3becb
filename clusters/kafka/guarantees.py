"""Kafka's guarantees: promises, and rules for documented failures.

Sources are Kafka's own documentation: producer settings `acks`, `retries`, `enable.idempotence`,
`max.in.flight.requests.per.connection`; topic settings `min.insync.replicas`, `unclean.leader.election.enable`,
`flush.messages` (broker: `log.flush.interval.messages`); "Replication" (a message is committed once all in-sync
replicas have it); KIP-98 (idempotence and transactions).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from chaoskit.base.quantities import SECOND
from chaoskit.contract.guarantee import Damage, Declared, Effect, Guarantees, Rule
from chaoskit.contract.traits import Resends
from clusters.common.cycles import CYCLES
from clusters.common.effects import LOSES, damaged, hosts_down_together
from clusters.common.properties import is_true, setting
from clusters.common.supervision import RUNS
from clusters.kafka.consumer import ISOLATION, READ_COMMITTED
from clusters.kafka.elections import ELECTION_RULES, EMPTY_LEADER, insync
from clusters.kafka.feed_guarantees import FEED_RULES
from clusters.kafka.given_up import GIVEN_UP
from clusters.kafka.late_ends import LATE_END
from clusters.kafka.retention import deletes, offsets_expire
from clusters.kafka.sending import acks, acks_one, acks_zero, acks_zero_order, in_flight, never_twice, retries
from clusters.kafka.settings import KafkaOptions
from clusters.kafka.storing import disks_lost, files_changed, os_flush
from clusters.kafka.zookeeper_guarantees import ZOOKEEPER_RULES

_LAG_NS = 30 * SECOND
"""Default of `replica.lag.time.max.ms`."""


def _internal_os_flush(declared: Declared, effects: Sequence[Effect]) -> str:
    options: KafkaOptions = declared.options
    cut = hosts_down_together(effects, LOSES)
    flushed = str(setting(options.config, "log.flush.interval.messages", 0)) == "1"
    if flushed or cut < int(setting(options.config, "min.insync.replicas", 1)):
        return ""
    return (
        f"log.flush.interval.messages is not 1 on brokers, and {cut} host(s) lost power at the same time: the topic of "
        "committed offsets has the brokers' flush settings, so they may have been in memory only"
    )


def _restarts(declared: Declared, effects: Sequence[Effect]) -> str:
    resends = declared.get(Resends)
    if resends is None or not resends.restarts:
        return ""
    return (
        "restart_every: messages in flight of an abandoned client may be appended after the first messages of the next "
        "client"
    )


def _isolation(declared: Declared) -> str:
    """Return what consumers read; null selects the client's default, which is not the same for both."""
    own = "read_uncommitted" if declared.options.clients == "java" else READ_COMMITTED
    return str(declared.consumer.get(ISOLATION, READ_COMMITTED) or own)


def _uncommitted(declared: Declared, effects: Sequence[Effect]) -> str:
    if _isolation(declared) != "read_uncommitted":
        return ""
    return "isolation.level=read_uncommitted: consumers receive uncommitted messages"


def _own_ids(declared: Declared, effects: Sequence[Effect]) -> str:
    if "{incarnation}" not in str(declared.producer.get("transactional.id", "")):
        return ""
    return "each incarnation has a different transactional.id, so registering it does not fence earlier ones"


def _not_isolated(declared: Declared, effects: Sequence[Effect]) -> str:
    return (
        "Kafka's transactions are atomic and read committed, but not isolated from each other: their writes interleave "
        "in the log; early and partial reads are reported as precommitted-read and torn-transaction"
    )


def _checks_crcs(declared: Declared) -> bool:
    return is_true(declared.consumer.get("check.crcs", True))


def _unchecked(declared: Declared, effects: Sequence[Effect]) -> str:
    if _checks_crcs(declared) or not damaged(effects, Damage.CORRUPTS):
        return ""
    return "check.crcs=false: consumers receive the content of a damaged file of the leader, with damaged positions"


RULES = (
    Rule(
        "kafka.acks-zero",
        ("lost",),
        acks_zero,
        "set acks=all",
        "Kafka documentation, producer setting acks",
        "kafka/kill-leader:acks-zero",
        "kafka/kill-leader:acks-all",
        anywhere=True,
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
        elects=True,
    ),
    Rule(
        "kafka.disks-lost",
        ("truncated",),
        disks_lost,
        "keep fewer replicas on disks that can fail together, or raise min.insync.replicas (at the replication, one "
        "broker that is away stops all writes)",
        'Kafka documentation, "Replication"',
        "kafka/last-replica:disk-min-insync-one",
        "kafka/last-replica:disk-min-insync-two",
    ),
    EMPTY_LEADER,
    Rule(
        "kafka.os-flush",
        ("truncated",),
        os_flush,
        "set flush.messages=1 (or log.flush.interval.messages=1 on brokers), or keep replicas on separate power",
        "Kafka documentation, topic setting flush.messages",
        "kafka/power-all:os-flush",
        "kafka/power-all:flush-each",
    ),
    Rule(
        "kafka.internal-os-flush",
        ("commit-regression",),
        _internal_os_flush,
        "set log.flush.interval.messages=1 on brokers",
        "Kafka documentation, broker setting log.flush.interval.messages",
        "kafka/offsets-flush:topic-only",
        "kafka/offsets-flush:brokers-too",
    ),
    Rule(
        "kafka.offsets-expired",
        ("commit-regression",),
        offsets_expire,
        "set offsets.retention.minutes to more than a group may be without members",
        "Kafka documentation, broker setting offsets.retention.minutes",
        "kafka/offsets-expired:expired",
        "kafka/offsets-expired:kept",
        anywhere=True,
    ),
    Rule(
        "kafka.retention",
        ("expired",),
        deletes,
        "set retention.ms=-1 and retention.bytes=-1",
        "Kafka documentation, topic settings retention.ms and retention.bytes",
        "kafka/retention:short",
        "kafka/retention:default",
    ),
    Rule(
        "kafka.files-changed",
        ("truncated",),
        files_changed,
        "delete the files of the damaged replica; the broker then fetches them again",
        "Kafka 4.1, LogSegment.recover: a segment ends before its first damaged batch",
        "kafka/truncated-segments:all-replicas",
        "kafka/truncated-segments:follower",
    ),
    *FEED_RULES,
    *ELECTION_RULES,
    *ZOOKEEPER_RULES,
    Rule(
        "kafka.retries",
        ("duplicate",),
        retries,
        "set enable.idempotence=true",
        "Kafka documentation, producer settings retries and enable.idempotence",
        "kafka/retries:plain",
        "kafka/retries:idempotent",
        anywhere=True,
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
        anywhere=True,
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
                "lost", "truncated", "rewound", "skipped", "late", "offset-conflict", "dropped-as-duplicate",
                "commit-regression", "commit-beyond", "torn-transaction", "zombie-write", "redelivered",
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
        "passed-over": "whoever takes a partition over begins where its group had committed, or before that",
        "double-assignment": "the group leader assigns each partition to one member per generation",
        "crashed": RUNS,
        "stuck-partition": "delivery of an assigned partition resumes once its leader and the coordinator are back",
        "stuck": "what is readable is delivered to whoever reads the partition",
    }  # fmt: skip


GUARANTEES = Guarantees(RULES, promises, lag_ns=_LAG_NS)
