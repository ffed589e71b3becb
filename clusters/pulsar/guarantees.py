"""What Pulsar promises under the declared settings and the faults that took effect.

Each rule answers for one or more anomalies: allowed or not, why, and what to change. Sources: BookKeeper's
documentation of `journalSyncData` and `journalWriteData` (bookie configuration) and of its protocol ("Ledger
recovery": a recovery ends a ledger at the first entry that write quorum - ack quorum + 1 bookies do not have);
ZooKeeper's of `forceSync`; Pulsar's of `brokerDeduplicationEnabled` and of persistence policies. Of sequence ids and
batches: `MessageDeduplication.isDuplicate` (Pulsar 4.0.7), pull request 5491 of apache/pulsar (which gave Java's
batches their highest sequence id), issue 1395 of apache/pulsar-client-go, and runs (docs/deduplication.md).
"""

from __future__ import annotations

from collections.abc import Sequence

from chaoskit.cluster import Allowance, Declared, Effect
from clusters.effects import DAMAGING, DESTROYING, FORGETTING, hosts_hit, on_hosts
from clusters.pulsar.producer import resolve_producer
from clusters.pulsar.settings import Placement, PulsarOptions, Quorums, is_true, place, quorums, setting
from clusters.pulsar.subscription_guarantees import subscription_guarantees

_NEVER = {
    "phantom": "only messages that somebody sent can be read",
    "misrouted": "a message stays in the partition that it was sent to",
    "failed-visible": "a send is classified as failed only where the client refused it before it was pending",
    "corrupt": "entries carry a CRC32C that brokers verify when they read, messages one that clients verify",
    "double-assignment": "a failover subscription has one active consumer; pulsar-client does not tell which",
    "stuck-partition": "a failover subscription chooses another active consumer; pulsar-client does not tell which",
    "commit-regression": "no commit is known to have happened: acknowledgements have no receipt",
    "commit-beyond": "no commit is known to have happened: acknowledgements have no receipt",
}

_BATCHES = "pulsar-client's batches carry the sequence id of their first message alone"


def guarantees(declared: Declared, effects: Sequence[Effect]) -> dict[str, Allowance]:
    """Return the verdict's table for one run."""
    options: PulsarOptions = declared.options
    placed = place(options, declared.hosts or declared.brokers)
    metadata = _metadata_lost(options, placed, effects)
    lost = _lost(options, placed, effects, metadata)
    duplicate = _duplicate(declared, effects)
    dropped = lost if lost.allowed else _dropped(declared, effects, lost)
    moved = _moved(declared, lost)
    table = {name: Allowance(False, why) for name, why in _NEVER.items()}
    table |= dict.fromkeys(("truncated", "late"), lost)
    table |= dict.fromkeys(("lost", "dropped-as-duplicate"), dropped)
    table |= dict.fromkeys(("redelivered", "rewound", "skipped"), moved)
    table["duplicate"] = duplicate
    table["offset-conflict"] = metadata
    table["reordered"] = table["order-violation"] = _reordered(declared, effects, lost)
    table["sequence-jump"] = _sequence_jump([dropped, duplicate, table["reordered"], moved])
    return table | (subscription_guarantees(declared, effects, lost) if declared.subscription else {})


def syncs_journal(options: PulsarOptions) -> bool:
    """Return whether bookies fsync each entry before they acknowledge it; BookKeeper's default."""
    return writes_journal(options) and is_true(setting(options.config.bookie, "journalSyncData", True))


def writes_journal(options: PulsarOptions) -> bool:
    """Return whether bookies write entries to their journal at all; BookKeeper's default."""
    return is_true(setting(options.config.bookie, "journalWriteData", True))


def _lost(options: PulsarOptions, placed: Placement, effects: Sequence[Effect], metadata: Allowance) -> Allowance:
    """Whether acknowledged messages may disappear."""
    persistence = quorums(options, len(placed.bookies))
    bookies = _names(placed.bookies)
    forgot = hosts_hit(effects, FORGETTING) & bookies
    if not writes_journal(options) and {host for effect in on_hosts(effects) for host in effect.targets} & bookies:
        return Allowance(
            True,
            "journalWriteData=false: a bookie acknowledges what it has in memory only, and loses it when its process "
            f"ends; {_recovery(persistence)}",
            "set journalWriteData=true",
        )
    if not syncs_journal(options) and forgot:
        return Allowance(
            True,
            f"journalSyncData=false, and the power of {len(forgot)} bookie(s) was cut: what they had acknowledged may "
            f"have been in memory only; {_recovery(persistence)}",
            "set journalSyncData=true",
        )
    if destroyed := hosts_hit(effects, DESTROYING) & bookies:
        return Allowance(
            True,
            f"the disks of {len(destroyed)} bookie(s) lost what was fsynced; {_recovery(persistence)}",
            "lower the ack quorum's distance to the write quorum, and have a bookie that lost data decommissioned "
            "before it answers again",
        )
    if hosts_hit(effects, DAMAGING) & bookies:
        return Allowance(
            True,
            "files were changed behind the bookie's back: an entry whose CRC does not match is read from another "
            f"bookie, but a damaged index or journal hides entries; {_recovery(persistence)}",
            "have a bookie with damaged files decommissioned before it answers again",
        )
    if metadata.allowed:
        return metadata
    return Allowance(
        False,
        f"journalSyncData=true, ensemble {persistence.ensemble}, write quorum {persistence.write}, ack quorum "
        f"{persistence.ack}: what was acknowledged is on the disks of {persistence.ack} bookie(s)",
    )


def _recovery(persistence: Quorums) -> str:
    enough = persistence.write - persistence.ack + 1
    behind = persistence.write - persistence.ack
    return (
        f"recovery ends a ledger where {enough} bookie(s) lack an entry (write quorum {persistence.write} - ack quorum "
        f"{persistence.ack} + 1), and {behind} need not have had it when it was acknowledged"
    )


def _metadata_lost(options: PulsarOptions, placed: Placement, effects: Sequence[Effect]) -> Allowance:
    """Whether ZooKeeper may have lost which ledgers there are and where they end; then ids can be given again."""
    servers = _names(placed.zookeepers)
    if hosts_hit(effects, (*DESTROYING, *DAMAGING)) & servers:
        return Allowance(
            True,
            "a disk of a ZooKeeper server lost or changed what was fsynced: with a server that was behind it may make "
            "a quorum that does not know of ledgers that were written",
            "keep ZooKeeper on hosts of its own (cluster.roles)",
        )
    forgetful = str(setting(options.config.zookeeper, "forceSync", "yes")).lower() in ("no", "false")
    if forgetful and hosts_hit(effects, FORGETTING) & servers:
        return Allowance(
            True,
            "forceSync=no, and the power of a ZooKeeper server was cut: it may have forgotten ledgers that it had "
            "acknowledged",
            "set forceSync=yes",
        )
    return Allowance(False, "a ledger has one writer, its entries one id each, and what was recovered is closed")


def _duplicate(declared: Declared, effects: Sequence[Effect]) -> Allowance:
    options: PulsarOptions = declared.options
    if options.deduplication and declared.resends != "never" and _batches(declared):
        return Allowance(
            True,
            f"{_BATCHES}: what an application sends again, in other batches, is not recognised message by message",
            "set workload.producer.batching_enabled: false",
        )
    if options.deduplication:
        return Allowance(False, "deduplication: brokers drop what they have of a producer's sequence already")
    if declared.restarts:
        return Allowance(
            True,
            "deduplication is off: a producer that goes on with a new client sends again what was not confirmed",
            "set deduplication: true",
        )
    if not effects:
        return Allowance(False, "no fault made the producer send a message again")
    return Allowance(
        True,
        "deduplication is off: after a reconnection the client sends again what was written and whose acknowledgement "
        "was lost",
        "set deduplication: true",
    )


def _dropped(declared: Declared, effects: Sequence[Effect], kept: Allowance) -> Allowance:
    """Whether new messages may be taken for duplicates; `kept` is the answer if not."""
    options: PulsarOptions = declared.options
    if not options.deduplication or not (effects or declared.restarts):
        return kept
    if declared.resends == "at-once":
        return Allowance(
            True,
            "resend: at-once: brokers take what is sent again behind later messages for a duplicate, stored or not",
            "set resend: asked",
        )
    if declared.resends == "unconfirmed" and _batches(declared):
        return Allowance(
            True,
            f"{_BATCHES}: a batch that begins with what the broker has is dropped with all that is new in it",
            "set workload.producer.batching_enabled: false, or resend: asked",
        )
    return kept


def _batches(declared: Declared) -> bool:
    return bool(resolve_producer(declared.producer).get("batching_enabled"))


def _reordered(declared: Declared, effects: Sequence[Effect], lost: Allowance) -> Allowance:
    if lost.allowed:
        return lost
    if declared.resends == "at-once" and (effects or declared.restarts):
        return Allowance(True, "resend: at-once: what is sent again comes behind later messages", "set resend: asked")
    return Allowance(False, "a producer sends, and sends again, in the order of its sequence, to one owner at a time")


def _moved(declared: Declared, lost: Allowance) -> Allowance:
    if declared.grouped:
        return Allowance(
            True,
            "subscriptions deliver at least once, and pulsar-client does not tell a member that its partition was "
            "given to another, and back",
        )
    return lost


def _sequence_jump(causes: Sequence[Allowance]) -> Allowance:
    """A reader sees a producer's sequence jump where something else went wrong that is allowed."""
    return next(
        (cause for cause in causes if cause.allowed),
        Allowance(False, "the log keeps each producer's sequence, and readers follow the log"),
    )


def _names(indexes: range) -> set[str]:
    return {f"n{index + 1}" for index in indexes}
