"""Scenarios on real systems. Settings that only make faults shorter stand here, once."""

from __future__ import annotations

from typing import Any

import pytest

QUICK = {"broker.session.timeout.ms": 3000, "broker.heartbeat.interval.ms": 500}
"""Brokers are missed after 3 s instead of 9 s: failover is quicker, no guarantee is different."""

QUICK_BROKER = {"metadataStoreSessionTimeoutMillis": 5000}
QUICK_BOOKIE = {"zkTimeout": 5000}
"""The same for Pulsar and BookKeeper: sessions of what died end after 5 s instead of 30 s and 10 s."""


@pytest.fixture
def kafka(chaos: Any) -> Any:
    """Run Kafka scenarios: `kafka(topic={...}, workload={...}, faults=[...])`."""

    def run(*, cluster: Any = None, topic: Any = None, workload: Any = None, **more: Any) -> Any:
        given = dict(cluster or {})
        config = {**QUICK, **given.pop("config", {})}
        load = {"kind": "log", "rate": 3000, "duration": "10s", **(workload or {})}
        base = {"system": "kafka", "hosts": 3, "config": config, "topic": topic or {}}
        return chaos(cluster={**base, **given}, workload=load, **more)

    return run


@pytest.fixture
def pulsar(chaos: Any) -> Any:
    """Run Pulsar scenarios: `pulsar(bookie={...}, cluster={...}, workload={...}, faults=[...])`."""

    def run(*, cluster: Any = None, bookie: Any = None, workload: Any = None, **more: Any) -> Any:
        config = {"broker": QUICK_BROKER, "bookie": {**QUICK_BOOKIE, **(bookie or {})}}
        load = {"kind": "log", "rate": 2000, "duration": "10s", **(workload or {})}
        return chaos(
            cluster={"system": "pulsar", "hosts": 3, "config": config, **(cluster or {})}, workload=load, **more
        )

    return run


@pytest.fixture
def bookkeeper(chaos: Any) -> Any:
    """Run BookKeeper scenarios: `bookkeeper(bookie={...}, cluster={...}, workload={...}, faults=[...])`."""

    def run(*, cluster: Any = None, bookie: Any = None, workload: Any = None, **more: Any) -> Any:
        config = {"bookie": {**QUICK_BOOKIE, **(bookie or {})}}
        load = {"kind": "ledger", "rate": 400, "duration": "8s", **(workload or {})}
        return chaos(
            cluster={"system": "bookkeeper", "hosts": 3, "config": config, **(cluster or {})}, workload=load, **more
        )

    return run
