"""Hosts for a benchmark."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from chaoskit.base.journal import Journal
from chaoskit.contract.host import ServiceHost
from clusters.hosts.lab import LocalOptions, LocalProvider


@contextmanager
def hosts(count: int) -> Iterator[Sequence[ServiceHost]]:
    """Give booted hosts of a lab, which ends with the block."""
    with Journal(f"benchmark-{os.getpid()}") as journal:
        lab = LocalProvider().provision(journal, count, LocalOptions())
        try:
            yield lab.hosts
        finally:
            lab.close()
            journal.close()
