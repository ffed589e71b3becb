"""Which declarations RabbitMQ takes: what can be rejected before anything starts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from chaoskit.base.errors import BadInput, Problems
from chaoskit.base.later import Later
from chaoskit.contract.guarantees.guarantee import Declared
from chaoskit.contract.workloads.datamodel import LOG
from chaoskit.contract.workloads.traits import Group
from clusters.rabbitmq.guarantees.limits import check_policy
from clusters.rabbitmq.queues import check_types
from clusters.rabbitmq.releases import has_groups_of_streams, metadata_of, parse_version

FOR_RUNS = tuple(f"clusters.rabbitmq.{name}" for name in ("deploy.attachment", "connection", "streams.link"))
"""The modules with the settings of clients; they need the clients' packages."""

if TYPE_CHECKING:
    from clusters.rabbitmq import connection
    from clusters.rabbitmq.deploy import attachment
    from clusters.rabbitmq.streams import link
else:
    attachment, connection, link = (Later("rabbitmq", path) for path in FOR_RUNS)


def check(declared: Declared) -> None:
    """Reject what cannot work.

    Raises:
        BadInput: names each.
    """
    parse_version(declared.options.version)
    problems = Problems()
    problems.tried(metadata_of, declared.options.version, declared.options.metadata)
    is_log = any(topic.model is LOG for topic in declared.topics)
    check = link.check_settings if is_log else connection.check_settings
    problems.tried(check, "producer", declared.producer)
    problems.tried(check, "consumer", declared.consumer)
    if is_log and declared.get(Group) is not None and not has_groups_of_streams(declared.options.version):
        problems.add(
            BadInput("workload.consumption: RabbitMQ 3.10 has no groups of streams; set cluster.version: 4.0.5")
        )
    problems.tried(check_types, declared)
    problems.tried(check_policy, declared.options.policy, declared.options.config)
    if declared.replication > declared.brokers:
        problems.add(
            BadInput(
                f"workload.replication: {declared.replication} members require as many nodes; there are "
                f"{declared.brokers}"
            )
        )
    problems.raise_any()


def check_attached(settings: Mapping[str, Any], declared: Declared) -> None:
    """Reject what cannot work in a cluster that runs already.

    Raises:
        BadInput: names each.
    """
    problems = Problems()
    problems.tried(attachment.check, settings, declared)
    problems.tried(check, declared)
    problems.raise_any()
