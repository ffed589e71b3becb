"""What Kafka promises under the declared settings and the faults that took effect.

Each rule answers for one or more anomalies: allowed or not, why, and what to change. Sources are
Kafka's own documentation: producer settings `acks`, `retries`, `enable.idempotence`,
`max.in.flight.requests.per.connection`; topic settings `min.insync.replicas`,
`unclean.leader.election.enable`, `flush.messages` (broker: `log.flush.interval.messages`);
"Replication" (a message is committed once all in-sync replicas have it) and KIP-98 (idempotence).
"""

from __future__ import annotations

from collections.abc import Sequence

from chaoskit.contract.cluster import Allowance, Declared, Effect
from clusters.effects import DAMAGING, DESTROYING, FORGETTING, hosts_down_together, on_hosts, sequence_jump
from clusters.kafka.producer import resolve_producer
from clusters.kafka.settings import KafkaOptions, is_true, setting

_NEVER = {
    "phantom": "only messages that somebody sent can be read",
    "misrouted": "a message stays in the partition that it was sent to",
    "failed-visible": "a send is classified as failed only where the error proves that nothing was appended",
    "double-assignment": "the group's leader assigns each partition to one member of a generation",
    "stuck-partition": "an assigned partition is delivered again once its leader and the group's coordinator are back",
}

_CYCLES = tuple(base + suffix for suffix in ("", "-process", "-realtime") for base in ("G0", "G1c", "G-single", "G2"))
_NOT_ISOLATED = Allowance(
    True,
    "Kafka's transactions are atomic and read committed, not isolated from each other: their writes interleave in the "
    "log (KIP-98); reading before a commit, or half of it, is found as precommitted-read and torn-transaction",
    "no setting isolates them: let one transactional producer write what must not interleave",
)


def guarantees(declared: Declared, effects: Sequence[Effect]) -> dict[str, Allowance]:
    """Return the verdict's table for one run."""
    lost = _lost(declared, effects)
    back = _log_goes_back(declared, effects)
    duplicate = _duplicate(declared, effects)
    reordered = lost if lost.allowed else _reordered(declared, duplicate)
    table = {name: Allowance(False, why) for name, why in _NEVER.items()}
    table |= {"lost": lost, "duplicate": duplicate, "reordered": reordered}
    table["truncated"] = table["rewound"] = table["skipped"] = back
    table["offset-conflict"] = lost if lost.allowed else back
    table["redelivered"] = _redelivered(declared, back)
    table["corrupt"] = _corrupt(declared, effects)
    table["order-violation"] = _order_violation(declared, reordered)
    table["late"] = back
    table["dropped-as-duplicate"] = lost
    table["sequence-jump"] = sequence_jump([lost, duplicate, reordered, back, table["redelivered"]])
    table["commit-regression"] = table["commit-beyond"] = back
    table["torn-transaction"] = back
    table["zombie-write"] = _zombie_write(declared, back)
    table["aborted-read"] = table["precommitted-read"] = _dirty_read(declared)
    table |= dict.fromkeys(_CYCLES, _NOT_ISOLATED)
    return table


def flushes_each_message(options: KafkaOptions) -> bool:
    """Return whether every message is fsynced before it is acknowledged."""
    broker = setting(options.config, "log.flush.interval.messages", 0)
    return str(setting(options.topic, "flush.messages", broker)) == "1"


def min_insync(options: KafkaOptions) -> int:
    """Return min.insync.replicas of the workload's topics; Kafka's default is 1."""
    broker = setting(options.config, "min.insync.replicas", 1)
    return int(setting(options.topic, "min.insync.replicas", broker))


def unclean(options: KafkaOptions) -> bool:
    """Return whether a replica outside the in-sync set may become leader."""
    broker = setting(options.config, "unclean.leader.election.enable", False)
    return is_true(setting(options.topic, "unclean.leader.election.enable", broker))


def _acks(declared: Declared) -> str:
    acks = str(resolve_producer(declared.producer).get("acks", "all"))
    return "all" if acks == "-1" else acks


def _lost(declared: Declared, effects: Sequence[Effect]) -> Allowance:
    acks = _acks(declared)
    if acks == "0" and effects:
        return Allowance(
            True,
            "acks=0: a send counts as done when it is written to the socket, before any broker has it",
            "set acks=all",
        )
    if acks == "1" and on_hosts(effects):
        return Allowance(
            True,
            "acks=1: the leader alone acknowledges, and a message that no follower had fetched is gone when another "
            "replica leads",
            "set acks=all and min.insync.replicas=2",
        )
    return _log_goes_back(declared, effects)


def _log_goes_back(declared: Declared, effects: Sequence[Effect]) -> Allowance:
    """Whether messages that all in-sync replicas had may disappear."""
    options: KafkaOptions = declared.options
    insync = min(min_insync(options), declared.replication)
    cut = hosts_down_together(effects, [*FORGETTING, *DESTROYING])
    destroyed = hosts_down_together(effects, DESTROYING)
    promise = f"acks={_acks(declared)}, min.insync.replicas={insync}, replication {declared.replication}"
    if cut >= insync and not flushes_each_message(options):
        return Allowance(
            True,
            f"flushing is left to the OS, and the power of {cut} host(s) was cut at once: the {insync} in-sync "
            "replica(s) that a message needs may all have held it only in memory",
            "set flush.messages=1 (or log.flush.interval.messages=1 on brokers), or keep replicas on separate power",
        )
    if destroyed >= insync:
        return Allowance(
            True,
            f"the disks of {destroyed} host(s) lost fsynced data at once: the {insync} in-sync replica(s) that a "
            "message needs may all have been on them",
            "raise min.insync.replicas, or keep fewer replicas on disks that can fail together",
        )
    if any(effect.kind in DAMAGING for effect in effects):
        return Allowance(
            True,
            "files were changed behind the broker's back: it verifies the CRC of a batch when it recovers a log, and "
            "clients do when they read, but it does not repair a segment from other replicas",
            "delete the damaged replica's files, so that the broker fetches them again",
        )
    if unclean(options) and len({host for effect in on_hosts(effects) for host in effect.targets}) >= insync:
        return Allowance(
            True,
            "unclean.leader.election.enable=true: a replica that lacks acknowledged messages may become leader",
            "set unclean.leader.election.enable=false",
        )
    return Allowance(False, f"{promise}: a committed message survives as long as one in-sync replica keeps it")


def _corrupt(declared: Declared, effects: Sequence[Effect]) -> Allowance:
    checked = is_true(declared.consumer.get("check.crcs", True))
    if not checked and any(effect.kind in DAMAGING for effect in effects):
        return Allowance(
            True,
            "check.crcs=false: consumers are given what a damaged file of the leader holds",
            "set check.crcs=true",
        )
    return Allowance(False, "record batches carry a CRC32C: brokers verify what is produced, consumers what they read")


def _duplicate(declared: Declared, effects: Sequence[Effect]) -> Allowance:
    producer = resolve_producer(declared.producer)
    if is_true(producer.get("enable.idempotence")):
        return Allowance(
            False, "enable.idempotence=true: brokers drop a batch whose sequence they have already (KIP-98)"
        )
    retries = producer.get("retries", 1)
    if str(retries) == "0" or _acks(declared) == "0":
        return Allowance(False, "no send is ever tried again (retries=0 or acks=0)")
    if not effects:
        return Allowance(False, "no fault made the producer send a message again")
    return Allowance(
        True,
        "enable.idempotence=false with retries: a batch that was written, its acknowledgement lost, is sent again",
        "set enable.idempotence=true",
    )


def _reordered(declared: Declared, duplicate: Allowance) -> Allowance:
    if declared.restarts:
        return Allowance(
            True,
            "restart_every: what a client had under way when it was given up may be appended after what the next one "
            "sends first",
            "leave restart_every out",
        )
    producer = resolve_producer(declared.producer)
    in_flight = int(producer.get("max.in.flight.requests.per.connection", 1_000_000))
    if duplicate.allowed and in_flight > 1:
        return Allowance(
            True,
            f"retries without idempotence and max.in.flight={in_flight}: a retried batch lands behind later ones",
            "set enable.idempotence=true, or max.in.flight=1",
        )
    return Allowance(
        False,
        "one producer's messages to one partition keep their order (idempotence, or one request in flight)",
    )


def _order_violation(declared: Declared, reordered: Allowance) -> Allowance:
    if _acks(declared) == "0":
        return Allowance(
            True,
            "acks=0: a send counts as done before any broker has it, so that a later one may arrive first",
            "set acks=all",
        )
    return reordered


def _dirty_read(declared: Declared) -> Allowance:
    isolation = str(declared.consumer.get("isolation.level", "read_committed"))
    if isolation == "read_uncommitted":
        return Allowance(
            True,
            "isolation.level=read_uncommitted: consumers are given what has not committed",
            "set isolation.level=read_committed",
        )
    return Allowance(False, "isolation.level=read_committed (librdkafka's default)")


def _zombie_write(declared: Declared, back: Allowance) -> Allowance:
    dirty = _dirty_read(declared)
    if dirty.allowed:
        return dirty
    if "{incarnation}" in str(declared.producer.get("transactional.id", "")):
        return Allowance(
            True,
            "another transactional.id for each incarnation: registering one fences no other (KIP-98)",
            "use the same transactional.id for all incarnations of a producer",
        )
    return back


def _redelivered(declared: Declared, back: Allowance) -> Allowance:
    if declared.grouped:
        return Allowance(True, "consumer groups deliver at least once: what was not committed is delivered again", "")
    return back
