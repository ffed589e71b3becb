"""What ZooKeeper and bookies may lose: rules that every system built upon them has.

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

from chaoskit.contract.guarantee import Damage, Declared, Effect, Rule
from clusters.common.effects import hosts_hit
from clusters.common.properties import is_true, setting
from clusters.storage.settings import Placement, Quorums, StorageOptions, quorums

_FORGOTTEN = ("lost-entry", "truncated")
"""What comes with bookies that forget: entries of ledgers, and so the end of a log that is made of ledgers."""

_GIVEN_AGAIN = (*_FORGOTTEN, "entry-conflict", "offset-conflict", "order-violation", "reordered")
"""What comes with metadata that is forgotten: ids are given again, and new entries lie where old ones were."""


def syncs_journal(options: StorageOptions) -> bool:
    """Return whether bookies fsync each entry before they acknowledge it; BookKeeper's default."""
    return writes_journal(options) and is_true(setting(options.config.bookie, "journalSyncData", True))


def writes_journal(options: StorageOptions) -> bool:
    """Return whether bookies write entries to their journal at all; BookKeeper's default."""
    return is_true(setting(options.config.bookie, "journalWriteData", True))


def kept(declared: Declared) -> str:
    """Return why what was acknowledged must not be gone."""
    persistence = _quorums(declared)
    return (
        f"journalSyncData=true, ensemble {persistence.ensemble}, write quorum {persistence.write}, ack quorum "
        f"{persistence.ack}: what was acknowledged is on the disks of {persistence.ack} bookie(s)"
    )


ONE_WRITER = "a ledger has one writer, its entries one id each, and what was recovered is closed"
"""Why no position may have two messages."""


def forgotten(declared: Declared, effects: Sequence[Effect]) -> str:
    """Return why bookies may have forgotten entries; empty: they may not."""
    return next(filter(None, (rule.applies(declared, effects) for rule in STORAGE_RULES)), "")


def _no_journal(declared: Declared, effects: Sequence[Effect]) -> str:
    if writes_journal(declared.options) or not _hit(declared, effects).bookies:
        return ""
    return (
        "journalWriteData=false: a bookie acknowledges what it has in memory only, and loses it when its process "
        f"ends; {_recovery(declared)}"
    )


def _journal_os(declared: Declared, effects: Sequence[Effect]) -> str:
    forgot = _hit(declared, effects, Damage.FORGETS).bookies
    if syncs_journal(declared.options) or not forgot:
        return ""
    return (
        f"journalSyncData=false, and the power of {len(forgot)} bookie(s) was cut: what they had acknowledged may "
        f"have been in memory only; {_recovery(declared)}"
    )


def _disks_lost(declared: Declared, effects: Sequence[Effect]) -> str:
    destroyed = _hit(declared, effects, Damage.DESTROYS).bookies
    if not destroyed:
        return ""
    return f"the disks of {len(destroyed)} bookie(s) lost what was fsynced; {_recovery(declared)}"


def _files_changed(declared: Declared, effects: Sequence[Effect]) -> str:
    if not _hit(declared, effects, Damage.CORRUPTS).bookies:
        return ""
    return (
        "files were changed behind the bookie's back: an entry whose CRC does not match is read from another "
        f"bookie, but a damaged index or journal hides entries; {_recovery(declared)}"
    )


def _metadata_lost(declared: Declared, effects: Sequence[Effect]) -> str:
    if not _hit(declared, effects, Damage.DESTROYS | Damage.CORRUPTS).zookeepers:
        return ""
    return (
        "a disk of a ZooKeeper server lost or changed what was fsynced: with a server that was behind it may make "
        "a quorum that does not know of ledgers that were written"
    )


def _metadata_os(declared: Declared, effects: Sequence[Effect]) -> str:
    forced = str(setting(declared.options.config.zookeeper, "forceSync", "yes")).lower() not in ("no", "false")
    if forced or not _hit(declared, effects, Damage.FORGETS).zookeepers:
        return ""
    return (
        "forceSync=no, and the power of a ZooKeeper server was cut: it may have forgotten ledgers that it had "
        "acknowledged"
    )


STORAGE_RULES = (
    Rule(
        "bookkeeper.no-journal",
        _FORGOTTEN,
        _no_journal,
        "set journalWriteData=true",
        "BookKeeper documentation, bookie setting journalWriteData",
        "bookkeeper/kill:all-no-journal",
        "bookkeeper/kill:all-journal",
    ),
    Rule(
        "bookkeeper.journal-os",
        _FORGOTTEN,
        _journal_os,
        "set journalSyncData=true",
        "BookKeeper documentation, bookie setting journalSyncData",
        "bookkeeper/power-one:journal-os",
        "bookkeeper/power-one:journal-sync",
    ),
    Rule(
        "bookkeeper.disks-lost",
        _FORGOTTEN,
        _disks_lost,
        "have a bookie that lost data decommissioned before it answers again",
        'BookKeeper documentation, "The BookKeeper protocol", ledger recovery',
        "bookkeeper/fsync-lies:one-copy",
        "bookkeeper/fsync-lies:honest",
    ),
    Rule(
        "bookkeeper.files-changed",
        _FORGOTTEN,
        _files_changed,
        "have a bookie with damaged files decommissioned before it answers again",
        "BookKeeper 4.17, DbLedgerStorage: an index in RocksDB finds entries, and recovers up to its first damage",
        "bookkeeper/truncated-index:one-copy",
        "bookkeeper/truncated-index:three-copies",
    ),
    Rule(
        "bookkeeper.metadata-lost",
        _GIVEN_AGAIN,
        _metadata_lost,
        "keep ZooKeeper on hosts of its own (cluster.roles)",
        "ZooKeeper Administrator's Guide, dataDir: a server whose transaction log is lost must not rejoin",
        "bookkeeper/power-zookeeper:fsync-lies",
        "bookkeeper/power-zookeeper:synced",
    ),
    Rule(
        "bookkeeper.metadata-os",
        _GIVEN_AGAIN,
        _metadata_os,
        "set forceSync=yes",
        "ZooKeeper Administrator's Guide, forceSync",
        "bookkeeper/power-zookeeper:not-forced",
        "bookkeeper/power-zookeeper:synced",
    ),
)


class _Hit:
    """The bookies and the ZooKeeper servers, by host, among some hosts."""

    def __init__(self, placed: Placement, hosts: set[str]) -> None:
        self.bookies = hosts & _names(placed.bookies)
        self.zookeepers = hosts & _names(placed.zookeepers)


def _hit(declared: Declared, effects: Sequence[Effect], damage: Damage | None = None) -> _Hit:
    return _Hit(declared.options.place(declared.hosts), hosts_hit(effects, damage))


def _quorums(declared: Declared) -> Quorums:
    return quorums(declared.options, len(declared.options.place(declared.hosts).bookies))


def _recovery(declared: Declared) -> str:
    persistence = _quorums(declared)
    behind = persistence.write - persistence.ack
    return (
        f"recovery ends a ledger where {behind + 1} bookie(s) lack an entry (write quorum {persistence.write} - ack "
        f"quorum {persistence.ack} + 1), and {behind} need not have had it when it was acknowledged"
    )


def _names(indexes: range) -> set[str]:
    return {f"n{index + 1}" for index in indexes}
