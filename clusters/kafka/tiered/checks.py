"""Which options go together with tiered storage."""

from __future__ import annotations

from chaoskit.base.errors import BadInput
from chaoskit.contract.guarantees.setting import is_true
from clusters.common.names import raise_any
from clusters.kafka.artifacts import parse_version
from clusters.kafka.settings import KafkaOptions
from clusters.kafka.tiered.options import REMOTE, SINCE

_KEY = "cluster.tiered_storage"


def check_tiered(options: KafkaOptions, hosts: int) -> None:
    """Reject what does not go together with an object store, and topics that want one where there is none.

    Raises:
        BadInput: names each, and the remedy.
    """
    if options.tiered_storage is None:
        if is_true(options.topic.get(REMOTE, False)):
            raise BadInput(f"cluster.topic.{REMOTE}: there is no object store; add cluster.tiered_storage: {{}}")
        return
    wrong = {
        f"Kafka {options.version} has it as a preview, or not at all; use 3.9 or later": (
            parse_version(options.version) < SINCE
        ),
        "not with metadata: zookeeper; remove one of them": options.in_zookeeper,
        "the object store is on the last host, so that there is no broker; raise cluster.hosts": hosts < 2,
        "Kafka tiers no compacted topics; remove cluster.topic.cleanup.policy": (
            "compact" in str(options.topic.get("cleanup.policy"))
        ),
        f"the workload's topics are not tiered; remove cluster.topic.{REMOTE}": not is_true(
            options.topic.get(REMOTE, True)
        ),
    }
    raise_any([f"{_KEY}: {why}" for why, is_wrong in wrong.items() if is_wrong])


def check_no_store(options: KafkaOptions) -> None:
    """Reject an object store of ours for a cluster that runs already.

    Raises:
        BadInput: there is one.
    """
    if options.tiered_storage is not None:
        raise BadInput(f"{_KEY}: a cluster that runs already has its own; remove it")
