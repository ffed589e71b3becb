"""Ten kinds of faults on real clusters, each in a dose that changes nothing and in one that does: told apart."""

from __future__ import annotations

from typing import Any

import pytest

pytestmark = [pytest.mark.chaos, pytest.mark.long]

Dose = dict[str, Any]

SYSTEMS: dict[str, tuple[dict[str, Any], dict[str, Any], str, str]] = {
    "kafka": (
        {"hosts": 3, "config": {"log.flush.interval.messages": 1}},
        {"kind": "log", "producer": {"acks": 1}},
        "follower",
        "leader",
    ),
    "rabbitmq": ({"hosts": 3}, {"kind": "queue", "type": "quorum"}, "follower", "leader"),
    "pulsar": (
        {"hosts": 5, "roles": {"zookeepers": 1, "bookies": 3, "brokers": 1}},
        {"kind": "log"},
        "ensemble-bookie",
        "ensemble",
    ),
}
"""Cluster, workload, who is not needed for an acknowledgement (of Pulsar one bookie of three, with an ack quorum of
two), and whose disks are."""


def _doses(system: str, minor: str, stored: str) -> dict[str, tuple[Dose, Dose]]:
    """Return for ten kinds a weak and a strong dose."""
    leader = {"on": "leader"}
    out = {"direction": "out"} if system == "rabbitmq" else {}
    own = {
        "packet-delay": ({**leader, "delay": "1ms"}, {**leader, "delay": "300ms"}),
        "packet-corrupt": ({"on": minor, "percent": 0.5}, {**leader, "percent": 60}),
    }
    tolerant = {"pause": ({"on": minor}, leader), "disk-freeze": ({"on": minor}, {"on": stored})}
    return {
        "packet-loss": ({"on": minor, "percent": 1}, {**leader, "percent": 60}),
        "partition": ({"on": minor, "peers": "clients"}, {**leader, "peers": "clients"}),
        "bandwidth": ({**leader, "rate": "10MiB", **out}, {**leader, "rate": "50KiB", **out}),
        "stall": (
            {"on": minor, "pause": "100ms", "interval": "1s"},
            {**leader, "pause": "900ms", "interval": "1s"},
        ),
        "client-pause": ({"on": "producer-0", "for": "30ms"}, {"on": "producer-0"}),
        "disk-slow": ({"on": stored, "write_bandwidth": "50MiB"}, {"on": stored, "write_bandwidth": "100KiB"}),
        "memory-pressure": ({"on": minor, "leave": "256MiB"}, {**leader, "leave": "8MiB"}),
        **(own if system == "kafka" else tolerant),  # Kafka's consumers wait for all replicas in sync
        "disk-full": ({"on": stored, "leave": "1GiB"}, {"on": stored}),
    }


@pytest.mark.parametrize("strong", [False, True], ids=["weak", "strong"])
@pytest.mark.parametrize("system", SYSTEMS)
def test_a_dose_that_changes_nothing_is_told_from_one_that_does(chaos: Any, system: str, strong: bool) -> None:
    cluster, workload, minor, stored = SYSTEMS[system]
    doses = {kind: pair[strong] for kind, pair in _doses(system, minor, stored).items()}
    run = chaos(
        cluster={"system": system, **cluster},
        workload={"rate": 500, "duration": f"{8 + 10 * len(doses)}s", **workload},
        faults=[
            {"at": f"{8 + 10 * number}s", "inject": kind, "for": "3s", **dose}
            for number, (kind, dose) in enumerate(doses.items())
        ],
    )

    told = {fault["kind"]: fault["consequence"] for fault in run.verdict.faults}

    assert {fault["kind"]: fault["effective"] for fault in run.verdict.faults} == dict.fromkeys(doses, True)
    assert [kind for kind in doses if bool(told[kind]) != strong] == []
    assert None not in told.values(), "a machine that is busy with something else makes them unknown"
