"""Operators at work under load: elections, reassignment, a broker removed and added, a rolling upgrade."""

from __future__ import annotations

from typing import Any

import pytest

pytestmark = [pytest.mark.chaos, pytest.mark.long]


def test_elections_and_a_removed_broker_lose_nothing(kafka: Any) -> None:
    run = kafka(
        topic={"min.insync.replicas": 2},
        cluster={"hosts": 4},
        workload={"rate": 500, "partitions": 2, "duration": "45s"},
        faults=[
            {"at": "2s", "inject": "elect-leader", "on": "leader"},
            {"at": "15s", "inject": "remove-broker", "on": "n2", "for": "2s"},
        ],
    )

    run.assert_valid()
    election, removal = run.verdict.faults
    assert "no longer leads log-0/" in election["evidence"]
    assert "replicas moved off n2; ended there" in removal["evidence"]
    assert "n2 keep their replicas again" in removal["evidence"]


def test_a_rolling_upgrade_under_load_loses_nothing(kafka: Any) -> None:
    run = kafka(
        topic={"min.insync.replicas": 2},
        cluster={"version": "4.0.0"},
        workload={"rate": 500, "duration": "20s"},
        faults=[{"at": "2s", "inject": "rolling-upgrade", "on": "all", "version": "4.1.1"}],
    )

    run.assert_valid()
    assert "went from 4.0.0 to 4.1.1; metadata.version 4.1" in run.verdict.faults[0]["evidence"]
