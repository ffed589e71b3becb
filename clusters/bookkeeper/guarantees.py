"""What BookKeeper promises under the declared settings and the faults that took effect.

It is what `clusters.bookkeeper.durability` says, in the words of ledgers.
"""

from __future__ import annotations

from collections.abc import Sequence

from chaoskit.contract.cluster import Allowance, Declared, Effect
from clusters.bookkeeper.durability import lost, metadata_lost
from clusters.bookkeeper.settings import BookKeeperOptions

_NEVER = {
    "phantom": "only entries that somebody added can be read",
    "misrouted": "an entry stays in the ledger that it was added to",
    "duplicate": "a writer adds each message once, and goes on with the next one after an error",
    "redelivered": "a reader reads each entry once after it opened a ledger",
    "rewound": "a reader reads a ledger in the order of its entries",
    "reordered": "entries get their ids in the order in which the writer adds them, and are acknowledged in it",
    "order-violation": "entries get their ids in the order in which the writer adds them, and are acknowledged in it",
    "failed-visible": "an add is classified as failed only where the client refused it before it sent anything",
}
_NO_GROUPS = dict.fromkeys(
    ("double-assignment", "stuck-partition", "commit-regression", "commit-beyond"), "ledgers have no consumer groups"
)
_FORGETTING = (
    "lost", "lost-entry", "truncated", "skipped", "late", "dropped-as-duplicate", "readers-disagree", "lac-regression",
    "fencing-violation",
)  # fmt: skip
"""What comes with bookies that forget: entries, and that a ledger was fenced (the fence is a record in the journal)."""


def guarantees(declared: Declared, effects: Sequence[Effect]) -> dict[str, Allowance]:
    """Return the verdict's table for one run."""
    options: BookKeeperOptions = declared.options
    placed = options.place(declared.hosts or declared.brokers)
    metadata = metadata_lost(options, placed, effects)
    forgotten = lost(options, placed, effects, metadata)
    table = {name: Allowance(False, why) for name, why in (_NEVER | _NO_GROUPS).items()}
    table |= dict.fromkeys(_FORGETTING, forgotten)
    table["offset-conflict"] = table["entry-conflict"] = metadata
    table["corrupt"] = _corrupt(options, forgotten)
    table["sequence-jump"] = forgotten
    return table


def _corrupt(options: BookKeeperOptions, forgotten: Allowance) -> Allowance:
    if options.digest == "DUMMY" and forgotten.allowed:
        return Allowance(
            True,
            f"digest DUMMY: clients do not notice an entry that was changed; {forgotten.why}",
            "set digest: CRC32C",
        )
    return Allowance(False, f"digest {options.digest}: clients verify each entry, and read it from another bookie")
