"""The current holders of roles in a Kafka cluster.

Leaders, followers and in-sync replicas come from the brokers' metadata; the active controller comes from
the quorum state on each node's disk, because metadata may name any broker as controller. With ZooKeeper the controller
is whom ZooKeeper names (`clusters.kafka.deploy.ensemble`).
"""

from __future__ import annotations

import json
import struct
from collections import Counter
from collections.abc import Callable, Sequence

from chaoskit.base.parallel import on_each
from chaoskit.contract.hosts.host import HostError, ServiceHost
from chaoskit.contract.systems.role import Every
from chaoskit.contract.systems.service import ServiceError
from chaoskit.model.place import Place
from clusters.kafka.deploy import probe
from clusters.kafka.deploy.probe import ANSWER_TIMEOUT_S, LatestTransaction, PartitionState, partition_states
from clusters.kafka.deploy.requests import Refused
from clusters.kafka.settings import BROKER_PORT
from clusters.kafka.tiered.options import OBJECT_STORE

ZOOKEEPER_LEADER = "zookeeper-leader"
OF_ZOOKEEPER = (ZOOKEEPER_LEADER, Every("zookeepers"))
"""Roles that only clusters with ZooKeeper have."""

ROLES = (
    "leader", Every("followers"), "follower", Every("isr"), "controller", "coordinator", "transaction-coordinator",
    "share-coordinator", *OF_ZOOKEEPER, OBJECT_STORE,
)  # fmt: skip
ATTACHED_ROLES = ("leader", Every("followers"), "follower", Every("isr"), "coordinator")
"""Those of clusters that run already."""

_TIMEOUT_S = 5


def states(brokers: Sequence[ServiceHost], topics: Sequence[str]) -> dict[Place, PartitionState]:
    """Return the states of all partitions of some topics, as most of the brokers that know its newest epoch tell them.

    All brokers are asked in parallel, so that a paused one does not delay the result.
    """

    def ask(host: ServiceHost) -> list[tuple[Place, PartitionState]]:
        try:
            return [
                ((topic, number), state)
                for topic in topics
                for number, state in partition_states(host.address, BROKER_PORT, topic, ANSWER_TIMEOUT_S).items()
            ]
        except (OSError, struct.error):
            return []

    answers: dict[Place, Counter[PartitionState]] = {}
    for place, state in (entry for answer in on_each(brokers, ask) for entry in answer):
        answers.setdefault(place, Counter())[state] += 1
    return {place: max(states, key=lambda state: (state.epoch, states[state])) for place, states in answers.items()}


def transactions(brokers: Sequence[ServiceHost]) -> dict[str, LatestTransaction]:
    """Return the latest transactions of all transactional ids that brokers which answer coordinate."""

    def ask(host: ServiceHost) -> dict[str, LatestTransaction]:
        try:
            return probe.transactions(host.address, BROKER_PORT, ANSWER_TIMEOUT_S)
        except (OSError, struct.error, Refused):
            return {}

    return {name: latest for answer in on_each(brokers, ask) for name, latest in answer.items()}


def holders(place: Place, role: str, leader: int, replicas: Sequence[int], isr: Sequence[int]) -> Sequence[int]:
    """Return the node ids of a partition's leader, followers (`follower` and `followers` are equivalent) or in-sync
    replicas (`isr`), by its state.

    Raises:
        ServiceError: it has no leader.
    """
    if leader < 0:
        raise ServiceError(f"{place[0]}/{place[1]} currently has no leader")
    followers = [node for node in replicas if node != leader]
    return {"leader": [leader], "isr": isr, "followers": followers, "follower": followers}[role]


def controller_node(hosts: Sequence[ServiceHost], metadata_dir: Callable[[ServiceHost], str]) -> int:
    """Return the node id of the active controller: the leader of the highest epoch that any node knows.

    Raises:
        ServiceError: no reachable node knows one.
    """
    states = [state for host in hosts if (state := _quorum_state(host, metadata_dir)) is not None]
    known = [state for state in states if state["leaderId"] >= 0]
    if not known:
        raise ServiceError("no node knows an active controller")
    return int(max(known, key=lambda state: state["leaderEpoch"])["leaderId"])


def coordinating_partition(name: str, partitions: int) -> int:
    """Return the partition of an internal topic whose leader coordinates what has a name, such as a transactional id or
    a group: the absolute value of Java's hash of the name, modulo the number of partitions.

    >>> coordinating_partition("chaoskit-0", 3), coordinating_partition("chaoskit-1", 3)
    (0, 2)
    """
    hashed = 0
    for letter in name:
        hashed = (31 * hashed + ord(letter)) % 2**32
    return min(hashed, 2**32 - hashed) % partitions


def _quorum_state(host: ServiceHost, metadata_dir: Callable[[ServiceHost], str]) -> dict[str, int] | None:
    try:
        done = host.run(
            ["cat", f"{metadata_dir(host)}/__cluster_metadata-0/quorum-state"], check=False, timeout_s=_TIMEOUT_S
        )
        state: dict[str, int] | None = json.loads(done.out) if done.out else None
    except (HostError, ValueError):
        return None
    return state
