"""Apache BookKeeper with ZooKeeper, from its released artifacts."""

from clusters.bookkeeper.options import BookKeeperOptions
from clusters.bookkeeper.system import BookKeeperSystem

__all__ = ["BookKeeperOptions", "BookKeeperSystem"]
