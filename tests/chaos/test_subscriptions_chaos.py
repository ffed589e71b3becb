"""Subscriptions of every type deliver everything, to one consumer at a time and in their order, while consumers end."""

from __future__ import annotations

from typing import Any

import pytest

pytestmark = [pytest.mark.chaos, pytest.mark.long]

LOAD = {"kind": "subscription", "consumers": 3, "rate": 1000, "keys": 20, "crash_every": "3s"}
LOAD |= {"producer": {"batching_enabled": False}}
PICKY = {"nack_every": 50, "leave_every": 40}
AT_ONCE = {"broker": {"activeConsumerFailoverDelayTimeMillis": 0, "metadataStoreSessionTimeoutMillis": 5000}}
AT_ONCE |= {"bookie": {"zkTimeout": 5000}}
"""With its default of 1 s a failover subscription may skip messages (docs/pulsar.md)."""


@pytest.mark.parametrize(
    "load",
    [
        {"subscription": "shared", **PICKY},
        {"subscription": "key-shared", **PICKY},
        {"subscription": "failover", **PICKY},
        {"subscription": "failover", "acks": "cumulative"},
        {"subscription": "exclusive", **PICKY},
    ],
    ids=lambda load: "-".join(filter(None, [load["subscription"], load.get("acks")])),
)
def test_consumers_that_end_leave_nothing_behind(pulsar: Any, load: dict[str, Any]) -> None:
    run = pulsar(cluster={"config": AT_ONCE}, workload={**LOAD, **load})

    run.assert_valid()
    assert run.anomalies["unacked-vanished"].count == 0
    assert run.verdict.counts["received"] > run.verdict.counts["acked"]


@pytest.mark.parametrize("kind", ["shared", "key-shared", "failover"])
def test_the_death_of_the_owner_and_of_a_consumer_vanishes_nothing(pulsar: Any, kind: str) -> None:
    faults = [
        {"at": "3s", "inject": "kill", "on": "owner", "for": "4s"},
        {"at": "2s", "inject": "client-crash", "on": "consumer", "for": "1s"},
    ]
    run = pulsar(cluster={"config": AT_ONCE}, workload={**LOAD, **PICKY, "subscription": kind}, faults=faults)

    run.assert_valid()
    assert run.anomalies["unacked-vanished"].count == 0


def test_batches_mix_the_keys_of_a_key_shared_subscription(pulsar: Any) -> None:
    load = {**LOAD, "subscription": "key-shared", "producer": {"batching_enabled": True}}
    run = pulsar(workload=load, expect={"two-active": "some"})

    run.assert_valid()
