"""A service that exits by itself is a finding; only a fault where it runs, or at what it needs, explains it."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from guaranteed import effect

from chaoskit.contract.checkers.checker import FINDINGS
from chaoskit.contract.guarantees.guarantee import Declared, Effect
from chaoskit.contract.installed import anomalies, system
from chaoskit.contract.workloads.topic import Topic
from chaoskit.history.compacting.placements import Placements
from chaoskit.judge.explaining.attribution import Attribution
from chaoskit.judge.explaining.crashes import hosts_of, place_of, with_crashes
from chaoskit.judge.explaining.record import Record
from chaoskit.model.tables import PLACEMENTS
from clusters.pulsar.settings import PulsarOptions

SECOND = 1_000_000_000
CRASH = {
    "at_ns": 30 * SECOND,
    "host": "n3",
    "service": "bookie",
    "needs": ["n1"],
    "why": "exited; ERROR no quorum",
}


def _explained(*effects: Effect, crash: dict[str, Any] = CRASH, policy: str | None = None) -> dict[str, Any]:
    options = PulsarOptions.model_validate({"config": {"broker": {"zookeeperSessionExpiredPolicy": policy}}})
    declared = Declared(options, 4, 4, (Topic("log-0"),), {}, {})
    placements = Placements(PLACEMENTS.empty_table()).with_fixed({place_of(crash): hosts_of(crash)})
    record = Record(declared, effects, placements, hosts=["n1", "n2", "n3", "n4"])
    attribution = Attribution(system("pulsar", "system").guarantees, anomalies(), record)
    (row,) = attribution.explain(with_crashes(FINDINGS.empty_table(), [crash])).findings.to_pylist()
    finding: dict[str, Any] = row
    return finding


def test_a_crash_names_service_host_time_and_the_end_of_its_log() -> None:
    row = _explained()

    assert (row["anomaly"], row["topic"], row["at_ns"]) == ("crashed", "bookie@n3", 30 * SECOND)
    assert row["detail"] == "exited; ERROR no quorum"
    assert row["rule"] is None, "nothing explains it"


@pytest.mark.parametrize("target", ["n1", "n3"], ids=["its ZooKeeper", "its host"])
def test_a_fault_where_it_runs_or_at_what_it_needs_explains_it(target: str) -> None:
    assert _explained(effect("pause", target, start_s=10, healed_s=20))["rule"] == "bookkeeper.exits"


@pytest.mark.parametrize(
    "fault",
    [
        effect("pause", "n2", start_s=10, healed_s=20),
        effect("client-crash", "consumer-0", start_s=10, healed_s=20),
        effect("pause", "n3", start_s=31, healed_s=40),
        effect("pause", "n3", start_s=-200, healed_s=-100),
    ],
    ids=["another host", "a client", "after it", "long before it"],
)
def test_a_fault_elsewhere_or_at_another_time_does_not(fault: Effect) -> None:
    assert _explained(fault)["rule"] is None


@pytest.mark.parametrize(("policy", "rule"), [("shutdown", "bookkeeper.exits"), ("reconnect", None), (None, None)])
def test_a_broker_exits_after_its_session_only_where_its_policy_says_so(policy: str | None, rule: str | None) -> None:
    broker = CRASH | {"service": "broker"}

    row = _explained(effect("pause", "n1", start_s=10, healed_s=20), crash=broker, policy=policy)

    assert row["rule"] == rule


def test_crashes_follow_the_findings_of_checkers() -> None:
    given = pa.Table.from_pylist([{"anomaly": "lost", "topic": "log-0", "partition": 0}], FINDINGS)

    assert with_crashes(given, []).equals(given.unify_dictionaries().combine_chunks())
    assert with_crashes(given, [CRASH, CRASH])["anomaly"].to_pylist() == ["lost", "crashed", "crashed"]
