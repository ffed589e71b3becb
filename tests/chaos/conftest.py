"""Clusters that chaos tests share, and their order. Settings that only make faults shorter stand here, once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from chaoskit.run.deployment import Requirements
from chaoskit.scenario.plan import make_plan
from chaoskit.testing import SharedCluster

QUICK = {"broker.session.timeout.ms": 3000, "broker.heartbeat.interval.ms": 500}
"""Brokers are missed after 3 s instead of 9 s: failover is quicker, no guarantee is different."""

QUICK_PULSAR = {"broker": {"metadataStoreSessionTimeoutMillis": 5000}, "bookie": {"zkTimeout": 5000}}
"""The same for Pulsar and BookKeeper: sessions of what died end after 5 s instead of 30 s and 10 s."""


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let ready-made scenarios that can share a deployment follow each other; only those that are run are planned."""
    places = [place for place, item in enumerate(items) if item.path.stem == "test_scenarios"]
    grounds: list[Requirements] = []
    numbers = {place: _ground(items[place], grounds) for place in places}
    ordered = [items[place] for place in sorted(places, key=lambda place: numbers[place])]
    for place, item in zip(places, ordered, strict=True):
        items[place] = item


def _ground(item: Any, grounds: list[Requirements]) -> int:
    """Return the number of what a scenario needs to be deployed, in order of appearance."""
    written = item.callspec.params["written"]
    ground = Requirements.of(make_plan(written.parsed(), written.source, seed=1))
    if ground not in grounds:
        grounds.append(ground)
    return grounds.index(ground)


@pytest.fixture
def kafka(chaos: Any, chaos_cluster: Callable[..., SharedCluster]) -> Any:
    """Run Kafka scenarios on one cluster of three brokers: `kafka(topic={...}, workload={...}, faults=[...])`."""
    shared = chaos_cluster(system="kafka", hosts=3, config=QUICK, scope="module")

    def run(*, cluster: Any = None, topic: Any = None, workload: Any = None, **more: Any) -> Any:
        load = {"kind": "log", "rate": 3000, "duration": "10s", **(workload or {})}
        return chaos(cluster=shared(topic=topic or {}, **(cluster or {})), workload=load, **more)

    return run


@pytest.fixture
def pulsar(chaos: Any, chaos_cluster: Callable[..., SharedCluster]) -> Any:
    """Run Pulsar scenarios on one cluster of four hosts: `pulsar(workload={...}, faults=[...])`."""
    shared = chaos_cluster(system="pulsar", hosts=4, config=QUICK_PULSAR, scope="module")

    def run(*, cluster: Any = None, workload: Any = None, **more: Any) -> Any:
        load = {"kind": "log", "rate": 2000, "duration": "10s", **(workload or {})}
        return chaos(cluster=shared(**(cluster or {})), workload=load, **more)

    return run
