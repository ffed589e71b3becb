"""Two faults on one broker at once: each is proved, each is healed, and nothing is lost."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from test_harness import killed_and_healed, on_one_broker, write

pytestmark = pytest.mark.chaos

SAFE = {"min.insync.replicas": 2}
LONG = pytest.mark.long


def _fault(at: str, kind: str, held: str = "", **more: Any) -> dict[str, Any]:
    return {"at": at, "inject": kind, "on": "n1", **({"for": held} if held else {}), **more}


def _command(at: str, held: str, folder: Path) -> dict[str, Any]:
    """Return a fault by commands: a file that is there."""
    mark = str(folder / "mark")
    steps = {"do": ["touch", mark], "verify": ["test", "-e", mark]}
    return _fault(at, "command", held, **steps, undo=["rm", "-f", mark], verify_undone=["test", "!", "-e", mark])


PAIRS = {
    "process, network": [_fault("2s", "partition", "7s"), _fault("3s", "kill", "2s")],
    "process, disk": [_fault("2s", "disk-full", "6s"), _fault("4s", "restart")],
    "process, clock": [_fault("2s", "pause", "3s"), _fault("3s", "clock-offset", "5s", offset="5s")],
    "process, resources": [_fault("2s", "cpu-starve", "6s", cores=0.3), _fault("4s", "kill", "1s")],
    "network, disk": [_fault("2s", "disk-slow", "6s", write_bandwidth="1MB"), _fault("3s", "packet-delay", "2s")],
    "network, clock": [_fault("2s", "partition", "4s", peers="hosts"), _fault("3s", "clock-jump", "6s", by="-3s")],
    "power, disk": [_fault("2s", "disk-full", "12s"), _fault("4s", "power-cut", "2s")],
    "power, network": [_fault("2s", "partition", "12s", peers="hosts"), _fault("4s", "power-cut", "2s")],
    "power again and again, network": [
        _fault("2s", "partition", "14s", peers="hosts"),
        _fault("4s", "power-cut", "1s", reboots=2),
    ],
    "power, resources": [_fault("2s", "cpu-starve", "14s", cores=0.5), _fault("4s", "power-cut", "2s")],
    "power, process": [_fault("2s", "kill", "9s"), _fault("4s", "power-cut", "2s")],
    "membership, network": [
        _fault("2s", "packet-loss", "5s", on="leader", percent=20),
        _fault("4s", "elect-leader", on="leader"),
    ],
    "disk that dies, network": [_fault("2s", "disk-dead", "3s"), _fault("3s", "packet-loss", "12s", percent=20)],
}
RENEWED = ("power, disk", "power, network", "power again and again, network", "disk that dies, network")


def _check(run: Any, overlapping: bool = True) -> list[dict[str, Any]]:
    run.assert_valid()
    assert run.anomalies["lost"].count == 0
    faults: list[dict[str, Any]] = run.verdict.faults
    assert [(fault["effective"], fault["healed"]) for fault in faults] == [(True, True)] * 2
    assert faults[0]["targets"] == faults[1]["targets"] or not overlapping
    return faults


@LONG
@pytest.mark.parametrize("pair", PAIRS)
def test_two_faults_on_one_broker(kafka: Any, pair: str) -> None:
    run = kafka(topic=SAFE, faults=PAIRS[pair], workload={"rate": 1000, "duration": "18s"})

    faults = _check(run)
    if pair in RENEWED:
        assert any("restored" in fault["evidence"] for fault in faults)


@LONG
def test_connections_are_reset_while_a_command_holds(kafka: Any, tmp_path: Path) -> None:
    faults = [_command("2s", "5s", tmp_path), _fault("4s", "reset-connections")]

    _check(kafka(topic=SAFE, faults=faults, workload={"rate": 1000, "duration": "8s"}))
    assert not (tmp_path / "mark").exists()


@pytest.mark.parametrize(
    "pair",
    [
        pytest.param([_fault("2s", "partition", "40s"), _fault("3s", "kill", "40s")], id="partition, kill"),
        pytest.param(
            [
                _fault("2s", "disk-slow", "40s", write_bandwidth="1MB"),
                _fault("4s", "partition", "40s"),
            ],
            id="disk-slow, partition",
            marks=LONG,
        ),
        pytest.param(
            [_fault("2s", "cpu-starve", "40s", cores=0.5), _fault("6s", "disk-full", "40s")],
            id="cpu-starve, disk-full",
            marks=LONG,
        ),
    ],
)
@on_one_broker
@pytest.mark.usefixtures("own_state")
def test_two_faults_are_healed_clean_after_kill_9(
    tmp_path: Path, pair: list[dict[str, Any]], cluster: dict[str, Any], kind: str
) -> None:
    load = {"kind": kind, "rate": 300, "duration": "45s"}
    scenario = write(tmp_path, cluster=cluster, workload=load, faults=pair)

    _, verdict = killed_and_healed(scenario, tmp_path / "store", [fault["inject"] for fault in pair])

    assert [(fault["kind"], fault["effective"]) for fault in verdict["faults"]] == [(f["inject"], True) for f in pair]
