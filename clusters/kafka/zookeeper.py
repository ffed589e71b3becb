"""The options of ZooKeeper's servers in a Kafka cluster whose metadata is there."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict

from chaoskit.base.quantities import Size
from clusters.common.properties import Scalar
from clusters.zookeeper.server import QUORUM_DEFAULT


class ZooKeeper(BaseModel):
    """The ZooKeeper servers of a cluster.

    Attributes:
        hosts: `combined` (on the first three hosts, or on the first one if there are fewer, beside the brokers), or
            the number of hosts with ZooKeeper only, which are the last ones.
        config: settings by ZooKeeper's own names (zoo.cfg), for all servers.
        heap: JVM heap of each server.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    hosts: Literal["combined"] | int = "combined"
    config: dict[str, Scalar] = {}
    heap: Size = 128 * 2**20

    @classmethod
    def misplaced(cls, key: str) -> str:
        """Return that settings of ZooKeeper are below `config`, unless the key is one of ours."""
        return "" if key in cls.model_fields else f"write settings of ZooKeeper below config: {{{key}: ...}}"

    def servers(self, hosts: int) -> range:
        """Return the indexes of the hosts with a server."""
        if self.hosts != "combined":
            return range(hosts - self.hosts, hosts)
        return range(QUORUM_DEFAULT if hosts >= QUORUM_DEFAULT else 1)
