"""A RabbitMQ cluster that runs already, reached by AMQP and by its management API. Queues only, no streams yet."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from chaoskit.base.errors import BadInput, Problems
from chaoskit.base.secrets import check_secrets, resolved
from chaoskit.contract.guarantees.guarantee import Declared
from chaoskit.contract.hosts.host import ServiceHost
from chaoskit.contract.mistakes import validated
from chaoskit.contract.systems.attach import check_free, on_hosts
from chaoskit.contract.systems.node import Node
from chaoskit.contract.systems.owned import owned_installation
from chaoskit.contract.systems.service import ServiceError
from chaoskit.contract.workloads.datamodel import QUEUE
from chaoskit.contract.workloads.topic import Topic
from clusters.rabbitmq.connection import ADDRESSES, LOGIN, ROUTES, Login
from clusters.rabbitmq.deploy import probe
from clusters.rabbitmq.deploy.management import Management
from clusters.rabbitmq.deploy.service import RabbitService
from clusters.rabbitmq.deploy.stored import StoredQueues
from clusters.rabbitmq.guarantees.limits import check_effective
from clusters.rabbitmq.queues import MIRRORED, declarations
from clusters.rabbitmq.releases import KHEPRI, MNESIA
from clusters.rabbitmq.roles import RabbitRoles
from clusters.rabbitmq.routing import route
from clusters.rabbitmq.settings import AMQP_PORT, MANAGEMENT_PORT, RabbitOptions

_KEY = "cluster.attach"
_TLS_OFFSET = -1
"""The ports with TLS are one below the plain ones: 5671 and 15671."""

_READY_S = 30
_POLL_S = 0.1


class Attach(BaseModel):
    """The keys of `cluster.attach`.

    Attributes:
        hosts: names or addresses of all nodes.
        username, password: of a user who may configure, write and read what begins with the prefix, and who may use the
            management API.
        vhost: virtual host.
        tls: whether AMQP and the management API use TLS.
        ca: file of the authority that signed the nodes' certificates; default: those that the machine trusts.
        port, management_port: default: 5672 and 15672, with TLS 5671 and 15671.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    hosts: Annotated[list[str], Field(min_length=1)]
    username: str
    password: str
    vhost: str = "/"
    tls: bool = False
    ca: str = ""
    port: Annotated[int | None, Field(ge=1, le=65535)] = None
    management_port: Annotated[int | None, Field(ge=1, le=65535)] = None

    @property
    def login(self) -> Login:
        """Who connects, and how."""
        return Login(self.username, self.password, self.vhost, self.tls, self.ca)

    @property
    def addresses(self) -> list[str]:
        """The addresses of the nodes for AMQP, as `host:port`."""
        port = self.port or AMQP_PORT + self.tls * _TLS_OFFSET
        return [f"{host}:{port}" for host in self.hosts]

    @property
    def urls(self) -> list[str]:
        """The addresses of the nodes' management API."""
        port = self.management_port or MANAGEMENT_PORT + self.tls * _TLS_OFFSET
        return [f"http{'s' * self.tls}://{host}:{port}" for host in self.hosts]


def _read(settings: Mapping[str, Any]) -> Attach:
    return validated(Attach, resolved(settings, _KEY), "", f"{_KEY}.")


def _management(attach: Attach, urls: Sequence[str]) -> Management:
    return Management(urls, attach.login)


def check(settings: Mapping[str, Any], declared: Declared) -> None:
    """Reject settings, and a load, that cannot work, without connecting.

    Raises:
        BadInput: names each.
    """
    check_secrets(settings, _KEY, ("password",))
    attach = _read(settings)
    problems = Problems()
    problems.tried(_context, attach)
    if declared.options.policy:
        problems.add(BadInput("cluster.policy: would change queues of others; set it yourself for the prefix"))
    if declared.options.config:
        problems.add(BadInput("cluster.config: cannot be compared with what runs; remove it"))
    for topic in declared.topics:
        if topic.model is not QUEUE or topic.kind == MIRRORED:
            problems.add(BadInput("workload.type: in an existing RabbitMQ cluster use quorum or classic queues"))
        if topic.exchange:
            problems.add(
                BadInput("workload.exchange: no exchange is created in an existing RabbitMQ cluster; remove it")
            )
    problems.raise_any()


def _context(attach: Attach) -> None:
    try:
        attach.login._replace(tls=True).context()
    except OSError as error:
        raise BadInput(f"{_KEY}.ca: {attach.ca}: {error}") from error


def observe(settings: Mapping[str, Any], nodes: int, options: RabbitOptions) -> RabbitOptions:
    """See `chaoskit.contract.systems.attach.Attaching`."""
    attach = _read(settings)
    members = _nodes(attach)
    management = _management(attach, attach.urls)
    try:
        running = management.running()
        release = management.release()
        flags = management.feature_flags()
    except ServiceError as error:
        raise BadInput(f"{_KEY}: {error}") from error
    finally:
        management.close()
    if missing := sorted(set(running) - {node.id for node in members}):
        raise BadInput(f"{_KEY}.hosts: the cluster has further nodes: {', '.join(missing)}; name their hosts, too")
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
            problems.add(BadInput(f"{_KEY}.hosts: {error}"))
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
        self._attach = _read(settings)
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


def login_of(settings: Mapping[str, Any]) -> Login:
    """Return who connects, with the secrets."""
    return _read(settings).login


def remove(settings: Mapping[str, Any], names: Sequence[str]) -> list[str]:
    """See `chaoskit.contract.systems.attach.Attaching`."""
    attach = _read(settings)
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
