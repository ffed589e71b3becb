"""Who operates a cluster of Kafka: which of the operations there are, by its release and its metadata."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from chaoskit.contract.hosts.host import ServiceHost
from clusters.kafka.artifacts import has_tools
from clusters.kafka.deploy.ensemble import Ensemble
from clusters.kafka.deploy.nodes import KafkaNodes
from clusters.kafka.metadata import can_migrate
from clusters.kafka.operate.migration import Migrator
from clusters.kafka.operate.operator import KafkaOperator
from clusters.kafka.operate.upgrade import Upgrader
from clusters.kafka.settings import KafkaOptions


def operators_of(
    hosts: Sequence[ServiceHost],
    options: KafkaOptions,
    nodes: KafkaNodes,
    operator: KafkaOperator,
    *,
    ensemble: Ensemble | None,
    leave_zookeeper: Callable[[], None],
) -> list[Upgrader | Migrator | KafkaOperator]:
    """Return the objects with the powers to operate a cluster; see `clusters.kafka.powers`.

    Args:
        hosts: all hosts of the cluster.
        options: as in the scenario.
        nodes: its processes.
        operator: uses the tools of its release, if they can do all that is asked of them.
        ensemble: its ZooKeeper, if it has one.
        leave_zookeeper: called when the metadata have left ZooKeeper.
    """
    operators: list[Upgrader | Migrator | KafkaOperator] = []
    if not options.in_zookeeper:
        operators.append(Upgrader(nodes, operator))
    if ensemble is not None and can_migrate(options):
        operators.append(Migrator(hosts, options, nodes, ensemble, leave_zookeeper))
    if has_tools(options.version):
        operators.append(operator)
    return operators
