"""The stranger's own tests of their plug-in, as its maker would write them: `pytest suite.py -m chaos`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from chaoskit.base import store
from chaoskit.base.journal import Journal
from chaoskit.contract.checkers.checker import Part, PartitionSetting
from chaoskit.contract.hosts.host import ServiceHost
from chaoskit.contract.installed import provider, system
from chaoskit.contract.workloads.datamodel import QUEUE
from chaoskit.model.audit import Drained
from chaoskit.model.tables import MESSAGES, OBSERVATIONS, OPERATIONS
from chaoskit.scenario.files import find
from chaoskit.testing.conformance import check_checker, check_cluster, check_workload

pytestmark = pytest.mark.chaos


@pytest.fixture
def host() -> Iterator[ServiceHost]:
    local = provider("local", "provider")
    with Journal("stranger") as journal:
        lab = local.provision(journal, 1, local.options(size="256MiB"))
        yield lab.hosts[0]
        lab.close()
        journal.close()


def _history(*, received: bool) -> list[Part]:
    times = {"process": 0, "start_ns": 0, "end_ns": 5, "outcome": "ok"}
    operations = [{"op": 0, "client": "p", "f": "send", **times}, {"op": 1, "client": "c", "f": "poll", **times}]
    common = {"topic": "t", "partition": 0, "value": 0, "payload": "ok"}
    rows = [{"op": 0, "direction": "sent", **common}]
    rows += [{"op": 1, "direction": "received", "received_ns": 5, **common}] if received else []
    return [
        Part(
            PartitionSetting("t", 0, QUEUE, Drained(complete=True)),
            pa.Table.from_pylist(rows, MESSAGES),
            pa.Table.from_pylist(operations, OPERATIONS),
            OBSERVATIONS.empty_table(),
        )
    ]


def test_the_checker_is_whole() -> None:
    check_checker("tinyqueue", {"vanished": _history(received=False)}, {"vanished": _history(received=True)})


def test_the_workload_is_whole() -> None:
    check_workload("tinyqueue")


def test_the_system_is_whole(host: ServiceHost) -> None:
    check_cluster("tinyqueue", [host], workloads={"tinyqueue": {}})


def test_trials_share_a_deployment_as_long_as_each_restores_it(chaos: Any, chaos_cluster: Any) -> None:
    shared = chaos_cluster(system="tinyqueue", hosts=1)
    kill = {"at": "500ms", "inject": "kill", "on": "server", "for": "1s"}
    snapshot = {"at": "500ms", "inject": "snapshot", "on": "server"}
    runs = [
        chaos(cluster=shared, workload={"kind": "tinyqueue", "duration": "3s"}, faults=faults)
        for faults in ([snapshot], [kill], [])
    ]
    first, second, third = (json.loads((run.folder / "deployment.json").read_text()) for run in runs)

    assert "invalid" not in [run.verdict.verdict for run in runs]  # unknown: what was consumed was not at stake
    assert second["id"] != first["id"], "a snapshot stays, so the deployment is not as good as new"
    assert third["id"] == second["id"]
    assert [run["namespace"] for run in (first, second, third)] == ["", "", "t1-"]
    assert [run["before"] for run in (first, second, third)] == [[], [], [store.run_name(runs[1].folder)]]


@pytest.mark.parametrize("killed", [False, True])
def test_what_is_in_memory_is_gone_when_the_server_is_killed(chaos: Any, killed: bool) -> None:
    (rule,) = system("tinyqueue", "system").guarantees.rules
    (written,) = find(rule.shown if killed else rule.control, Path(__file__).parent)
    run = chaos.run_scenario(written.parsed(), written.source)

    run.assert_valid()
    assert (run.anomalies["vanished"].count > 0) == killed
    assert not killed or run.verdict.anomalies["vanished"].allowed
