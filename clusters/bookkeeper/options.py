"""The options of a BookKeeper cluster, and its protocol."""

from __future__ import annotations

from typing import Literal

from chaoskit.contract.systems.role import Every
from chaoskit.contract.systems.wire import Wire
from clusters.bookkeeper import wire
from clusters.storage.settings import BOOKIE_PORT, StorageOptions

WIRE = Wire({BOOKIE_PORT: wire.DECODER}, wire.MESSAGES, named=False, refusable=wire.REFUSABLE)

ROLES = (
    Every("ensemble"), "ensemble-bookie", "outside", "zookeeper-leader", Every("zookeepers"), Every("bookies"),
)  # fmt: skip


class BookKeeperOptions(StorageOptions):
    """The options of a BookKeeper cluster, in addition to its hosts.

    Attributes:
        version: release number of BookKeeper, 4.15.0 or later; it determines the version of ZooKeeper's client.
        digest: checksum with which clients detect modified entries; `DUMMY`: none.
    """

    version: str = "4.18.0"
    digest: Literal["CRC32C", "CRC32", "MAC", "DUMMY"] = "CRC32C"
