"""A harness of its own process, to be killed: holds a fault on the first host until then.

Arguments: kind, private key, dead-man's time in seconds, hosts (`name=address=address6`, by comma), parameters
(`key=value`).
"""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from echo import EchoCluster
from frames import FramesCluster
from trial import strike_of

from chaoskit.base import plugins
from chaoskit.contract.hosts.disk import DataDisk
from clusters.hosts.ssh import SshHost
from nemeses import holding


class _Host(SshHost):
    """A host of a lab of others, who have its data disks."""

    @property
    def disks(self) -> Mapping[str, DataDisk]:
        return {}


def main(kind: str, key: str, dead_man_s: str, hosts: str, *parameters: str) -> None:
    """Inject, tell, wait to be killed."""
    holding.DEAD_MAN_S = float(dead_man_s)
    remote = []
    for host in hosts.split(","):
        name, address, address6 = host.split("=")
        remote.append(_Host(name, address, Path(key), address6=address6))
    nemesis: Any = plugins.load("nemesis", kind, "faults.inject")
    given = dict(parameter.split("=", 1) for parameter in parameters)
    cluster = FramesCluster(remote) if kind == "wire" else EchoCluster(remote)
    strike = strike_of(nemesis, remote[:1], cluster, name="0-held", **given)
    nemesis.inject(strike)
    nemesis.verify(strike)
    print("held", flush=True)
    time.sleep(600)


if __name__ == "__main__":
    main(*sys.argv[1:])
