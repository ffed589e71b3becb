"""What readers are promised."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from chaoskit.model.observations.feed import Promise
from clusters.cyclonedds.settings import reader_settings, writer_settings

_ALL = 2**31
"""More than a writer keeps."""


def promise(lease_ns: int, publishing: Mapping[str, Any], subscribing: Mapping[str, Any]) -> Promise:
    """Return what readers are promised.

    A reliable reader gets each sample of a reliable writer once, in order, as far as the writer keeps it. One that
    keeps the last ones only may lack any that it had not taken.

    Args:
        lease_ns: after how long a participant that is not heard counts as gone.
        publishing, subscribing: settings of producers and consumers.
    """
    writer, reader = writer_settings(publishing), reader_settings(subscribing)
    reliable = writer.qos == reader.qos == "reliable" and reader.history == "keep-all"
    keeps = writer.depth if writer.history == "keep-last" else None
    given = reliable and writer.durability == reader.durability == "transient-local"
    kept = keeps or (_ALL if writer.durability_service == "history" else 1)
    replays = kept if given else 0
    alive_ns = min(lease_ns, writer.liveliness_lease or lease_ns)
    deadline_ns = reader.deadline or 0
    return Promise(
        "exactly-once" if reliable else "at-most-once",
        lasting=False,
        keeps=keeps,
        replays=replays,
        liveliness_ns=alive_ns,
        deadline_ns=deadline_ns if deadline_ns < alive_ns else 0,
        exclusive=writer.ownership == "exclusive",
    )
