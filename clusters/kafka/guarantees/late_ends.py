"""A request to end a transaction that arrives after the next one has begun (KIP-890)."""

from __future__ import annotations

from collections.abc import Sequence

from chaoskit.contract.guarantees.guarantee import Declared, Rule
from chaoskit.contract.guarantees.mechanism import Mechanism, Party, Session
from chaoskit.contract.workloads.traits import Transactions
from clusters.kafka.artifacts import parse_version
from clusters.kafka.settings import TRANSACTION_VERSION, KafkaOptions

_EPOCH_PER_TRANSACTION = 2
_SINCE = (4,)


def _late_end(declared: Declared) -> Sequence[Mechanism]:
    if declared.get(Transactions) is None or _has_epochs(declared):
        return ()
    why = (
        "transactions share the epoch of their producer: a request to end one that arrives late ends the next one, and "
        "what is aborted later, or was not committed yet, is read"
    )
    return (Session(why=why, path=(Party.PRODUCER, Party.BROKERS)),)


def _has_epochs(declared: Declared) -> bool:
    """Return whether each transaction has an epoch of its own; librdkafka asks for none."""
    options: KafkaOptions = declared.options
    default = _EPOCH_PER_TRANSACTION if parse_version(options.version) >= _SINCE else 0
    level = options.features.get(TRANSACTION_VERSION, default)
    return options.clients == "java" and level >= _EPOCH_PER_TRANSACTION


LATE_END = Rule(
    "kafka.late-end",
    ("aborted-read", "precommitted-read"),
    _late_end,
    "set clients: java, with Kafka 4.0 or later and transaction.version=2",
    "KIP-890, Transactions Server-Side Defense",
    "kafka/late-end:librdkafka",
    "kafka/late-end:java",
    known="KIP-890, with clients that do not ask for an epoch for each transaction, and before Kafka 4.0",
)
