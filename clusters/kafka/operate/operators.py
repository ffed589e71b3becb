"""Who operates a cluster of Kafka: which of the operations there are, by its release and its metadata."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from confluent_kafka.admin import AdminClient

from chaoskit.contract.hosts.host import ServiceHost
from clusters.kafka.artifacts import has_tools
from clusters.kafka.deploy.ensemble import Ensemble
from clusters.kafka.deploy.nodes import KafkaNodes
from clusters.kafka.metadata import can_migrate
from clusters.kafka.operate.access import KafkaAccess
from clusters.kafka.operate.certificates import KafkaCertificates
from clusters.kafka.operate.directories import KafkaDirectories
from clusters.kafka.operate.groups import KafkaGroups
from clusters.kafka.operate.migration import Migrator
from clusters.kafka.operate.operator import KafkaOperator
from clusters.kafka.operate.partitions import KafkaPartitions
from clusters.kafka.operate.quotas import KafkaQuotas
from clusters.kafka.operate.records import KafkaRecords
from clusters.kafka.operate.tools import KafkaTools
from clusters.kafka.operate.upgrade import Upgrader
from clusters.kafka.operate.voters import KafkaVoters
from clusters.kafka.security import Credentials
from clusters.kafka.settings import KafkaOptions, broker_count


def operators_of(
    hosts: Sequence[ServiceHost],
    options: KafkaOptions,
    nodes: KafkaNodes,
    admin: AdminClient,
    *,
    answers: Callable[[ServiceHost], bool],
    topics: Callable[[], Sequence[str]],
    group: Callable[[], str],
    credentials: Credentials | None,
    ensemble: Ensemble | None,
    leave_zookeeper: Callable[[], None],
) -> list[object]:
    """Return the objects with the powers to operate a cluster; see `clusters.kafka.powers`.

    Args:
        hosts: all hosts of the cluster.
        options: as in the scenario.
        nodes: its processes.
        admin: an admin client of the cluster.
        answers: whether the processes on a host answer.
        topics: returns the names of the trial's topics.
        group: returns the name of its group of consumers.
        credentials: with which clients connect, if they need any.
        ensemble: its ZooKeeper, if it has one.
        leave_zookeeper: called when the metadata have left ZooKeeper.
    """
    brokers = hosts[: broker_count(options, len(hosts))]
    tools = KafkaTools(brokers, options.version, answers)
    operator = KafkaOperator(brokers, admin, tools)
    operators: list[object] = [KafkaRecords(admin, operator, topics), KafkaPartitions(admin, topics)]
    if not options.in_zookeeper:
        operators.append(KafkaQuotas(brokers))
    if credentials is not None and credentials.security.acls:
        operators.append(KafkaAccess(admin, credentials.client_settings(), topics))
    if credentials is not None and credentials.security.tls:
        operators.append(KafkaCertificates(admin, brokers, credentials))
    if not options.in_zookeeper and options.tiered_storage is None:
        operators.append(Upgrader(nodes, operator))
    if ensemble is not None and can_migrate(options):
        operators.append(Migrator(hosts, options, nodes, ensemble, leave_zookeeper))
    if has_tools(options.version):
        operators += [operator, KafkaGroups(tools, group)]
        if options.voters == "dynamic":
            operators.append(KafkaVoters(hosts, tools, nodes.disk_id))
        if len(options.log_dirs) > 1:
            operators.append(KafkaDirectories(brokers, tools, operator.assignment, nodes.log_dirs))
    return operators
