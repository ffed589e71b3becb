"""Kafka's group protocol of KIP-848: three members, one of which crashes, with librdkafka and Kafka's own client."""

from __future__ import annotations

from typing import Any

import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

pytestmark = [pytest.mark.chaos, pytest.mark.long]

SESSION_MS = 6000
BROKER = {
    "group.consumer.session.timeout.ms": SESSION_MS,
    "group.consumer.min.session.timeout.ms": SESSION_MS,
    "group.consumer.heartbeat.interval.ms": 1000,
    "group.consumer.min.heartbeat.interval.ms": 1000,
}
"""A member that crashed is missed after 6 s instead of 45 s."""


@pytest.mark.parametrize("static", [False, True], ids=["dynamic", "static"])
@pytest.mark.parametrize("clients", ["librdkafka", "java"])
def test_a_group_of_three_survives_the_crash_of_a_member(chaos: Any, clients: str, static: bool) -> None:
    own = {"group.instance.id": "member-{consumer}"} if static else {}
    run = chaos(
        cluster={"system": "kafka", "hosts": 3, "version": "4.4.0", "clients": clients, "config": BROKER,
                 "topic": {"min.insync.replicas": 2}},
        workload={"kind": "log", "rate": 1000, "partitions": 6, "consumers": 3, "consumption": "group",
                  "duration": "20s", "consumer": {"group.protocol": "consumer", "session.timeout.ms": None, **own}},
        faults=[{"at": "5s", "inject": "client-crash", "on": "consumer-1", "for": "9s"}],
    )  # fmt: skip

    run.assert_valid()
    assert run.anomalies["lost"].count == 0
    assert run.verdict.liveness["group"]["behind"] == [], "the group received everything"
    assert _readers_during_the_crash(run) == {"consumer-0", "consumer-2"}, "the others took over its partitions"


def _readers_during_the_crash(run: Any) -> set[str]:
    """Return who read the partitions between 3 s after the session had ended and the return of the member."""
    (crash,) = pq.read_table(run.folder / "faults.parquet").to_pylist()
    from_ns, to_ns = crash["start_ns"] + (SESSION_MS + 2000) * 1_000_000, crash["heal_ns"]
    operations = pq.read_table(run.folder / "operations.parquet")
    polls = operations.filter(
        (pc.field("f") == "poll") & (pc.field("start_ns") > from_ns) & (pc.field("end_ns") < to_ns)
    )
    messages = pq.read_table(run.folder / "messages.parquet", columns=["op", "partition", "direction"])
    read = messages.join(polls.select(["op", "client"]), "op", join_type="inner")
    assert set(read["partition"].to_pylist()) == set(range(6))
    return set(read["client"].to_pylist())
