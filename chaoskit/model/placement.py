"""The roles of a host in a partition, as `placements.parquet` names them."""

from __future__ import annotations

LEADER, REPLICA, IN_SYNC = "leader", "replica", "in-sync"
