"""What ZooKeeper and bookies may lose: rules for every system that is built on them.

Sources: BookKeeper's documentation of `journalSyncData` and `journalWriteData` (bookie configuration) and of its
protocol ("Ledger recovery"); ZooKeeper's documentation of `forceSync`.

Why one bookie that lost data is sufficient, regardless of the ack quorum: recovery reads forward from the last
confirmed entry that bookies report, and closes the ledger at the first entry that write quorum - ack quorum + 1 bookies
report as missing, although another bookie may have it (BookKeeper 4.17:
`ReadOpBase.requiredBookiesMissingEntryForRecovery`, `PendingReadOp.SequenceReadRequest.logErrorAndReattemptRead`,
`LedgerRecoveryOp.onEntryComplete`). For an acknowledged entry, write quorum - ack quorum bookies may never have had a
copy; the bookie that lost it completes the number. Entries up to the last confirmed one, and those of earlier
ensembles, are not decided again; but the last confirmed entry is reported by the bookies that answer first
(`RoundRobinDistributionSchedule.checkCovered`). Observed in runs: docs/bookkeeper.md.
"""

from __future__ import annotations

from collections.abc import Sequence

from chaoskit.contract.anomaly import CRASHED
from chaoskit.contract.guarantee import Damage, Declared, Effect, Rule
from clusters.common.effects import hosts_hit
from clusters.common.properties import is_true, setting
from clusters.storage.settings import Placement, Quorums, StorageOptions, quorums

_FORGOTTEN = ("lost-entry", "truncated", "expired")
"""Consequences of bookies that lose data: missing ledger entries, and therefore a truncated log of ledgers; its first
ledger is removed if it lost all of its entries."""

_GIVEN_AGAIN = (*_FORGOTTEN, "entry-conflict", "offset-conflict", "order-violation", "reordered")
"""Consequences of lost metadata: ids are reused, and new entries replace old ones."""


def syncs_journal(options: StorageOptions) -> bool:
    """Return whether bookies fsync each entry before they acknowledge it (the default)."""
    return writes_journal(options) and is_true(setting(options.config.bookie, "journalSyncData", True))


def writes_journal(options: StorageOptions) -> bool:
    """Return whether bookies write entries to their journal at all (the default)."""
    return is_true(setting(options.config.bookie, "journalWriteData", True))


def kept(declared: Declared) -> str:
    """Return why acknowledged data must not be lost."""
    persistence = _quorums(declared)
    return (
        f"journalSyncData=true, ensemble {persistence.ensemble}, write quorum {persistence.write}, ack quorum "
        f"{persistence.ack}: acknowledged entries are on the disks of {persistence.ack} bookie(s)"
    )


ONE_WRITER = "a ledger has one writer, each entry has its own id, and a recovered ledger is closed"
"""Why no position may hold two messages."""


def forgotten(declared: Declared, effects: Sequence[Effect]) -> str:
    """Return why bookies may have lost entries; empty if they may not."""
    losing = (rule for rule in STORAGE_RULES if set(rule.allows) & set(_FORGOTTEN))
    return next(filter(None, (rule.applies(declared, effects) for rule in losing)), "")


def _no_journal(declared: Declared, effects: Sequence[Effect]) -> str:
    if writes_journal(declared.options) or not _hit(declared, effects).bookies:
        return ""
    return (
        "journalWriteData=false: a bookie acknowledges entries that it has only in memory, and loses them when its "
        f"process exits; {_recovery(declared)}"
    )


def _journal_os(declared: Declared, effects: Sequence[Effect]) -> str:
    forgot = _hit(declared, effects, Damage.FORGETS).bookies
    if syncs_journal(declared.options) or not forgot:
        return ""
    return (
        f"journalSyncData=false, and the power of {len(forgot)} bookie(s) was cut: they may have had acknowledged "
        f"entries only in memory; {_recovery(declared)}"
    )


def _disks_lost(declared: Declared, effects: Sequence[Effect]) -> str:
    destroyed = _hit(declared, effects, Damage.DESTROYS).bookies
    if not destroyed:
        return ""
    return f"the disks of {len(destroyed)} bookie(s) lost fsynced data; {_recovery(declared)}"


def _files_changed(declared: Declared, effects: Sequence[Effect]) -> str:
    if not _hit(declared, effects, Damage.CORRUPTS).bookies:
        return ""
    return (
        "files were modified without the bookie's knowledge: an entry with a wrong CRC is read from another bookie, "
        f"but a damaged index or journal hides entries; {_recovery(declared)}"
    )


def _metadata_lost(declared: Declared, effects: Sequence[Effect]) -> str:
    if not _hit(declared, effects, Damage.DESTROYS | Damage.CORRUPTS).zookeepers:
        return ""
    return (
        "the disk of a ZooKeeper server lost or changed fsynced data: together with a server that lags behind, it may "
        "form a quorum that does not know of existing ledgers"
    )


def _exits(declared: Declared, effects: Sequence[Effect]) -> str:
    if not hosts_hit(effects):
        return ""
    return "a service whose host or whose ZooKeeper was under a fault may exit, or wait for its registration forever"


def _metadata_os(declared: Declared, effects: Sequence[Effect]) -> str:
    forced = str(setting(declared.options.config.zookeeper, "forceSync", "yes")).lower() not in ("no", "false")
    if forced or not _hit(declared, effects, Damage.FORGETS).zookeepers:
        return ""
    return (
        "forceSync=no, and the power of a ZooKeeper server was cut: it may have lost ledgers that it had acknowledged"
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
        "decommission a bookie that lost data before it serves again",
        'BookKeeper documentation, "The BookKeeper protocol", ledger recovery',
        "bookkeeper/fsync-lies:one-copy",
        "bookkeeper/fsync-lies:honest",
    ),
    Rule(
        "bookkeeper.files-changed",
        _FORGOTTEN,
        _files_changed,
        "decommission a bookie with damaged files before it serves again",
        "BookKeeper 4.17, DbLedgerStorage: entries are found with an index in RocksDB, which recovers up to the first "
        "damaged record",
        "bookkeeper/truncated-index:one-copy",
        "bookkeeper/truncated-index:three-copies",
    ),
    Rule(
        "bookkeeper.metadata-lost",
        _GIVEN_AGAIN,
        _metadata_lost,
        "run ZooKeeper on separate hosts (cluster.roles)",
        "ZooKeeper Administrator's Guide, dataDir: a server whose transaction log is lost must not rejoin",
        "bookkeeper/power-zookeeper:fsync-lies",
        "bookkeeper/power-zookeeper:synced",
        anywhere=True,
    ),
    Rule(
        "bookkeeper.metadata-os",
        _GIVEN_AGAIN,
        _metadata_os,
        "set forceSync=yes",
        "ZooKeeper Administrator's Guide, forceSync",
        "bookkeeper/power-zookeeper:not-forced",
        "bookkeeper/power-zookeeper:synced",
        anywhere=True,
    ),
    Rule(
        "bookkeeper.exits",
        (CRASHED.name,),
        _exits,
        "for Pulsar's brokers, set zookeeperSessionExpiredPolicy=reconnect",
        "PIP-118 of apache/pulsar (issue 13304): with the policy shutdown, a broker exits when its session expires",
        "pulsar/session-expired:shutdown",
        "pulsar/session-expired:reconnect",
    ),
)


class _Hit:
    """The bookies and the ZooKeeper servers among some hosts."""

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
        f"recovery closes a ledger at an entry that {behind + 1} bookie(s) lack (write quorum {persistence.write} - "
        f"ack quorum {persistence.ack} + 1); {behind} of them may have lacked it when it was acknowledged"
    )


def _names(indexes: range) -> set[str]:
    return {f"n{index + 1}" for index in indexes}
