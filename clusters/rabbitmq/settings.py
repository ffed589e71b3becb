"""RabbitMQ's options and configuration files."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from chaoskit.contract.systems.role import Every
from chaoskit.contract.systems.wire import Wire
from clusters.common.properties import Scalar, text
from clusters.rabbitmq import wire

AMQP_PORT = 5672
MANAGEMENT_PORT = 15672
STREAM_PORT = 5552
USER = PASSWORD = "guest"  # noqa: S105  # RabbitMQ's default; nobody else reaches the lab's addresses
CONF_FOLDER = "/etc/chaoskit-rabbitmq"
DATA_FOLDER = "rabbitmq"
"""RabbitMQ's folder on the data disk."""

WIRE = Wire(
    decoders={AMQP_PORT: "clusters.rabbitmq.wire:AmqpDecoder", STREAM_PORT: "clusters.rabbitmq.wire:StreamDecoder"},
    messages=wire.MESSAGES,
    answers=wire.ANSWERS,
    named=False,
    refusable=wire.REFUSABLE,
)

ROLES = (
    "leader", Every("followers"), "follower", Every("members"), "active-consumer", "connected", "coordinator",
    "stream-coordinator",
)  # fmt: skip
ATTACHED_ROLES = ("leader", Every("followers"), "follower", Every("members"), "active-consumer", "connected")
"""Those of clusters that run already."""


class RabbitOptions(BaseModel):
    """The options of a RabbitMQ cluster, in addition to its hosts.

    Attributes:
        version: release number: 3.10.8, 4.0.5 or 4.3.6, or what Debian has of these branches today.
        config: settings of `rabbitmq.conf` by RabbitMQ's own names, for all nodes.
        policy: definition of a policy for all queues, such as `ha-mode: all`.
        metadata: where queues, users and bindings are stored: `mnesia` or `khepri`; default: the release's own.
        clients: `default`, or `rstream` for producers of streams that are rstream's own, which connect again by
            themselves.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    version: str = "4.0.5"
    config: dict[str, Scalar] = {}
    policy: dict[str, Any] = {}
    metadata: Literal["mnesia", "khepri"] | None = None
    clients: Literal["default", "rstream"] = "default"

    @classmethod
    def misplaced(cls, key: str) -> str:
        """Return where a setting of RabbitMQ belongs: their names have dots or underscores."""
        return f"write settings of rabbitmq.conf below config: {{{key}: ...}}" if "." in key else ""


def node_name(host: str) -> str:
    """Return the name of the Erlang node on a host."""
    return f"rabbit@{host}"


def host_name(node: str) -> str:
    """Return the name of the host of an Erlang node."""
    return node.partition("@")[2]


def rabbitmq_conf(options: RabbitOptions, hosts: Sequence[str], address: str) -> str:
    """Return rabbitmq.conf of the host with an address.

    Args:
        options: as in the scenario.
        hosts: names of all hosts.
        address: IPv4 address of this one.
    """
    peers = {
        f"cluster_formation.classic_config.nodes.{number}": node_name(host)
        for number, host in enumerate(hosts, start=1)
    }
    ours = {
        "cluster_formation.peer_discovery_backend": "classic_config",
        **peers,
        "loopback_users": "none",
        "log.console": True,
        "log.file": False,
        **options.config,
        "listeners.tcp.1": f"{address}:{AMQP_PORT}",
        "management.tcp.ip": address,
        "management.tcp.port": MANAGEMENT_PORT,
        "stream.listeners.tcp.1": f"{address}:{STREAM_PORT}",
        "stream.advertised_host": address,
    }
    return "".join(f"{key} = {text(value)}\n" for key, value in ours.items() if value is not None)


def environment(host: str, address: str, data_dir: str) -> dict[str, str]:
    """Return the environment variables of a node."""
    home = home_folder(data_dir)
    interface = "{" + address.replace(".", ",") + "}"
    return {
        "HOME": home,
        "LANG": "C.UTF-8",
        "ERL_EPMD_ADDRESS": address,
        "RABBITMQ_CONFIG_FILE": f"{CONF_FOLDER}/rabbitmq.conf",
        "RABBITMQ_ENABLED_PLUGINS_FILE": f"{CONF_FOLDER}/enabled_plugins",
        "RABBITMQ_LOGS": "-",
        "RABBITMQ_LOG_BASE": f"{home}/log",
        "RABBITMQ_MNESIA_BASE": f"{home}/mnesia",
        "RABBITMQ_NODENAME": node_name(host),
        "RABBITMQ_PID_FILE": f"{home}/rabbitmq.pid",
        "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": f"-kernel inet_dist_use_interface {interface}",
    }


def home_folder(data_dir: str) -> str:
    """Return the folder of a node's data, on the host."""
    return f"{data_dir}/{DATA_FOLDER}"
