"""A RabbitMQ of somebody else's on their machines, with TLS and a user of its own, under supervisord."""

from __future__ import annotations

import ssl
from typing import Any

import httpx
from remote.machines import Machines

from chaoskit.base.waiting import wait_until
from clusters.common.certificates import Authority

PACKAGES = ("rabbitmq-server",)
USER, PASSWORD = "chaos", "secret-of-theirs"
_CONF = """\
cluster_formation.peer_discovery_backend = classic_config
cluster_formation.classic_config.nodes.1 = rabbit@k1
cluster_formation.classic_config.nodes.2 = rabbit@k2
cluster_formation.classic_config.nodes.3 = rabbit@k3
default_user = {user}
default_pass = {password}
loopback_users = none
listeners.tcp = none
listeners.ssl.default = 5671
ssl_options.cacertfile = /etc/rabbitmq/authority.pem
ssl_options.certfile = /etc/rabbitmq/node.pem
ssl_options.keyfile = /etc/rabbitmq/key.pem
management.ssl.port = 15671
management.ssl.cacertfile = /etc/rabbitmq/authority.pem
management.ssl.certfile = /etc/rabbitmq/node.pem
management.ssl.keyfile = /etc/rabbitmq/key.pem
log.console = true
"""
_SUPERVISED = """\
[program:rabbitmq]
command=/usr/lib/rabbitmq/bin/rabbitmq-server
directory=/var/lib/rabbitmq
user=rabbitmq
environment=HOME="/var/lib/rabbitmq",LANG="C.UTF-8",RABBITMQ_NODENAME="rabbit@{name}",RABBITMQ_LOGS="-"
autorestart=true
stopasgroup=true
killasgroup=true
stopwaitsecs=30
redirect_stderr=true
stdout_logfile=/var/log/rabbitmq.log
"""
_READY_S = 90


class Theirs:
    """Their RabbitMQ; the password is in the environment variable `RABBIT_PASSWORD`.

    Attributes:
        attach: how its clients connect.
        inventory: the inventory of its machines.
    """

    def __init__(self, machines: Machines) -> None:
        self.machines = machines
        self._authority = Authority()
        self._ca = machines.folder / "ca.pem"
        self._ca.write_text(self._authority.pem)
        for name in machines.names:
            self._install(name)
        self.attach: dict[str, Any] = {
            "hosts": list(machines.addresses.values()),
            "username": USER,
            "password": {"env": "RABBIT_PASSWORD"},
            "tls": True,
            "ca": str(self._ca),
        }
        self.inventory = machines.inventory(
            lambda _: {"rabbitmq": {"supervisor": "rabbitmq", "log": "/var/log/rabbitmq.log"}}
        )
        self.wait_whole()

    def queues(self) -> list[str]:
        """Return the names of all queues."""
        return sorted(queue["name"] for queue in self._ask("/api/queues"))

    def _ask(self, path: str) -> Any:
        address = self.machines.addresses["k1"]
        with httpx.Client(
            trust_env=False, verify=ssl.create_default_context(cafile=self._ca), auth=(USER, PASSWORD)
        ) as client:
            return client.get(f"https://{address}:15671{path}", timeout=5).raise_for_status().json()

    def _install(self, name: str) -> None:
        machines = self.machines
        certificate, key = self._authority.issue(name, machines.addresses[name])
        conf = _CONF.format(user=USER, password=PASSWORD)
        for path, content in {
            "/etc/rabbitmq/authority.pem": self._authority.pem,
            "/etc/rabbitmq/node.pem": certificate,
            "/etc/rabbitmq/key.pem": key,
            "/etc/rabbitmq/rabbitmq.conf": conf,
            "/etc/rabbitmq/enabled_plugins": "[rabbitmq_management].\n",
            "/var/lib/rabbitmq/.erlang.cookie": "cookie-of-theirs",
            "/etc/supervisor/conf.d/rabbitmq.conf": _SUPERVISED.format(name=name),
        }.items():
            machines.put(name, path, content)
        machines.ssh(
            name,
            "sudo chown -R rabbitmq:rabbitmq /var/lib/rabbitmq /etc/rabbitmq && "
            "sudo chmod 400 /var/lib/rabbitmq/.erlang.cookie && "
            "sudo supervisord -c /etc/supervisor/supervisord.conf",
        )

    def wait_whole(self) -> None:
        """Wait until every node is part of the cluster: one that was just started runs before it is."""
        ready = wait_until(lambda: self._running() == len(self.machines.names), _READY_S, every_s=0.5)
        assert ready, self.machines.ssh("k1", "tail -30 /var/log/rabbitmq.log")

    def _running(self) -> int:
        try:
            return sum(bool(node.get("running")) for node in self._ask("/api/nodes"))
        except httpx.HTTPError:
            return 0
