"""Shrinking a failed run, and exploring the crash points of a recorded one, on real Kafka."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from chaoskit.base import yaml
from chaoskit.cli.main import cli

pytestmark = [pytest.mark.chaos, pytest.mark.long]


def invoke(*arguments: object) -> tuple[int, str]:
    """Return exit code and standard output of the program."""
    result = CliRunner().invoke(cli, list(map(str, arguments)), standalone_mode=False, catch_exceptions=False)
    return result.return_value, result.stdout


def test_a_failed_run_shrinks_to_the_fault_that_did_it(kafka: Any, tmp_path: Path) -> None:
    failed = kafka(
        topic={"min.insync.replicas": 2},
        workload={"rate": 1000, "duration": "30s", "producer": {"acks": 1}},
        faults=[
            {"at": "2s", "inject": "client-disconnect", "on": "producers"},
            {"at": "5s", "inject": "partition", "on": "leader", "peers": "hosts", "for": "6s"},
            {"at": "16s", "inject": "restart", "on": "follower"},
            {"at": "24s", "inject": "pause", "on": "follower", "for": "1s"},
        ],
        expect={"lost": "none"},
    )
    assert failed.verdict.verdict == "invalid"

    status, printed = invoke("shrink", failed.folder, "--store", tmp_path, "--tries", 2, "--confirm", 1)

    assert status == 0
    scenario = yaml.load(printed)
    assert [fault["inject"] for fault in scenario["faults"]] == ["partition"]
    assert "# failed in 1 of 1 confirming runs" in printed


@pytest.mark.parametrize(("flush", "lost"), [(1, False), (None, True)])
def test_crash_points_of_a_broker_show_what_a_flush_keeps(kafka: Any, tmp_path: Path, flush: Any, lost: bool) -> None:
    recorded = kafka(
        topic={"flush.messages": flush},
        cluster={"hosts": 1, "disk": {"kind": "programmable", "size": "512MiB", "record": True}},
        workload={"rate": 200, "replication": 1, "consumers": 0, "duration": "5s"},
    )
    recorded.assert_valid()
    exposure = recorded.verdict.exposure
    assert exposure["copies_at_ack"] == {"0": exposure["acked"] * lost, "1": exposure["acked"] * (not lost)}
    assert not exposure["doubts"]

    status, printed = invoke("explore", recorded.folder, "--points", 4, "--store", tmp_path, "--json")

    points = json.loads(printed)
    assert len(points) == 4
    under_load = points[1:]
    assert all(point["started"] for point in under_load), "the first may lie before the sync that ends set-up"
    assert status == int(not points[0]["started"])
    assert max(point["acked"] for point in points) > 100
    assert any(point["lost"] for point in under_load) == lost
    assert json.loads((recorded.folder / "crash-points.json").read_text()) == points


@pytest.mark.parametrize(("flush", "exposed"), [(1, False), (None, True)])
def test_a_cut_of_all_brokers_loses_what_was_predicted(kafka: Any, tmp_path: Path, flush: Any, exposed: bool) -> None:
    recorded = kafka(
        topic={"flush.messages": flush, "min.insync.replicas": 2},
        cluster={"disk": {"kind": "programmable", "size": "512MiB", "record": True}},
        workload={"rate": 500, "consumers": 0, "duration": "6s"},
    )
    assert bool(recorded.verdict.exposure["loss_window"]["all"]["max"]) == exposed

    _, printed = invoke("explore", recorded.folder, "--points", 4, "--on-cut", "drop", "--store", tmp_path, "--json")

    points = [point for point in json.loads(printed) if point["why"] != "set-up"]  # some of those do not start
    assert len(points) == 3
    assert all(point["started"] for point in points)
    assert [point["lost"] for point in points] == [point["predicted"] for point in points]
    assert any(point["lost"] for point in points) == exposed


def test_one_lost_answer_at_a_time_is_one_duplicate_without_idempotence(tmp_path: Path) -> None:
    scenario = {
        "name": "one-at-a-time",
        "cluster": {"system": "kafka", "hosts": 1},
        "workload": {
            "kind": "log", "rate": 100, "replication": 1, "duration": "6s",
            "producer": {"enable.idempotence": False, "batch.num.messages": 1, "max.in.flight": 1},
        },
    }  # fmt: skip
    (tmp_path / "s.yaml").write_text(yaml.dump(scenario))

    status, printed = invoke(
        "wire", tmp_path / "s.yaml", "--message", "Produce", "--then", "drop-and-close",
        "--store", tmp_path / "store", "--json",
    )  # fmt: skip

    points = json.loads(printed)
    assert status == 0
    assert all(point["done"] for point in points)
    assert [(point["aim"]["of"], point["counts"].get("duplicate", 0)) for point in points] == [
        *[("request", 0)] * 3,
        *[("response", 1)] * 3,
    ]
