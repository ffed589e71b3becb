"""What BookKeeper promises, and the rules by which it may fail an entry; most are those of `clusters.storage`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from chaoskit.contract.guarantee import Declared, Effect, Guarantees, Rule
from clusters.storage.durability import ONE_WRITER, STORAGE_RULES, forgotten, kept

_APART = frozenset(
    {
        "rewound", "reordered", "order-violation", "redelivered", "commit-regression", "commit-beyond",
        "torn-transaction", "zombie-write", "offset-conflict", "unacked-vanished", "fifo-violation",
    }
)  # fmt: skip
"""A ledger that lost its end has no other entries there: nothing follows from it for the order of what is kept."""

_PROMISED = {
    "phantom": "only entries that somebody added can be read",
    "misrouted": "an entry stays in the ledger that it was added to",
    "duplicate": "a writer adds each message once, and goes on with the next one after an error",
    "redelivered": "a reader reads each entry once after it opened a ledger",
    "rewound": "a reader reads a ledger in the order of its entries",
    "reordered": "entries get their ids in the order in which the writer adds them, and are acknowledged in it",
    "order-violation": "entries get their ids in the order in which the writer adds them, and are acknowledged in it",
    "failed-visible": "an add is classified as failed only where the client refused it before it sent anything",
    "offset-conflict": ONE_WRITER,
    "entry-conflict": ONE_WRITER,
}
_KEPT = (
    "lost", "lost-entry", "truncated", "skipped", "late", "dropped-as-duplicate", "readers-disagree", "lac-regression",
    "fencing-violation", "sequence-jump",
)  # fmt: skip


def _no_digest(declared: Declared, effects: Sequence[Effect]) -> str:
    why = forgotten(declared, effects)
    if declared.options.digest != "DUMMY" or not why:
        return ""
    return f"digest DUMMY: clients do not notice an entry that was changed; {why}"


RULES = (
    *STORAGE_RULES,
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
    """Return why each anomaly that no rule allows must not be."""
    digest = f"digest {declared.options.digest}: clients verify each entry, and read it from another bookie"
    return {**_PROMISED, **dict.fromkeys(_KEPT, kept(declared)), "corrupt": digest}


GUARANTEES = Guarantees(RULES, promises, _APART)
