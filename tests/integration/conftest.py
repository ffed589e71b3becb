"""Real hosts on this machine: needs root."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from echo import EchoCluster

from chaoskit.base.journal import Journal
from clusters.hosts.lab import LocalLab, LocalOptions, LocalProvider
from nemeses.services import await_answers


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents and os.geteuid() != 0:
            item.add_marker(pytest.mark.skip(reason="makes namespaces, mounts and disks: run it as root"))


@pytest.fixture
def journal() -> Iterator[Journal]:
    with Journal(f"test-{os.getpid()}") as journal:
        yield journal
        journal.close()


@pytest.fixture
def echo(journal: Journal) -> Iterator[EchoCluster]:
    """Three hosts with an echo server each."""
    lab = LocalProvider().provision(journal, 3, LocalOptions(size="512MiB"))
    try:
        cluster = EchoCluster(lab.hosts)
        await_answers(lab.hosts, cluster)
        yield cluster
    finally:
        lab.close()


@pytest.fixture(params=["ext4", "xfs"])
def lab(request: pytest.FixtureRequest, journal: Journal) -> Iterator[LocalLab]:
    """Two hosts with data disks of each file system."""
    lab = LocalProvider().provision(journal, 2, LocalOptions(size="512MiB", filesystem=request.param))
    yield lab
    lab.close()
