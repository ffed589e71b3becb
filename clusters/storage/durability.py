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

from chaoskit.base.quantities import SECOND
from chaoskit.contract.checkers.anomaly import CRASHED
from chaoskit.contract.guarantees.act import LATE, PARTS_CONNECTIONS, Act, Damage
from chaoskit.contract.guarantees.guarantee import Declared, Rule
from chaoskit.contract.guarantees.mechanism import Copies, Mechanism, Party, Session
from clusters.storage.settings import FORCE_SYNC, SYNC_JOURNAL, WRITE_JOURNAL, Quorums, StorageOptions, quorums

_FORGOTTEN = ("lost-entry", "truncated", "expired")
"""Consequences of bookies that lose data: missing ledger entries, and therefore a truncated log of ledgers; its first
ledger is removed if it lost all of its entries."""

_GIVEN_AGAIN = (*_FORGOTTEN, "entry-conflict", "offset-conflict", "order-violation", "reordered")
"""Consequences of lost metadata: ids are reused, and new entries replace old ones."""


def syncs_journal(options: StorageOptions) -> bool:
    """Return whether bookies fsync each entry before they acknowledge it (the default)."""
    return writes_journal(options) and SYNC_JOURNAL.is_on(options)


def writes_journal(options: StorageOptions) -> bool:
    """Return whether bookies write entries to their journal at all (the default)."""
    return WRITE_JOURNAL.is_on(options)


def kept(declared: Declared) -> str:
    """Return why acknowledged data must not be lost."""
    persistence = _quorums(declared)
    return (
        f"journalSyncData=true, ensemble {persistence.ensemble}, write quorum {persistence.write}, ack quorum "
        f"{persistence.ack}: acknowledged entries are on the disks of {persistence.ack} bookie(s)"
    )


ONE_WRITER = "a ledger has one writer, each entry has its own id, and a recovered ledger is closed"
"""Why no position may hold two messages."""


def forgotten(declared: Declared) -> Sequence[Mechanism]:
    """Return how bookies may have lost entries."""
    losing = (rule for rule in STORAGE_RULES if set(rule.allows) & set(_FORGOTTEN))
    return tuple(mechanism for rule in losing for mechanism in rule.mechanisms(declared))


def _one_bookie(declared: Declared, why: str, takes: Damage = Damage.NONE, in_process: Act = Act.NONE) -> Copies:
    """Return that one of the bookies that had an entry is enough; see above. A bookie does not copy what it lost."""
    return Copies(
        why=f"{why}; {_recovery(declared)}",
        takes=takes,
        in_process=in_process,
        enough=1,
        leader_counts=False,
        lag_ns=None,
    )


def _no_journal(declared: Declared) -> Sequence[Mechanism]:
    if writes_journal(declared.options):
        return ()
    why = (
        "journalWriteData=false: a bookie acknowledges entries that it has only in memory, and loses them when its "
        "process ends without a shutdown, in which it flushes them"
    )
    return (_one_bookie(declared, why, Damage.FORGETS | Damage.DESTROYS, Act.ENDS),)


def _journal_os(declared: Declared) -> Sequence[Mechanism]:
    if syncs_journal(declared.options):
        return ()
    why = "journalSyncData=false: a bookie that lost its power may have had acknowledged entries only in memory"
    return (_one_bookie(declared, why, Damage.FORGETS),)


def _disks_lost(declared: Declared) -> Sequence[Mechanism]:
    return (_one_bookie(declared, "the disk of a bookie lost fsynced data", Damage.DESTROYS),)


def _files_changed(declared: Declared) -> Sequence[Mechanism]:
    why = (
        "files were modified without the bookie's knowledge: an entry with a wrong CRC is read from another bookie, "
        "but a damaged index or journal hides entries"
    )
    return (_one_bookie(declared, why, Damage.CORRUPTS),)


def _metadata_lost(declared: Declared) -> Sequence[Mechanism]:
    why = (
        "the disks of ZooKeeper servers lost or changed fsynced data: together with servers that lag behind, they form "
        "a quorum that does not know of existing ledgers"
    )
    return _no_quorum_knows(declared, why, Damage.DESTROYS | Damage.CORRUPTS)


def _metadata_os(declared: Declared) -> Sequence[Mechanism]:
    forced = str(FORCE_SYNC.of(declared.options)).lower() not in ("no", "false")
    if forced:
        return ()
    why = "forceSync=no: ZooKeeper servers that lost power may have lost ledgers that they had acknowledged"
    return _no_quorum_knows(declared, why, Damage.FORGETS)


def _no_quorum_knows(declared: Declared, why: str, damage: Damage) -> Sequence[Mechanism]:
    servers = tuple(sorted(_names(declared.options.place(declared.hosts).zookeepers)))
    return (Copies(why=why, takes=damage, hosts=servers, lag_ns=_SYNCED_NS),)


def _exits(declared: Declared) -> Sequence[Mechanism]:
    return tuple(
        Session(
            why=f"a {service} whose session with ZooKeeper has ended may exit, or wait for its registration forever",
            path=(Party.HOLDERS, Party.HOLDERS),
            by=PARTS_CONNECTIONS | LATE,
            patience_ns=_SHORTEST_SESSION_NS,
            after_ns=_EXITS_NS,
            process=service,
        )
        for service in declared.options.exiting
    )


_SYNCED_NS = 10 * SECOND
"""A ZooKeeper server that is back has the state of the leader after this time: `syncLimit`, 5 ticks of 2 s."""

_SHORTEST_SESSION_NS = 4 * SECOND
"""No session with ZooKeeper ends sooner: `minSessionTimeout`, two ticks of 2 s."""

_EXITS_NS = 60 * SECOND
"""How long after a fault a service may exit because its session has expired: a session lasts 30 s at most, and the
harness takes a service for hung after as long again."""

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
    Rule(
        "bookkeeper.exits",
        (CRASHED.name,),
        _exits,
        "for Pulsar's brokers, set zookeeperSessionExpiredPolicy=reconnect",
        "PIP-118 of apache/pulsar (issue 13304): with the policy shutdown, a broker exits when its session expires; "
        "BookKeeper, BookieStateManager: a bookie that cannot register again shuts down",
        "pulsar/session-expired:shutdown",
        "pulsar/session-expired:reconnect",
    ),
)


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
