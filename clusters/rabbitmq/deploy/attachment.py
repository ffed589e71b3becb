"""The keys of `cluster.attach`, and which settings and loads cannot work with a RabbitMQ cluster that runs already."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from chaoskit.base.errors import BadInput, Problems
from chaoskit.base.secrets import check_secrets, resolved
from chaoskit.contract.guarantees.guarantee import Declared
from chaoskit.contract.mistakes import validated
from chaoskit.contract.workloads.datamodel import QUEUE
from clusters.rabbitmq.connection import Login
from clusters.rabbitmq.queues import MIRRORED
from clusters.rabbitmq.settings import AMQP_PORT, MANAGEMENT_PORT

KEY = "cluster.attach"
_TLS_OFFSET = -1
"""The ports with TLS are one below the plain ones: 5671 and 15671."""


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


def read(settings: Mapping[str, Any]) -> Attach:
    """Return the keys, with the secrets.

    Raises:
        BadInput: names each that is wrong.
    """
    return validated(Attach, resolved(settings, KEY), "", f"{KEY}.")


def login_of(settings: Mapping[str, Any]) -> Login:
    """Return who connects, with the secrets."""
    return read(settings).login


def check(settings: Mapping[str, Any], declared: Declared) -> None:
    """Reject settings, and a load, that cannot work, without connecting.

    Raises:
        BadInput: names each.
    """
    check_secrets(settings, KEY, ("password",))
    attach = read(settings)
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
        raise BadInput(f"{KEY}.ca: {attach.ca}: {error}") from error
