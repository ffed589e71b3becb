"""Scenarios on real Kafka. Settings that only make faults shorter stand here, once."""

from __future__ import annotations

from typing import Any

import pytest

QUICK = {"broker.session.timeout.ms": 3000, "broker.heartbeat.interval.ms": 500}
"""Brokers are missed after 3 s instead of 9 s: failover is quicker, no guarantee is different."""


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
