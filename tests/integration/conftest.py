"""Real hosts on this machine: needs root."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from echo import EchoCluster
from labs import SharedLab

from chaoskit.base.journal import Journal
from clusters.hosts.lab import LocalLab, LocalOptions, LocalProvider


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents and os.geteuid() != 0:
            item.add_marker(pytest.mark.skip(reason="makes namespaces, mounts and disks: run it as root"))


@pytest.fixture(scope="module")
def shared_journal() -> Iterator[Journal]:
    with Journal(f"test-shared-{os.getpid()}") as journal:
        yield journal
        journal.close()


@pytest.fixture
def journal() -> Iterator[Journal]:
    with Journal(f"test-{os.getpid()}") as journal:
        yield journal
        journal.close()


@pytest.fixture(scope="module")
def three_hosts(shared_journal: Journal) -> Iterator[SharedLab]:
    lab = SharedLab(shared_journal, 3)
    yield lab
    lab.close()


@pytest.fixture
def echo(three_hosts: SharedLab) -> Iterator[EchoCluster]:
    """Three hosts with an echo server each, as good as new."""
    cluster = three_hosts.take()
    yield cluster
    three_hosts.give_back(cluster)


@pytest.fixture(params=["ext4", "xfs"])
def lab(request: pytest.FixtureRequest, journal: Journal) -> Iterator[LocalLab]:
    """Two hosts with data disks of each file system."""
    options = LocalOptions.model_validate({"size": "512MiB", "filesystem": request.param})
    lab = LocalProvider().provision(journal, 2, options)
    yield lab
    lab.close()
