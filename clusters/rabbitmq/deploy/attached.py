"""A RabbitMQ cluster that runs already, reached by AMQP and by its management API. Queues only, no streams yet."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from chaoskit.base.errors import BadInput, Problems
from chaoskit.contract.hosts.host import ServiceHost
from chaoskit.contract.systems.attach import check_free, on_hosts
from chaoskit.contract.systems.node import Node
from chaoskit.contract.systems.owned import owned_installation
from chaoskit.contract.systems.service import ServiceError
from chaoskit.contract.workloads.topic import Topic
from clusters.rabbitmq.connection import ADDRESSES, LOGIN, ROUTES
from clusters.rabbitmq.deploy import probe
from clusters.rabbitmq.deploy.attachment import KEY, Attach, read
from clusters.rabbitmq.deploy.management import Management
from clusters.rabbitmq.deploy.service import RabbitService
from clusters.rabbitmq.deploy.stored import StoredQueues
from clusters.rabbitmq.guarantees.limits import check_effective
from clusters.rabbitmq.queues import declarations
from clusters.rabbitmq.releases import KHEPRI, MNESIA
from clusters.rabbitmq.roles import RabbitRoles
from clusters.rabbitmq.routing import route
from clusters.rabbitmq.settings import RabbitOptions

_READY_S = 30
_POLL_S = 0.1


def _management(attach: Attach, urls: Sequence[str]) -> Management:
    return Management(urls, attach.login)


def observe(settings: Mapping[str, Any], nodes: int, options: RabbitOptions) -> RabbitOptions:
    """See `chaoskit.contract.systems.attach.Attaching`."""
    attach = read(settings)
    members = _nodes(attach)
    management = _management(attach, attach.urls)
    try:
        running = management.running()
        release = management.release()
        flags = management.feature_flags()
    except ServiceError as error:
        raise BadInput(f"{KEY}: {error}") from error
    finally:
        management.close()
    if missing := sorted(set(running) - {node.id for node in members}):
        raise BadInput(f"{KEY}.hosts: the cluster has further nodes: {', '.join(missing)}; name their hosts, too")
    if len(members) != nodes:
        raise BadInput(f"cluster.hosts: the cluster has {len(members)} nodes; write hosts: {len(members)}")
    if release != options.version:
        raise BadInput(f"cluster.version: the nodes run {release}, not {options.version}; write version: {release}")
    metadata = KHEPRI if flags.get("khepri_db") == "enabled" else MNESIA
    if options.metadata not in (None, metadata):
        raise BadInput(f"cluster.metadata: the nodes use {metadata}; write that")
    return options.model_copy(update={"metadata": metadata})


def _nodes(attach: Attach) -> list[Node]:
    """Return the nodes, each asked for its own name.

    Raises:
        BadInput: one does not answer.
    """
    problems, nodes = Problems(), []
    for number, (address, url) in enumerate(zip(attach.addresses, attach.urls, strict=True), 1):
        management = _management(attach, [url])
        try:
            nodes.append(Node(f"n{number}", address, management.node()))
        except ServiceError as error:
            problems.add(BadInput(f"{KEY}.hosts: {error}"))
        finally:
            management.close()
    problems.raise_any()
    return nodes


class AttachedRabbit(RabbitService):
    """See `chaoskit.contract.systems.service.Service`.

    Args:
        settings: as in `cluster.attach`; secrets are references.
        hosts: the nodes' hosts, if an inventory names them.
    """

    owner = "an existing RabbitMQ cluster"

    def __init__(self, settings: Mapping[str, Any], hosts: Sequence[ServiceHost]) -> None:
        self._settings = settings
        self._attach = read(settings)
        nodes, hosts = on_hosts(_nodes(self._attach), hosts)
        self._addresses = {node.name: node.address for node in nodes}
        names = {node.id: node.name for node in nodes}

        def named(node: str) -> str:
            return names.get(node, node)

        management = _management(self._attach, self._attach.urls)
        stored = StoredQueues(management, named)
        super().__init__(
            management, stored, RabbitRoles(stored, management, named), {node.name: node.id for node in nodes}
        )
        self.nodes = nodes
        if hosts:
            self._holders.append(owned_installation(hosts, self.answers))

    def answers(self, host: ServiceHost, timeout_s: float = 0.5) -> bool:
        return probe.answers(self._addresses[host.name], timeout_s, self._attach.login)

    def begin_trial(self, namespace: str, options: RabbitOptions) -> None:
        """Check that there is no such queue yet; the names of queues tell of which trial they are."""
        check_free(namespace, self._management.queues())

    def create_topic(self, topic: Topic) -> None:
        for declaration in declarations(topic):
            self._stored.declare(declaration, list(self._names.values()))
            check_effective(topic, self._stored.told(declaration.name))
        self._routes[topic.name] = route(topic)
        self.wait_ready(_READY_S)

    def client_settings(self) -> dict[str, Any]:
        return {ADDRESSES: self._attach.addresses, ROUTES: self._routes, LOGIN: dict(self._settings)}


def remove(settings: Mapping[str, Any], names: Sequence[str]) -> list[str]:
    """See `chaoskit.contract.systems.attach.Attaching`."""
    attach = read(settings)
    management = _management(attach, attach.urls)
    try:
        queues = [name for name in management.queues() if any(_belongs(name, topic) for topic in names)]
        for name in queues:
            management.delete(name)
    finally:
        management.close()
    return queues


def _belongs(queue: str, topic: str) -> bool:
    return queue == topic or queue.startswith(f"{topic}.")
