"""Cyclone DDS, its clients and the feed workload pass the suite that third parties' are held to, on this machine."""

from __future__ import annotations

import secrets

import pytest

from chaoskit.testing.conformance import check_cluster

pytestmark = [pytest.mark.chaos, pytest.mark.long]


@pytest.mark.parametrize("settings", [{}, {"qos": "best-effort"}, {"producer": {"acks": "readers"}}])
def test_it_is_whole(settings: dict[str, str]) -> None:
    own = {"domain": secrets.randbelow(200)}

    check_cluster("cyclonedds", options=own, workloads={"feed": {"rate": 200, **settings}})
