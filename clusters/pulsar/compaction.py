"""Compacted topics: brokers write the latest message of each key anew, and readers that ask for it begin with that.

Sources: Pulsar documentation, "Topic compaction", and policy `compactionThreshold` of a namespace. A message without
content deletes its key; once compacted, nothing is left of it.
"""

from __future__ import annotations

from collections.abc import Mapping

from chaoskit.base.errors import BadInput
from chaoskit.contract.guarantees.guarantee import Declared
from chaoskit.contract.workloads.datamodel import LOG
from chaoskit.contract.workloads.topic import Topic
from chaoskit.model.compaction import Compaction
from clusters.common.compaction import check_load, check_no_deletions
from clusters.pulsar.clients import queues
from clusters.pulsar.settings import COMPACTION_POLICY, PulsarOptions

_KEY = f"cluster.namespace.{COMPACTION_POLICY}"


def is_compacted(options: PulsarOptions) -> bool:
    """Return whether the workload's topics are compacted, so that they are read that way."""
    return int(options.namespace.get(COMPACTION_POLICY) or 0) > 0


def imposed(options: PulsarOptions, topic: Topic) -> Mapping[str, int]:
    """Return the settings of a topic that the workload did not declare; see
    `chaoskit.contract.systems.system.Imposing`."""
    if topic.model is LOG and is_compacted(options):
        return Compaction(retention_ns=0).settings
    return queues.imposed(options, topic)


def check_compaction(declared: Declared) -> None:
    """Reject loads whose messages compaction would drop, or whose verdict would not know what it may remove; and
    deletions where nothing is compacted.

    Raises:
        BadInput: names the key and the remedy.
    """
    if not is_compacted(declared.options):
        check_no_deletions(declared, f"{_KEY}: 1000")
        return
    check_load(declared, _KEY, off="remove it", keyless="compaction drops messages without a key")
    if declared.options.clients == "java":
        raise BadInput(f"{_KEY}: compacted topics are not read with clients: java yet; remove one of them")
