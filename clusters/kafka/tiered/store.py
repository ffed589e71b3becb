"""The object store of a cluster, and what brokers need to use it."""

from __future__ import annotations

import socket
from pathlib import Path

from chaoskit.base.quantities import SECOND
from chaoskit.contract.hosts.host import ServiceHost, ServiceState
from clusters.common.java import java
from clusters.common.javac import compiled
from clusters.kafka.tiered.options import OBJECT_STORE, PROGRAM, TieredStorage, server

_HEAP = "64m"
_JAVA = Path(__file__).with_name("java")


def programs(version: str, jars: Path) -> Path:
    """Return the folder with the store, and with the plug-in of brokers that uses it.

    Args:
        version: release of the brokers.
        jars: folder of its jars.

    Raises:
        BadInput: they do not compile with this release.
    """
    sources = sorted(_JAVA.glob("*.java"))
    return compiled(f"kafka-tiered-{version}", "the object store of tiered storage", sources, jars)


def start(host: ServiceHost, folder: str, tiered: TieredStorage) -> None:
    """Start the store on its host, unless it runs.

    Args:
        host: its host.
        folder: the folder of `programs` there.
        tiered: as in the scenario.
    """
    if host.state(OBJECT_STORE) is not ServiceState.GONE:
        return
    objects = f"{host.data_dir}/objects"
    host.run(host.as_service(["mkdir", "-p", objects]))
    durable = "true" if tiered.fsync else "false"
    # A request whose end never comes, as from a broker without power, holds no thread for ever.
    lasts_s = -(-tiered.timeout // SECOND)
    limits = [f"-Dsun.net.httpserver.{name}={lasts_s}" for name in ("maxReqTime", "maxRspTime")]
    address, _, port = server(host.address).rpartition(":")
    where = [objects, address, port, durable]
    host.spawn(OBJECT_STORE, [*java(folder), *limits, f"-Xms{_HEAP}", f"-Xmx{_HEAP}", PROGRAM, *where], {})


def answers(at: str, timeout_s: float) -> bool:
    """Return whether a store, as `HOST:PORT`, answers a request for an object that it does not have."""
    host, _, port = at.rpartition(":")
    asked = f"GET /none HTTP/1.0\r\nHost: {host}\r\n\r\n".encode()
    try:
        with socket.create_connection((host, int(port)), timeout_s) as connection:
            connection.settimeout(timeout_s)
            connection.sendall(asked)
            return connection.recv(len(b"HTTP/1.1 404")).endswith(b"404")
    except OSError:
        return False
