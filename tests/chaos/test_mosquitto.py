"""Mosquitto, its clients and the feed workload pass the suite that third parties' are held to, on a real host."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest

from chaoskit.base.journal import Journal
from chaoskit.contract.hosts.host import ServiceHost
from chaoskit.testing.conformance import check_cluster
from clusters.hosts.lab import LocalOptions, LocalProvider
from clusters.mosquitto.system import MosquittoSystem

pytestmark = [pytest.mark.chaos, pytest.mark.long]


@pytest.fixture
def hosts() -> Iterator[Sequence[ServiceHost]]:
    local, system = LocalProvider(), MosquittoSystem()
    with Journal("test-conformance") as journal:
        lab = local.provision(journal, 1, LocalOptions(), roots=[system.root(system.options())])
        yield lab.hosts
        lab.close()
        journal.close()


def test_it_is_whole(hosts: Sequence[ServiceHost]) -> None:
    check_cluster("mosquitto", hosts, workloads={"feed": {"rate": 200}})
