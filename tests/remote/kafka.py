"""A Kafka of somebody else's on their machines: TLS, SCRAM; under supervisord on two hosts, with a pid file on one."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from secrets import token_hex
from typing import Any

from confluent_kafka import KafkaException, Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic
from remote.machines import Machines

from chaoskit.base.waiting import wait_until
from clusters.common.certificates import Authority
from clusters.kafka import artifacts, security, settings
from clusters.kafka.deploy.nodes import cluster_id
from clusters.kafka.settings import KafkaOptions

PASSWORD = security._PASSWORD
VERSION = KafkaOptions().version
_DATA = "/var/lib/system/kafka"
PACKAGES = ("openjdk-21-jre-headless",)
_JAVA = "java -cp '/opt/system/*' -Xmx300m -Dlog4j2.configurationFile=/etc/kafka/log4j2.properties"
_SUPERVISED = """\
[program:kafka]
command={java} kafka.Kafka /etc/kafka/server.properties
user=system
autorestart=true
stopwaitsecs=30
redirect_stderr=true
stdout_logfile=/var/log/kafka.log
"""
_START = f"""\
#!/bin/sh
setsid setpriv --reuid=system --regid=system --clear-groups \\
    {_JAVA} kafka.Kafka /etc/kafka/server.properties < /dev/null >> /var/log/kafka.log 2>&1 &
echo $! > /run/kafka.pid
"""
QUICK = {"broker.session.timeout.ms": 3000, "broker.heartbeat.interval.ms": 500}
"""Settings with which a broker that fell silent is noticed soon."""

_READY_S = 60
_PROBE_MS = 5000


class Theirs:
    """Their Kafka.

    Attributes:
        attach: how its clients connect; the password is in the environment variable `KAFKA_PASSWORD`.
        inventory: the inventory of its machines.
    """

    def __init__(self, machines: Machines, config: dict[str, Any]) -> None:
        self.machines = machines
        self._authority = Authority()
        secured = {"tls": True, "sasl": "scram-sha-512"}
        options = KafkaOptions.model_validate({"security": secured, "config": config})
        formatted = cluster_id()
        with ThreadPoolExecutor(len(machines.names)) as pool:
            list(pool.map(lambda index: self._install(index, options, formatted), range(len(machines.names))))
        ca = machines.folder / "ca.pem"
        ca.write_text(self._authority.pem)
        self.attach: dict[str, Any] = {
            "bootstrap.servers": ",".join(f"{a}:{security.CLIENTS_PORT}" for a in machines.addresses.values()),
            "security.protocol": "SASL_SSL",
            "sasl.mechanism": "SCRAM-SHA-512",
            "sasl.username": "chaoskit",
            "sasl.password": {"env": "KAFKA_PASSWORD"},
            "ssl.ca.location": str(ca),
        }
        self.inventory = machines.inventory(_services)
        self.wait_whole()

    def admin(self) -> AdminClient:
        """Return an administrator's client."""
        return AdminClient({**self.attach, "sasl.password": PASSWORD, "log_level": 0}, logger=None)

    def topics(self) -> list[str]:
        """Return the topics that are no internal ones."""
        return sorted(name for name in self.admin().list_topics(timeout=10).topics if not name.startswith("__"))

    def _install(self, index: int, options: KafkaOptions, formatted: str) -> None:
        machines, name = self.machines, self.machines.names[index]
        addresses = list(machines.addresses.values())
        certificate, key = self._authority.issue(name, machines.addresses[name])
        machines.put(name, "/etc/kafka/broker.pem", key + certificate)
        machines.put(name, "/etc/kafka/authority.pem", self._authority.pem)
        machines.put(
            name, "/etc/kafka/server.properties", settings.server_properties(options, addresses, index, [_DATA])
        )
        for file, content in settings.LOGGING.items():
            machines.put(name, f"/etc/kafka/{file}", content)
        tool = f"kafka.tools.StorageTool format -t {formatted} -c /etc/kafka/server.properties"
        users = " ".join(f"'{user}'" for user in security.users(options.security))
        machines.ssh(name, f"sudo -u system {_JAVA} {tool} {users}")
        if index == len(addresses) - 1:
            machines.put(name, "/opt/system/start", _START)
            machines.ssh(name, "sudo chmod +x /opt/system/start && sudo /opt/system/start")
        else:
            machines.put(name, "/etc/supervisor/conf.d/kafka.conf", _SUPERVISED.format(java=_JAVA))
            machines.ssh(name, "sudo supervisord -c /etc/supervisor/supervisord.conf")

    def wait_whole(self) -> None:
        """Wait until every node is part of the cluster, and replicates.

        One that was just started runs before it is, and one whose connections broke asks for messages again only
        when its request has timed out.
        """
        ready = wait_until(lambda: self._running() == len(self.machines.names), _READY_S, every_s=0.5)
        assert ready, self.machines.ssh("k1", "tail -30 /var/log/kafka.log")
        assert wait_until(self._replicates, _READY_S, every_s=0.5), "a message is not replicated"

    def _replicates(self) -> bool:
        """Return whether every broker replicates what each other one leads."""
        admin, name, count = self.admin(), f"probe-{token_hex(3)}", len(self.machines.names)
        answers: list[bool] = []
        admin.create_topics([NewTopic(name, count, count, config={"min.insync.replicas": str(count)})])[name].result()
        producer = Producer(
            {**self.attach, "sasl.password": PASSWORD, "acks": "all", "delivery.timeout.ms": _PROBE_MS, "log_level": 0}
        )
        for partition in range(count):
            producer.produce(name, b"", partition=partition, on_delivery=lambda error, _: answers.append(error is None))
        producer.flush(2 * _PROBE_MS / 1000)
        admin.delete_topics([name])[name].result()
        gone = wait_until(lambda: name not in self.topics(), _READY_S, every_s=0.1)
        return gone and answers == [True] * count

    def _running(self) -> int:
        try:
            return len(self.admin().list_topics(timeout=2).brokers)
        except KafkaException:
            return 0


def jars() -> Path:
    """Return the folder with Kafka's jars."""
    return artifacts.fetch(VERSION)


def _services(name: str) -> dict[str, Any]:
    log = {"log": "/var/log/kafka.log"}
    if name == "k3":
        return {"kafka": {"pid_file": "/run/kafka.pid", "start": "/opt/system/start", **log}}
    return {"kafka": {"supervisor": "kafka", **log}}
