"""BookKeeper's guarantees: promises, and rules for documented failures; most rules come from `clusters.storage`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from chaoskit.contract.guarantees.act import Act
from chaoskit.contract.guarantees.guarantee import Declared, Guarantees, Rule
from chaoskit.contract.guarantees.mechanism import Choice, Copies, Mechanism
from chaoskit.contract.workloads.traits import Recovers
from clusters.bookkeeper import artifacts
from clusters.common.supervision import RUNS
from clusters.storage.durability import ONE_WRITER, STORAGE_RULES, forgotten, kept
from clusters.storage.settings import STORAGE_SETTINGS

_APART = frozenset(
    {
        "rewound", "reordered", "order-violation", "redelivered", "commit-regression", "commit-beyond",
        "torn-transaction", "zombie-write", "offset-conflict", "unacked-vanished", "fifo-violation",
    }
)  # fmt: skip
"""A ledger that lost its end has no other entries there, so the order of the remaining entries is not affected."""

_PROMISED = {
    "crashed": RUNS,
    "expired": "a ledger keeps its entries until it is deleted as a whole",
    "phantom": "only entries that were added can be read",
    "misrouted": "an entry stays in the ledger that it was added to",
    "duplicate": "a writer adds each message once, and continues with the next one after an error",
    "redelivered": "a reader reads each entry once after opening a ledger",
    "rewound": "a reader reads a ledger in entry order",
    "reordered": "entry ids are assigned, and entries acknowledged, in the order in which the writer adds them",
    "order-violation": "entry ids are assigned, and entries acknowledged, in the order in which the writer adds them",
    "failed-visible": "an add is classified as failed only if the client rejected it before it sent anything",
    "offset-conflict": ONE_WRITER,
    "entry-conflict": ONE_WRITER,
}
_KEPT = (
    "lost", "lost-entry", "truncated", "skipped", "late", "dropped-as-duplicate", "readers-disagree", "lac-regression",
    "fencing-violation", "sequence-jump",
)  # fmt: skip


_ONE_MARK_FIXED = ((4, 14, 8), (4, 15, 5), (4, 16, 2), (4, 17, 0))


def _no_digest(declared: Declared) -> Sequence[Mechanism]:
    if declared.options.digest != "DUMMY":
        return ()
    why = "digest DUMMY: clients do not detect a modified entry"
    return tuple(replace(mechanism, why=f"{why}; {mechanism.why}") for mechanism in forgotten(declared))


def _closed_by_writer(declared: Declared) -> Sequence[Mechanism]:
    if declared.get(Recovers) is None:
        return ()
    why = (
        "recover_every: a writer whose adds are refused, because another client recovers its ledger, may close the "
        "ledger below entries that the recovery has already confirmed to readers"
    )
    return (Choice(why=why),)


def _one_mark(declared: Declared) -> Sequence[Mechanism]:
    version, directories = artifacts.parse_version(declared.options.version), len(declared.options.ledger_directories)
    fixed = next((fix for fix in _ONE_MARK_FIXED if fix[:2] == version[:2]), _ONE_MARK_FIXED[-1])
    if directories <= 1 or version >= fixed:
        return ()
    why = (
        f"{directories} ledger_directories, and a bookie was killed: a flush of one directory marks the journal "
        "as flushed for all of them, so that entries of the others are not replayed"
    )
    return (Copies(why=why, in_process=Act.ENDS, enough=1, leader_counts=False, lag_ns=None),)


RULES = (
    *STORAGE_RULES,
    Rule(
        "bookkeeper.ledger-directories",
        ("lost-entry", "truncated"),
        _one_mark,
        "use BookKeeper 4.15.5, 4.16.2, 4.17.0 or later, or one ledger directory",
        "pull request 3329 of apache/bookkeeper",
        "bookkeeper/ledger-directories:before",
        "bookkeeper/ledger-directories:fixed",
        known="apache/bookkeeper, pull request 3329: fixed in 4.14.8, 4.15.5, 4.16.2 and 4.17.0",
    ),
    Rule(
        "bookkeeper.closed-by-writer",
        ("lac-regression", "truncated"),
        _closed_by_writer,
        "",
        "BookKeeper 4.17, LedgerHandle.handleUnrecoverableErrorDuringAdd and doAsyncCloseInternal",
        "bookkeeper/fencing",
        "bookkeeper/bit-flip:digest",
        alone=True,
        known="docs/bookkeeper.md, A fenced writer may close a ledger below what a recovery has confirmed",
    ),
    Rule(
        "bookkeeper.no-digest",
        ("corrupt",),
        _no_digest,
        "set digest: CRC32C",
        "BookKeeper documentation, DigestType",
        "bookkeeper/bit-flip:no-digest",
        "bookkeeper/bit-flip:digest",
    ),
)


def promises(declared: Declared) -> Mapping[str, str]:
    """Return, by anomaly, why it must not occur if no rule allows it."""
    digest = f"digest {declared.options.digest}: clients verify each entry, and read a damaged one from another bookie"
    return {**_PROMISED, **dict.fromkeys(_KEPT, kept(declared)), "corrupt": digest}


GUARANTEES = Guarantees(RULES, promises, _APART, STORAGE_SETTINGS)
