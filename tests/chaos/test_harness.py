"""What becomes of a run, and of the machine, when the harness is killed, interrupted, starved or misled."""

from __future__ import annotations

import json
import os
import pty
import select
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as Xml

import pytest
from dispositions import DEFAULT_SIGNALS
from machine import snapshot

from chaoskit.base import yaml
from chaoskit.base.waiting import wait_while
from chaoskit.contract import installed
from chaoskit.run.warden import GRACE_S

pytestmark = [pytest.mark.chaos, pytest.mark.usefixtures("own_state")]

SCENARIO: dict[str, Any] = {
    "name": "harness",
    "cluster": {"system": "kafka", "hosts": 3, "topic": {"min.insync.replicas": 2}},
    "workload": {"kind": "log", "rate": 300, "duration": "8s"},
    "faults": [{"at": "2s", "inject": "pause", "on": "one", "for": "2s"}],
}

ALONE: dict[str, Any] = {"system": "kafka", "hosts": 1}
"""For what does not depend on the number of brokers: one starts sooner than three."""

on_one_broker = pytest.mark.parametrize(
    ("cluster", "kind"),
    [
        pytest.param({"system": "mosquitto", "hosts": 1, "config": {"max_queued_messages": 0}}, "feed", id="mosquitto"),
        pytest.param(ALONE, "log", id="kafka", marks=pytest.mark.long),
    ],
)
"""For what does not depend on the system either: Mosquitto starts in no time."""


COMMAND = [sys.executable, "-c", "from chaoskit.cli.main import main; main()"]


def chaoskit(*arguments: object, **options: Any) -> subprocess.Popen[str]:
    command = [*COMMAND, *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options)


def finish(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    out, err = process.communicate(timeout=180)
    return process.returncode, out, err


def write(folder: Path, **changes: Any) -> Path:
    path = folder / "scenario.yaml"
    path.write_text(yaml.dump({**SCENARIO, **changes}))
    return path


def wait_for_line(process: subprocess.Popen[str], word: str) -> None:
    assert process.stderr is not None
    for line in process.stderr:
        if word in line:
            return
    raise AssertionError(f"the run ended before {word!r}")


def killed_and_healed(scenario: Path, store: Path, faults: list[str]) -> tuple[int, dict[str, Any]]:
    """Kill a run once these faults hold, heal the machine, and return what `check` says of it."""
    before = snapshot()
    with chaoskit("run", scenario, "--store", store) as process:
        for fault in faults:
            wait_for_line(process, f"{fault} on")
        process.send_signal(signal.SIGKILL)
        process.communicate()
    assert snapshot() != before

    status, healed, _ = finish(chaoskit("heal"))

    assert (status, "interface" in healed) == (0, True)
    assert snapshot() == before
    assert finish(chaoskit("heal"))[1] == "nothing to heal\n"
    status, judged, _ = finish(chaoskit("check", store, "--json"))
    return status, json.loads(judged)


@on_one_broker
def test_heal_and_check_after_kill_9_in_the_middle_of_a_fault(
    tmp_path: Path, cluster: dict[str, Any], kind: str
) -> None:
    _judged_after_kill_9(tmp_path, cluster, kind, "history")


@pytest.mark.long
def test_heal_and_check_after_kill_9_without_a_history(tmp_path: Path) -> None:
    _judged_after_kill_9(tmp_path, ALONE, "log", "latency")


def _judged_after_kill_9(tmp_path: Path, cluster: dict[str, Any], kind: str, record: str) -> None:
    scenario = write(tmp_path, cluster=cluster, workload={"kind": kind, "rate": 300, "duration": "8s"}, record=record)

    status, verdict = killed_and_healed(scenario, tmp_path / "store", ["pause"])

    assert status == 2
    assert verdict["verdict"] == "unknown"
    assert verdict["counts"]["acked"] > 300
    assert verdict["faults"][0]["effective"]
    assert "the run ended before the cluster's recovery was observed" in verdict["reasons"]


@on_one_broker
def test_ctrl_c_heals_checks_what_there_is_and_cleans(tmp_path: Path, cluster: dict[str, Any], kind: str) -> None:
    before = snapshot()
    lasting = write(tmp_path, cluster=cluster, workload={"kind": kind, "rate": 300, "duration": "10m"})
    with chaoskit("run", lasting, "--store", tmp_path / "store", "--json") as process:
        wait_for_line(process, "pause on")
        process.send_signal(signal.SIGINT)
        status, out, _ = finish(process)

    verdict = json.loads(out)
    assert status == 2
    assert verdict["reasons"] == ["interrupted before the load's declared end"]
    assert verdict["audit"]["complete"]
    assert verdict["faults"][0]["healed"]
    assert snapshot() == before


@pytest.mark.parametrize("line", ["hosts", "ready", "clients"])
@on_one_broker
def test_ctrl_c_before_the_load_ends_at_once_and_cleans(
    tmp_path: Path, cluster: dict[str, Any], kind: str, line: str
) -> None:
    before = snapshot()
    scenario = write(tmp_path, cluster=cluster, workload={"kind": kind, "rate": 300, "duration": "8s"})
    with chaoskit("run", scenario, "--store", tmp_path / "store") as process:
        wait_for_line(process, line)
        process.send_signal(signal.SIGINT)
        status, out, err = finish(process)

    assert (status, out) == (255, "")
    assert "interrupted before the load began: there is nothing to judge" in err
    assert "Traceback" not in err
    assert snapshot() == before


@pytest.mark.long
@pytest.mark.parametrize("line", ["hosts", "clients", "pause on"])
@pytest.mark.parametrize("ended_by", ["a closed terminal", signal.SIGTERM])
def test_what_ends_a_run_like_ctrl_c_leaves_nothing(tmp_path: Path, line: str, ended_by: signal.Signals | str) -> None:
    before = snapshot()
    load = {"kind": "feed", "rate": 300, "duration": "10m"}
    scenario = write(tmp_path, cluster={"system": "mosquitto", "hosts": 1}, workload=load)
    terminal, its = pty.openpty()
    command = ["setsid", "--ctty", *DEFAULT_SIGNALS, *COMMAND, "run", str(scenario), "--store", str(tmp_path / "store")]
    with subprocess.Popen(command, stdin=its, stdout=its, stderr=its) as process:
        os.close(its)
        printed = b""
        while line.encode() not in printed:
            assert select.select([terminal], [], [], 60)[0], printed
            printed += os.read(terminal, 4096)
        if isinstance(ended_by, signal.Signals):
            process.send_signal(ended_by)
            while process.poll() is None:
                with suppress(OSError):
                    os.read(terminal, 4096)
        os.close(terminal)
        status = process.wait(180)

    assert status == (2 if line == "pause on" else 255)
    assert snapshot() == before


@pytest.mark.long
def test_what_a_killed_run_left_is_removed_after_a_while(tmp_path: Path) -> None:
    before = snapshot()
    cluster = {"system": "mosquitto", "hosts": 1}
    scenario = write(tmp_path, cluster=cluster, workload={"kind": "feed", "rate": 300, "duration": "10m"})
    with chaoskit("run", scenario, "--store", tmp_path / "store") as process:
        wait_for_line(process, "pause on")
        process.send_signal(signal.SIGKILL)
        process.communicate()
    assert snapshot() != before

    assert not wait_while(lambda: "" if snapshot() == before else "something is left", GRACE_S + 60, every_s=1)


@pytest.mark.long
def test_two_runs_at_once_do_not_disturb_each_other(tmp_path: Path) -> None:
    before = snapshot()
    runs = [chaoskit("run", write(tmp_path), "--store", tmp_path / name, "--json") for name in ("a", "b")]

    results = [finish(run) for run in runs]

    assert [status for status, _, _ in results] == [0, 0]
    assert all(json.loads(out)["counts"]["acked"] > 2_000 for _, out, _ in results)
    assert snapshot() == before


@pytest.mark.long
def test_replay_repeats_the_faults_as_they_happened(tmp_path: Path) -> None:
    faults = [
        {"from": "500ms", "to": "3s", "every": "1s", "inject": ["pause"], "on": "one", "for": "300ms"},
        {"at": "3s", "inject": "pause", "on": "follower", "for": "300ms", "at_most": 1},
    ]
    load = {**SCENARIO["workload"], "duration": "16s"}
    store = tmp_path / "store"
    cluster = {**SCENARIO["cluster"], "hosts": 2}
    scenario = write(tmp_path, cluster=cluster, faults=faults, workload=load, expect={"unavailable": "< 1m"})
    results = tmp_path / "junit.xml"
    status, first, err = finish(chaoskit("run", scenario, "--store", store, "--json", "--junit", results))
    assert status == 0, err
    assert json.loads(first)["bounds"]["unavailable"]["met"]
    verdict = Xml.parse(results).find(".//property[@name='chaoskit_verdict']")
    assert verdict is not None
    assert verdict.get("value") == "valid"

    status, again, err = finish(chaoskit("replay", store / "latest", "--store", store, "--json"))

    assert status == 0, err
    verdicts = [json.loads(text) for text in (first, again)]
    assert [len(verdict["faults"]) for verdict in verdicts] == [4, 4]
    drawn = [[(fault["kind"], fault["targets"]) for fault in verdict["faults"][:3]] for verdict in verdicts]
    assert drawn[0] == drawn[1]
    assert verdicts[0]["seed"] == verdicts[1]["seed"]


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "small"
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=700m", "tmpfs", folder], check=True)
    yield folder
    subprocess.run(["umount", folder], check=True)


def fill(path: Path) -> None:
    """Write until nothing is free; a run writes to the disk meanwhile."""
    with path.open("wb", buffering=0) as filler, suppress(OSError):
        while filler.write(bytes(2**20)):
            pass


def test_a_store_without_room_is_refused(tmp_path: Path, small_disk: Path) -> None:
    with (small_disk / "filler").open("wb") as filler:
        os.posix_fallocate(filler.fileno(), 0, 600 * 2**20)

    status, _, err = finish(chaoskit("run", write(tmp_path), "--store", small_disk / "store"))

    assert status == 254
    assert "are free and a run may need" in err


def test_a_disk_that_fills_up_ends_the_run_once_healed_and_kept(tmp_path: Path, small_disk: Path) -> None:
    before = snapshot()
    faults = [{"at": "1s", "inject": "packet-delay", "on": "one", "delay": "1ms", "for": "60s"}]
    load = {"kind": "log", "rate": "max", "duration": "90s"}
    scenario, store = write(tmp_path, cluster=ALONE, workload=load, faults=faults), small_disk / "store"
    with chaoskit("run", scenario, "--store", store) as process:
        wait_for_line(process, "packet-delay on")
        fill(small_disk / "filler")
        status, out, err = finish(process)

    assert (status, out) == (255, ""), err
    assert "Traceback" not in err
    assert err.count("error:") == 1
    assert f"error: no space for more history in {store}" in err
    assert "healed packet-delay on" in err
    assert snapshot() == before
    (small_disk / "filler").unlink()
    _, judged, _ = finish(chaoskit("check", store, "--json"))
    verdict = json.loads(judged)
    assert verdict["counts"]["acked"] > 0
    judged_anomalies = {name for name in verdict["anomalies"] if not installed.anomalies()[name].measured}
    assert judged_anomalies <= {"unseen"}


@pytest.mark.parametrize(
    ("cluster", "status", "message"),
    [
        ({"version": "4.1.99"}, 254, "there is no Kafka 4.1.99"),
        ({"version": "2.8.2"}, 254, "has no KRaft, or only a preview"),
        pytest.param(
            {"config": {"num.io.threads": "many"}}, 254, "rejected by Kafka: Invalid value many", marks=pytest.mark.long
        ),
        ({"jvm": ["-XX:NoSuchOption"]}, 255, "exited unexpectedly:\n  Unrecognized VM option"),
        ({"topic": {"min.insync.replica": 2}}, 254, 'did you mean "min.insync.replicas"?'),
        pytest.param(
            {"topic": {"segment.jitter.ms": "many"}}, 254, "Kafka rejected topic log-0", marks=pytest.mark.long
        ),
    ],
)
def test_a_cluster_that_cannot_be_is_told_and_leaves_nothing(
    tmp_path: Path, cluster: dict[str, Any], status: int, message: str
) -> None:
    before = snapshot()
    scenario = write(tmp_path, cluster={**ALONE, **cluster})

    seen, _, err = finish(chaoskit("run", scenario, "--store", tmp_path / "store"))

    assert (seen, message in err) == (status, True), err
    assert status == 255 or str(scenario) in err
    assert "Traceback" not in err
    assert snapshot() == before


def test_a_broker_that_never_gets_ready_ends_the_run_with_its_logs(tmp_path: Path) -> None:
    before = snapshot()
    cluster = {**ALONE, "ready_within": "1s"}

    status, _, err = finish(chaoskit("run", write(tmp_path, cluster=cluster), "--store", tmp_path / "store"))

    assert status == 255
    assert "Kafka was not ready within 1 s" in err
    assert list((tmp_path / "store").glob("harness/*/logs/n1/kafka.log"))
    assert snapshot() == before


@pytest.mark.long
def test_a_full_disk_of_brokers_is_the_reason_why_they_did_not_recover(tmp_path: Path) -> None:
    cluster = {**SCENARIO["cluster"], "disk": {"size": "100MiB"}}
    load = {"kind": "log", "rate": 5000, "message_size": "10kB", "duration": "8s"}
    scenario = write(tmp_path, cluster=cluster, workload=load, faults=[])

    status, out, err = finish(chaoskit("run", scenario, "--store", tmp_path / "store"))

    assert status == 1, err
    assert "Traceback" not in err
    reason = "the cluster did not recover within the bound after healing: Kafka on n"
    assert [line for line in out.splitlines() if reason in line and "exited unexpectedly" in line]
    assert "\n    java.io.IOException: No space left on device\n" in out
    (folder,) = (tmp_path / "store").glob("harness/2*")
    assert "cluster: did NOT recover within" in finish(chaoskit("check", "--details", folder))[1]


def test_without_root_it_says_what_to_do(tmp_path: Path) -> None:
    """The user becomes nobody only when everything is loaded: the checkout may be readable by root alone."""
    code = (
        "import importlib, os, sys\n"
        "from chaoskit.base import plugins, shadow; from chaoskit.cli.main import main\n"
        "for name in (*shadow.PACKAGES, 'chaoskit.cli.run'): importlib.import_module(name)\n"
        "for noun in ('host', 'cluster', 'workload', 'nemesis', 'checker'):\n"
        "    for name in plugins.names(noun): plugins.load(noun, name, noun)\n"
        "os.chdir('/'); os.dup2(os.open(sys.argv.pop(), os.O_RDONLY), 0)\n"
        "os.setuid(65534); main()"
    )
    command = [sys.executable, "-c", code, "run", "/dev/stdin", "--store", "/tmp/nobody", str(write(tmp_path))]
    done = subprocess.run(command, text=True, capture_output=True, check=False)

    assert done.returncode == 254
    assert "not running as root: run it with sudo" in done.stderr


def test_without_java_it_says_what_to_install(tmp_path: Path) -> None:
    tools = tmp_path / "bin"
    tools.mkdir()
    for tool in ("ip", "unshare", "losetup", "mkfs.ext4", "sshd", "ssh-keygen"):
        path = subprocess.run(["which", tool], text=True, capture_output=True, check=True).stdout.strip()
        (tools / tool).symlink_to(path)

    run = chaoskit("run", write(tmp_path), "--store", tmp_path / "store", env={"PATH": str(tools)})
    status, _, err = finish(run)

    assert status == 254
    assert "there is no Java: apt-get install default-jre-headless" in err
