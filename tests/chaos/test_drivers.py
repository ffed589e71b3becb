"""Clients on machines of their own, one of which has a wrong clock, against a Kafka that runs already."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.compute as pc
import pytest
from remote import drivers
from remote.kafka import PACKAGES, PASSWORD, QUICK, Theirs, jars
from remote.machines import machines

from chaoskit.base import yaml
from chaoskit.base.waiting import wait_until
from chaoskit.history.reading.reader import History

pytestmark = [pytest.mark.chaos, pytest.mark.long]

_AHEAD_S = 3


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Theirs]:
    packages = (*PACKAGES, *drivers.PACKAGES)
    with machines(tmp_path_factory.mktemp("theirs"), 3, jars(), packages, ahead_s=(_AHEAD_S, 0)) as theirs:
        drivers.install(theirs, tmp_path_factory.mktemp("drivers"))
        kafka = Theirs(theirs, QUICK)
        for name in theirs.drivers:
            theirs.put(name, str(theirs.folder / "ca.pem"), (theirs.folder / "ca.pem").read_text())
        yield kafka


@pytest.fixture
def theirs(running: Theirs, monkeypatch: pytest.MonkeyPatch) -> Theirs:
    monkeypatch.setenv("KAFKA_PASSWORD", PASSWORD)
    running.wait_whole()
    return running


def _cluster(theirs: Theirs, **of_drivers: Any) -> dict[str, Any]:
    named = {
        name: {"address": address, "python": drivers.PYTHON, **of_drivers}
        for name, address in theirs.machines.drivers.items()
    }
    return {"system": "kafka", "attach": theirs.attach, "inventory": {**theirs.inventory, "drivers": named}}


def _load(**more: Any) -> dict[str, Any]:
    return {
        "kind": "log", "producers": 2, "consumers": 2, "rate": 2000, "duration": "10s", "drivers": ["d1", "d2"], **more
    }  # fmt: skip


def _left(theirs: Theirs) -> str:
    return "".join(theirs.machines.ssh(name, "ls -A /var/tmp; pgrep -af [c]haoskit || true") for name in ("d1", "d2"))


def test_a_clock_that_is_wrong_is_recorded_and_corrected(theirs: Theirs, chaos: Any) -> None:
    run = chaos(
        cluster=_cluster(theirs),
        workload=_load(producer={"acks": "all"}),
        faults=[{"at": "3s", "inject": "kill", "on": "leader", "for": "3s"}],
    )

    run.assert_valid()
    assert {name for name, anomaly in run.anomalies.items() if anomaly.count} <= {"unavailable", "latency-outlier"}
    ahead_s = {driver["driver"]: round(driver["ahead_s"]) for driver in run.verdict.drivers}
    assert ahead_s == {"d1": _AHEAD_S, "d2": 0}
    ran = {driver["driver"]: driver["clients"] for driver in run.verdict.drivers}
    assert sorted(client for clients in ran.values() for client in clients) == [
        "consumer-0", "consumer-1", "producer-0", "producer-1",
    ]  # fmt: skip
    assert 0 < run.verdict.latency["end_to_end"]["uncertainty_ms"] < 100
    assert run.verdict.latency["quiet"]["end_to_end"]["p50_ms"] < 1000, "three seconds would show"
    assert _least_travel_ms(run) > 0, "nothing is received before it is sent"
    assert _left(theirs) == ""


def _least_travel_ms(run: Any) -> float:
    history = History.open(run.folder)
    messages = history.messages("log-0", 0)
    travel = pc.min(pc.subtract(messages["received_ns"], messages["sent_ns"])).as_py()
    return float(travel) / 1e6


def test_what_a_killed_harness_left_on_drivers_is_fetched(theirs: Theirs, tmp_path: Path) -> None:
    file = tmp_path / "drivers.yaml"
    file.write_text(yaml.dump({"name": "drivers", "cluster": _cluster(theirs), "workload": _load(duration="60s")}))
    command = [str(Path(sys.executable).with_name("chaoskit"))]
    with subprocess.Popen(
        [*command, "run", str(file), "--yes", "--store", str(tmp_path / "runs")],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    ) as harness:
        seen = wait_until(lambda: list((tmp_path / "runs").glob("drivers/2*/recovery.json")), 60)
        assert seen
        os.kill(harness.pid, signal.SIGKILL)
    folder = seen[0].parent

    before = subprocess.run([*command, "check", str(folder)], capture_output=True, text=True, check=False)
    mode = "chmod {} /var/tmp/chaoskit/*/producer-0-0.wal"
    theirs.machines.ssh("d1", mode.format("000"))
    unread = subprocess.run([*command, "heal"], capture_output=True, text=True, check=False)
    theirs.machines.ssh("d1", mode.format("600"))
    healed = subprocess.run([*command, "heal"], capture_output=True, text=True, check=False)
    after = subprocess.run([*command, "check", "--details", str(folder)], capture_output=True, text=True, check=False)

    assert "is still there: `chaoskit heal` fetches it" in before.stderr
    assert "producer-0-0.wal: Cannot open: Permission denied" in unread.stderr, "what is not copied is not removed"
    assert healed.returncode == 0, healed.stderr
    assert "copied to" in healed.stdout + healed.stderr
    assert "producer-0" in after.stdout, after.stderr
    assert _left(theirs) == ""
    assert theirs.topics() == []


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"python": "python3"}, r"drivers\.d1\.python: python3 has no chaoskit .*install chaoskit"),
        ({"user": "nobody"}, r"drivers\.d1: it refuses the login"),
        ({"folder": "/proc/chaoskit"}, r"drivers\.d1\.folder: /proc/chaoskit cannot be written"),
    ],
)
def test_a_driver_that_cannot_run_clients_is_refused(
    theirs: Theirs, chaos: Any, wrong: dict[str, str], message: str
) -> None:
    with pytest.raises(Exception, match=message):
        chaos(cluster=_cluster(theirs, **wrong), workload=_load())


def test_doctor_says_whether_drivers_work(theirs: Theirs, tmp_path: Path) -> None:
    inventory = _cluster(theirs)["inventory"]
    inventory["drivers"]["d2"]["python"] = "python3"
    (tmp_path / "hosts.yaml").write_text(yaml.dump(inventory))

    command = [str(Path(sys.executable).with_name("chaoskit")), "doctor", "--hosts", str(tmp_path / "hosts.yaml")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)

    lines = {line.split("  ")[0]: line for line in done.stdout.splitlines()}
    assert "works" in lines["d1: driver"]
    assert "MISSING" in lines["d2: driver"]
    assert done.returncode == 1


def test_a_file_that_clients_read_must_be_on_the_driver(theirs: Theirs, chaos: Any, tmp_path: Path) -> None:
    (tmp_path / "here.pem").write_text((theirs.machines.folder / "ca.pem").read_text())
    cluster = _cluster(theirs)
    attach = {**cluster["attach"], "ssl.ca.location": str(tmp_path / "here.pem")}

    with pytest.raises(Exception, match=r"drivers\.d2: clients read .*here\.pem, which is not there; copy it"):
        chaos(cluster={**cluster, "attach": attach}, workload=_load())
