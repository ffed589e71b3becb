"""The processes of RocketMQ on the hosts of a lab: their files, how they are started, and whether they answer."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from chaoskit.base.parallel import on_each
from chaoskit.contract.hosts.host import ServiceHost, ServiceState
from chaoskit.contract.systems.service import ServiceError
from clusters.common.framing import connect
from clusters.common.java import server
from clusters.rocketmq import settings
from clusters.rocketmq.deploy import admin
from clusters.rocketmq.settings import (
    BROKER,
    BROKER_PORT,
    NAME_SERVER,
    NAME_SERVER_PORT,
    PROXY,
    PROXY_PORT,
    RocketOptions,
)

_PROGRAMS = {
    NAME_SERVER: "org.apache.rocketmq.namesrv.NamesrvStartup",
    BROKER: "org.apache.rocketmq.broker.BrokerStartup",
    PROXY: "org.apache.rocketmq.proxy.ProxyStartup",
}
_OPENED = ("java.base/java.nio", "java.base/sun.nio.ch", "java.base/java.lang")
"""Mapped files are unmapped, and locked in memory, by means of the JDK's internals."""

_HOME = {"RMQ_PROXY_HOME": settings.FOLDER}


class RocketProcesses:
    """Configured name servers, brokers and proxies.

    Args:
        hosts: the hosts, on which the configuration and the jars are put.
        options: as in the scenario.
        jars: folder of verified jars on this machine.
    """

    def __init__(self, hosts: Sequence[ServiceHost], options: RocketOptions, jars: Path) -> None:
        self._hosts = hosts
        self._options = options
        self._addresses = [host.address for host in hosts]
        self._jars = dict(on_each(range(len(hosts)), lambda index: self._install(index, jars)))

    def services(self, host: ServiceHost) -> tuple[str, ...]:
        """Return which of them a host has."""
        return self._options.services(len(self._hosts), list(self._hosts).index(host))

    def spawn(self, host: ServiceHost, service: str) -> None:
        """Start one of a host, unless it runs."""
        if host.state(service) is not ServiceState.GONE:
            return
        options = self._options
        heap = options.heap_of(service)
        host.run(host.as_service(["mkdir", "-p", *(f"{host.data_dir}/{folder}" for folder in settings.DATA_FOLDERS)]))
        jvm = [settings.BOTH_COMPILERS, *options.jvm] if service == BROKER else options.jvm
        program = server(f"{self._jars[host.name]}/*", jvm, settings.PRODUCTION_JVM)
        memory = [f"-Xms{heap}", f"-Xmx{heap}", f"-XX:MaxDirectMemorySize={heap}"]
        own = [f"-Drmq.logback.configurationFile={settings.LOGGING}", f"-Duser.home={host.data_dir}"]
        opened = [f"--add-opens={package}=ALL-UNNAMED" for package in _OPENED]
        file = ["-pc" if service == PROXY else "-c", settings.FILES[service]]
        host.spawn(service, [*program, *opened, *own, *memory, _PROGRAMS[service], *file], _HOME)

    def _install(self, index: int, jars: Path) -> tuple[str, str]:
        """Write the configuration of one host; return its name and its folder of jars."""
        host = self._hosts[index]
        written = {
            settings.FILES[NAME_SERVER]: settings.namesrv_conf(self._options, self._addresses, index, host.data_dir),
            settings.FILES[BROKER]: settings.broker_conf(self._options, self._addresses, index, host.data_dir),
            settings.FILES[PROXY]: settings.proxy_json(self._options, self._addresses, index),
            settings.LOGGING: settings.LOGBACK,
        }
        for path, content in written.items():
            host.put(content.encode(), path)
        return host.name, host.install(jars)


def answers(host: ServiceHost, service: str, timeout_s: float) -> bool:
    """Return whether one service of a host answers in time."""
    try:
        if service == PROXY:
            connect(host.address, PROXY_PORT, timeout_s).close()
        elif service == NAME_SERVER:
            admin.registered((host.address, NAME_SERVER_PORT), timeout_s)
        else:
            admin.copying((host.address, BROKER_PORT), timeout_s)
    except (OSError, ServiceError):
        return False
    return True
