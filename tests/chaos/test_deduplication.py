"""What is sent again is stored once where the system knows it again, and only there; each has its control."""

from __future__ import annotations

from typing import Any

import pytest

pytestmark = pytest.mark.chaos

RESETS = {"from": "2s", "to": "8s", "every": ["200ms", "600ms"], "inject": "reset-connections", "on": "leader"}
RESETS |= {"peers": "clients"}
SINGLE = {"kind": "dedup", "rate": 1500, "producer": {"batching_enabled": False}}
RESTARTS = {**SINGLE, "restart_every": "1500ms"}
BATCHES = {**RESTARTS, "producer": {"batching_enabled": True}}


@pytest.mark.parametrize("deduplication", [False, True])
def test_connections_that_are_reset_make_duplicates_only_without_deduplication(
    pulsar: Any, deduplication: bool
) -> None:
    run = pulsar(cluster={"deduplication": deduplication}, workload=RESTARTS, faults=[RESETS])

    run.assert_valid()
    assert run.anomalies["lost"].count == 0
    assert run.anomalies["reordered"].count == 0
    assert (run.anomalies["duplicate"].count > 0) == (not deduplication)


@pytest.mark.long
@pytest.mark.parametrize("idempotence", [False, True])
def test_connections_that_are_reset_make_duplicates_only_without_idempotence(kafka: Any, idempotence: bool) -> None:
    load = {"kind": "dedup", "rate": 1500, "producer": {"acks": "all", "enable.idempotence": idempotence}}
    run = kafka(topic={"min.insync.replicas": 2}, workload=load, faults=[RESETS])

    run.assert_valid()
    assert run.anomalies["lost"].count == 0
    assert (run.anomalies["duplicate"].count > 0) == (not idempotence)


@pytest.mark.long
def test_a_batch_that_is_made_anew_is_not_known_again(pulsar: Any) -> None:
    run = pulsar(cluster={"deduplication": True}, workload=BATCHES, expect={"duplicate": "some"})

    run.assert_valid()
    assert run.anomalies["lost"].count == 0


@pytest.mark.long
def test_a_batch_that_begins_with_what_is_stored_is_dropped_with_all_that_is_new(pulsar: Any) -> None:
    load = {**BATCHES, "resend": "unconfirmed"}
    run = pulsar(
        cluster={"deduplication": True}, workload=load, expect={"dropped-as-duplicate": "some", "lost": "some"}
    )

    run.assert_valid()


@pytest.mark.long
def test_what_is_sent_again_behind_later_messages_is_dropped(pulsar: Any) -> None:
    load = {**SINGLE, "resend": "at-once", "producer": {"batching_enabled": False, "send_timeout_millis": 1000}}
    pause = {"at": "3s", "inject": "pause", "on": "owner", "for": "4s"}
    run = pulsar(
        cluster={"deduplication": True}, workload=load, faults=[pause], expect={"dropped-as-duplicate": "some"}
    )

    run.assert_valid()
