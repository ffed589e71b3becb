"""RabbitMQ's consumers under faults that no ready-made scenario makes."""

from __future__ import annotations

from typing import Any

import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

pytestmark = [pytest.mark.chaos, pytest.mark.long]


def test_a_consumer_that_a_node_ended_subscribes_again(chaos: Any) -> None:
    """The node of a classic queue is gone: its consumers on other nodes stay connected, and are told `basic.cancel`."""
    run = chaos(
        cluster={"system": "rabbitmq", "hosts": 3},
        workload={"kind": "queue", "type": "classic", "consumers": 3, "rate": 500, "duration": "16s"},
        faults=[{"at": "4s", "inject": "kill", "on": "leader", "for": "3s"}],
    )

    observations = pq.read_table(run.folder / "observations.parquet")
    operations = pq.read_table(run.folder / "operations.parquet")
    cancelled = observations.filter(pc.field("kind") == "cancelled")
    assert cancelled.num_rows >= 1
    again = operations.filter((pc.field("f") == "subscribe") & (pc.field("start_ns") > 4_000_000_000))
    assert again.num_rows >= cancelled.num_rows, "each subscribed again"
    assert run.verdict.counts["received"] > 0
