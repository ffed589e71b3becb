"""What tests of disk faults share: labs, and files on data disks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from echo import EchoCluster

Make = Callable[..., EchoCluster]
"""Makes a lab of some hosts with an echo server each: `make(2, kind="programmable")`."""


def synced(host: Any, name: str, content: bytes = b"content") -> None:
    host.put(content, f"/data/{name}")
    host.run(["sync", f"/data/{name}", "/data"])


def listing(host: Any) -> set[str]:
    return set(host.run(["ls", "/data"]).out.split()) - {"lost+found"}
