"""Compacted topics: how they are compacted, and which loads may use them.

Sources: Kafka documentation, "Log Compaction", and topic settings `cleanup.policy`, `delete.retention.ms` and
`min.compaction.lag.ms`.
"""

from __future__ import annotations

from collections.abc import Mapping

from chaoskit.base.errors import BadInput
from chaoskit.base.quantities import MILLISECOND
from chaoskit.contract.guarantees.guarantee import Declared
from chaoskit.contract.workloads.datamodel import LOG
from chaoskit.contract.workloads.topic import Topic
from chaoskit.contract.workloads.traits import Transactions
from chaoskit.model.compaction import Compaction
from clusters.common.compaction import check_load, check_no_deletions
from clusters.kafka.settings import CLEANUP, COMPACTION_LAG_MS, DELETE_RETENTION_MS, KafkaOptions
from clusters.kafka.shares import queues

_KEY = "cluster.topic.cleanup.policy"


def compaction(options: KafkaOptions) -> Compaction | None:
    """Return how the workload's topics are compacted; None: they are not."""
    if "compact" not in str(CLEANUP.of(options)):
        return None
    retention_ms, lag_ms = DELETE_RETENTION_MS.number_of(options), COMPACTION_LAG_MS.number_of(options)
    return Compaction(retention_ms * MILLISECOND, lag_ms * MILLISECOND)


def imposed(options: KafkaOptions, topic: Topic) -> Mapping[str, int]:
    """Return the settings of a topic that the workload did not declare; see
    `chaoskit.contract.systems.system.Imposing`."""
    compacted = compaction(options) if topic.model is LOG else None
    return queues.imposed(options, topic) if compacted is None else compacted.settings


def check_compaction(declared: Declared) -> None:
    """Reject loads whose messages a compacted topic does not take, or whose verdict would not know what compaction may
    remove; and deletions where nothing is compacted.

    Raises:
        BadInput: names the key and the remedy.
    """
    if compaction(declared.options) is None:
        check_no_deletions(declared, f"{_KEY}: compact")
        return
    if declared.get(Transactions) is not None:
        raise BadInput(f"{_KEY}: transactions on compacted topics cannot be judged yet; write delete")
    check_load(declared, _KEY, off="write delete", keyless="a compacted topic takes no message without a key")
