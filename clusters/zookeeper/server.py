"""A ZooKeeper server on a host: its configuration file, its folder, and the program that runs it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from chaoskit.contract.hosts.host import ServiceHost
from clusters.common.properties import Scalar, properties

ZOOKEEPER = "zookeeper"
"""Name of the service."""

ZOOKEEPER_PORT = 2181
PROGRAM = "org.apache.zookeeper.server.quorum.QuorumPeerMain"
"""The Java class of a server; its argument is the path of zoo.cfg."""

QUORUM_DEFAULT = 3
_PEER_PORTS = "2888:3888"


def connection(addresses: Sequence[str]) -> str:
    """Return the connection string for clients of the servers with these addresses."""
    return ",".join(f"{address}:{ZOOKEEPER_PORT}" for address in addresses)


def folder_of(data_dir: str) -> str:
    """Return the folder of a server on its host."""
    return f"{data_dir}/zookeeper"


def zoo_cfg(config: Mapping[str, Scalar], servers: Mapping[int, str], address: str, data_dir: str) -> str:
    """Return zoo.cfg of one server.

    Args:
        config: settings by ZooKeeper's own names.
        servers: the address of each server, by its id.
        address: the address of this one.
        data_dir: the folder of its host's data disk.
    """
    quorum = {f"server.{server_id}": f"{address}:{_PEER_PORTS}" for server_id, address in servers.items()}
    return properties(
        {"tickTime": 2000, "initLimit": 10, "syncLimit": 5, "preAllocSize": 1024},
        config,
        {
            "dataDir": folder_of(data_dir),
            "clientPort": ZOOKEEPER_PORT,
            "clientPortAddress": address,
            "4lw.commands.whitelist": "*",
            "admin.enableServer": False,
            **(quorum if len(servers) > 1 else {}),
        },
    )


def prepare(host: ServiceHost, own: int) -> None:
    """Create what the server with this id expects on an empty disk."""
    folder = folder_of(host.data_dir)
    if host.run(["test", "-d", folder], check=False).status != 0:
        host.run(host.as_service(["mkdir", "-p", folder]))
        host.put(f"{own}\n".encode(), f"{folder}/myid")
