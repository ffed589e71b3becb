"""What tests of disk faults share: strikes to inject by hand, and files on data disks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from echo import EchoCluster

from chaoskit.contract.nemesis import Strike

Make = Callable[..., EchoCluster]
"""Makes a lab of some hosts with an echo server each: `make(2, kind="programmable")`."""


def strike_of(nemesis: Any, cluster: EchoCluster, **parameters: Any) -> Strike:
    return Strike(
        name="0-test",
        targets=cluster.hosts,
        cluster=cluster,
        parameters=nemesis.parameters.model_validate(parameters),
        seed=7,
        resolve=lambda _: [],
    )


def synced(host: Any, name: str, content: bytes = b"content") -> None:
    host.put(content, f"/data/{name}")
    host.run(["sync", f"/data/{name}", "/data"])


def listing(host: Any) -> set[str]:
    return set(host.run(["ls", "/data"]).out.split()) - {"lost+found"}
