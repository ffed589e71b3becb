"""Who holds which role in a Kafka cluster right now.

Leaders, followers and in-sync replicas come from the brokers' metadata; the active controller from
the quorum state that every node keeps on its disk, since metadata names any broker as controller.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient, PartitionMetadata

from chaoskit.cluster import ClusterError
from chaoskit.host import HostError, ServiceHost
from clusters.kafka.settings import DATA_FOLDER

ROLES = ("leader", "followers", "follower", "isr", "controller", "coordinator")
_TIMEOUT_S = 5


def partition_state(admin: AdminClient, topic: str, partition: int) -> PartitionMetadata:
    """Return leader, replicas and in-sync replicas (node ids).

    Raises:
        ClusterError: no broker knows the partition.
    """
    try:
        topics = admin.list_topics(topic, timeout=_TIMEOUT_S).topics
    except KafkaException as error:
        raise ClusterError(f"no broker answered which host leads {topic}/{partition}: {error}") from error
    state = topics[topic].partitions.get(partition)
    if state is None:
        raise ClusterError(f"there is no partition {topic}/{partition}")
    return state


def controller_node(hosts: Sequence[ServiceHost]) -> int:
    """Return the node id of the active controller: the leader of the newest epoch that any node knows.

    Raises:
        ClusterError: no node that can be asked knows one.
    """
    states = [state for host in hosts if (state := _quorum_state(host)) is not None]
    known = [state for state in states if state["leaderId"] >= 0]
    if not known:
        raise ClusterError("no node knows an active controller")
    return int(max(known, key=lambda state: state["leaderEpoch"])["leaderId"])


def coordinator_node(admin: AdminClient, group: str) -> int:
    """Return the node id of a group's coordinator.

    Raises:
        ClusterError: the group has none.
    """
    try:
        description = admin.describe_consumer_groups([group], request_timeout=_TIMEOUT_S)[group].result()
    except KafkaException as error:
        raise ClusterError(f"group {group} has no coordinator: {error}") from error
    return int(description.coordinator.id)


def _quorum_state(host: ServiceHost) -> dict[str, int] | None:
    pattern = f"cat {host.data_dir}/{DATA_FOLDER}/*metadata-0/quorum-state"
    try:
        found = host.run(["sh", "-c", pattern], check=False, timeout_s=_TIMEOUT_S)
        return json.loads(found.out) if found.out else None
    except (HostError, ValueError):
        return None
