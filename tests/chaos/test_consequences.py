"""Ten kinds of faults on real clusters, each in a dose that changes nothing and in one that does: told apart."""

from __future__ import annotations

from typing import Any

import pytest

pytestmark = [pytest.mark.chaos, pytest.mark.long]

Dose = dict[str, Any]

SYSTEMS: dict[str, tuple[dict[str, Any], dict[str, Any], dict[str, str]]] = {
    "kafka": (
        {"hosts": 4, "controllers": 1, "config": {"log.flush.interval.messages": 1}},
        {"kind": "log", "producer": {"acks": 1}},
        {"minor": "follower", "idle": "n4", "stored": "leader", "frozen": "leader"},
    ),
    "rabbitmq": (
        {"hosts": 3},
        {"kind": "queue", "type": "quorum", "consumers": 2},
        {"minor": "n3", "idle": "n3", "stored": "leader", "frozen": "followers"},
    ),
    "pulsar": (
        {"hosts": 5, "roles": {"zookeepers": 1, "bookies": 3, "brokers": 1}},
        {"kind": "log"},
        {"minor": "ensemble-bookie", "idle": "ensemble-bookie", "stored": "ensemble", "frozen": "ensemble"},
    ),
}
"""Cluster, workload, and targets: who is not needed for an acknowledgement (of Pulsar one bookie of three, with an ack
quorum of two; of RabbitMQ the node that no client is connected to), without whom nothing waits (Kafka's consumers wait
for all replicas in sync, but not for the controller), whose disks the messages are on, and whose disks an
acknowledgement waits for: a majority of a quorum queue is enough, also without the leader's."""


def _doses(system: str, minor: str, idle: str, stored: str, frozen: str) -> dict[str, tuple[Dose, Dose]]:
    """Return for ten kinds a weak and a strong dose."""
    leader = {"on": "leader"}
    out = {"direction": "out"} if system == "rabbitmq" else {}
    tenth: dict[str, tuple[Dose, Dose]] = {
        "packet-delay": ({**leader, "delay": "1ms"}, {**leader, "delay": "300ms"}),
    }
    if system == "rabbitmq":  # whose hosts have another root: nothing there can delay packets
        tenth = {"client-crash": ({"on": "consumer-1"}, {"on": "producer-0"})}
    last: dict[str, tuple[Dose, Dose]] = {"disk-full": ({"on": stored, "leave": "1GiB"}, {"on": stored})}
    if system == "pulsar":  # bookies allocate their journals ahead
        last = {"packet-corrupt": ({"on": minor, "percent": 0.5}, {**leader, "percent": 60})}
    return {
        "packet-loss": ({"on": idle, "percent": 1}, {**leader, "percent": 60}),
        "partition": ({"on": minor, "peers": "clients"}, {**leader, "peers": "clients"}),
        "bandwidth": ({"on": minor, "rate": "10MiB", **out}, {**leader, "rate": "20KiB", **out}),
        "stall": (
            {"on": idle, "pause": "100ms", "interval": "1s"},
            {**leader, "pause": "900ms", "interval": "1s"},
        ),
        "client-pause": ({"on": "producer-0", "for": "30ms"}, {"on": "producer-0"}),
        **tenth,
        "pause": ({"on": idle}, leader),
        "disk-freeze": ({"on": idle}, {"on": frozen}),
        **last,
        "disk-slow": ({"on": stored, "write_bandwidth": "200MiB"}, {"on": stored, "write_bandwidth": "50KiB"}),
    }


@pytest.mark.parametrize("strong", [False, True], ids=["weak", "strong"])
@pytest.mark.parametrize("system", SYSTEMS)
def test_a_dose_that_changes_nothing_is_told_from_one_that_does(chaos: Any, system: str, strong: bool) -> None:
    cluster, workload, targets = SYSTEMS[system]
    doses = {kind: pair[strong] for kind, pair in _doses(system, **targets).items()}
    run = chaos(
        cluster={"system": system, **cluster},
        workload={"rate": 100, "duration": f"{20 + 10 * len(doses)}s", **workload},
        faults=[
            {"at": f"{8 + 10 * number + 10 * (kind == 'disk-slow')}s", "inject": kind, "for": "3s", **dose}
            for number, (kind, dose) in enumerate(doses.items())
        ],
    )

    consequence_of = {fault["kind"]: fault["consequence"] for fault in run.verdict.faults}

    assert {fault["kind"]: fault["effective"] for fault in run.verdict.faults} == dict.fromkeys(doses, True)
    assert [kind for kind in doses if bool(consequence_of[kind]) != strong] == []
    assert None not in consequence_of.values(), "a machine that is busy with something else makes them unknown"
