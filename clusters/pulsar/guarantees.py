"""What Pulsar promises under the declared settings and the faults that took effect.

Each rule answers for one or more anomalies: allowed or not, why, and what to change. What bookies and ZooKeeper may
lose is decided in `clusters.bookkeeper.durability`. Sources: Pulsar's documentation of `brokerDeduplicationEnabled`. Of
sequence ids and batches: `MessageDeduplication.isDuplicate` (Pulsar 4.0.7), pull request 5491 of apache/pulsar (which
gave Java's batches their highest sequence id), issue 1395 of apache/pulsar-client-go, and runs (docs/deduplication.md).
"""

from __future__ import annotations

from collections.abc import Sequence

from chaoskit.contract.cluster import Allowance, Declared, Effect
from clusters.bookkeeper.durability import lost as storage_lost
from clusters.bookkeeper.durability import metadata_lost
from clusters.effects import sequence_jump
from clusters.pulsar.producer import resolve_producer
from clusters.pulsar.settings import PulsarOptions
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
    placed = options.place(declared.hosts or declared.brokers)
    metadata = metadata_lost(options, placed, effects)
    lost = storage_lost(options, placed, effects, metadata)
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
    table["sequence-jump"] = sequence_jump([dropped, duplicate, table["reordered"], moved])
    return table | (subscription_guarantees(declared, effects, lost) if declared.subscription else {})


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
