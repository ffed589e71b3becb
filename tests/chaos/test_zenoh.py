"""Zenoh, its clients and the feed workload pass the suite that third parties' are held to."""

from __future__ import annotations

from typing import Any

import pytest

from chaoskit.base.journal import Journal
from chaoskit.contract.installed import provider
from chaoskit.testing.conformance import check_cluster

pytestmark = [pytest.mark.chaos, pytest.mark.long]

BLOCK = {"producer": {"congestion": "block"}}
RECOVERY = {"producer": {"cache": 100}, "consumer": {"recovery": True}}


@pytest.mark.parametrize("settings", [BLOCK, {}, {"qos": "best-effort"}, RECOVERY])
def test_peers_are_whole(settings: dict[str, Any]) -> None:
    check_cluster("zenoh", workloads={"feed": {"rate": 200, **settings}})


@pytest.mark.parametrize("count", [1, 2])
def test_routers_are_whole(count: int) -> None:
    local = provider("local", "provider")
    with Journal("test-conformance") as journal:
        lab = local.provision(journal, count, local.options())
        check_cluster("zenoh", lab.hosts, options={"mode": "router"}, workloads={"feed": {"rate": 200, **BLOCK}})
        lab.close()
        journal.close()
