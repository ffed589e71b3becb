"""What ZooKeeper and bookies promise under the declared settings and the faults that took effect.

Sources: BookKeeper's documentation of `journalSyncData` and `journalWriteData` (bookie configuration) and of its
protocol ("Ledger recovery"); ZooKeeper's of `forceSync`.

Why one bookie that forgot is enough, whatever the ack quorum: a recovery reads on from the last confirmed entry that
bookies tell it, and ends the ledger at the first entry that write quorum - ack quorum + 1 bookies say they do not have,
although another one may have it (BookKeeper 4.17: `ReadOpBase.requiredBookiesMissingEntryForRecovery`,
`PendingReadOp.SequenceReadRequest.logErrorAndReattemptRead`, `LedgerRecoveryOp.onEntryComplete`). Of an acknowledged
entry write quorum - ack quorum bookies need never have had a copy; the one that forgot makes the number full. Entries
up to the last confirmed one, and those of earlier ensembles, are not decided anew; but the last confirmed one is what
those bookies tell that answer first (`RoundRobinDistributionSchedule.checkCovered`). Seen in runs: docs/bookkeeper.md.
"""

from __future__ import annotations

from collections.abc import Sequence

from chaoskit.contract.cluster import Allowance, Effect
from clusters.bookkeeper.settings import Placement, Quorums, StorageOptions, is_true, quorums, setting
from clusters.effects import DAMAGING, DESTROYING, FORGETTING, hosts_hit, on_hosts


def syncs_journal(options: StorageOptions) -> bool:
    """Return whether bookies fsync each entry before they acknowledge it; BookKeeper's default."""
    return writes_journal(options) and is_true(setting(options.config.bookie, "journalSyncData", True))


def writes_journal(options: StorageOptions) -> bool:
    """Return whether bookies write entries to their journal at all; BookKeeper's default."""
    return is_true(setting(options.config.bookie, "journalWriteData", True))


def lost(options: StorageOptions, placed: Placement, effects: Sequence[Effect], metadata: Allowance) -> Allowance:
    """Whether acknowledged messages may disappear."""
    persistence = quorums(options, len(placed.bookies))
    bookies = _hosts(placed.bookies)
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
            "have a bookie that lost data decommissioned before it answers again",
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


def metadata_lost(options: StorageOptions, placed: Placement, effects: Sequence[Effect]) -> Allowance:
    """Whether ZooKeeper may have lost which ledgers there are and where they end; then ids can be given again."""
    servers = _hosts(placed.zookeepers)
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


def _hosts(indexes: range) -> set[str]:
    return {f"n{index + 1}" for index in indexes}
