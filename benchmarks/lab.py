"""Hosts for a benchmark."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from chaoskit.contract.hosts.host import Root, ServiceHost
from chaoskit.run.warden import watched
from clusters.hosts.lab import LocalOptions, LocalProvider


@contextmanager
def hosts(count: int, root: Root | None = None) -> Iterator[Sequence[ServiceHost]]:
    """Give booted hosts of a lab, with another root if one is given; the lab ends with the block."""
    provider = LocalProvider()
    if root is not None:
        provider.make_root(root)
    with watched(f"benchmark-{os.getpid()}") as journal:
        lab = provider.provision(journal, count, LocalOptions(), roots=[root] * count)
        try:
            yield lab.hosts
        finally:
            lab.close()
            journal.close()
