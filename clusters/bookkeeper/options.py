"""What a scenario may say of a BookKeeper cluster."""

from __future__ import annotations

from typing import Literal

from clusters.storage.settings import StorageOptions


class BookKeeperOptions(StorageOptions):
    """What a scenario may say of a BookKeeper cluster, besides its hosts.

    Attributes:
        version: release number of BookKeeper, 4.15.0 or later; it decides that of ZooKeeper's client.
        digest: how clients seal entries, and find what was changed behind a bookie's back; `DUMMY`: not at all.
    """

    version: str = "4.17.2"
    digest: Literal["CRC32C", "CRC32", "MAC", "DUMMY"] = "CRC32C"
