"""RocketMQ, its clients and workloads pass the suite that third parties' are held to, on real hosts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest

from chaoskit.base.journal import Journal
from chaoskit.contract.hosts.host import ServiceHost
from chaoskit.contract.installed import provider
from chaoskit.testing.conformance import check_cluster

pytestmark = [pytest.mark.chaos, pytest.mark.long]

WORKLOADS = {"log": {"rate": 200}, "queue": {"rate": 50}, "transactions": {"rate": 50, "messages": 1}}


@pytest.fixture
def hosts() -> Iterator[Sequence[ServiceHost]]:
    local = provider("local", "provider")
    with Journal("test-conformance") as journal:
        lab = local.provision(journal, 3, local.options())
        yield lab.hosts
        lab.close()
        journal.close()


@pytest.mark.parametrize("mode", ["master-slave", "controller"])
def test_it_is_whole(mode: str, hosts: Sequence[ServiceHost]) -> None:
    check_cluster("rocketmq", hosts, {"mode": mode, "proxies": 1}, WORKLOADS)
