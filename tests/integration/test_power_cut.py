"""The power cut of a disk, proved: what was fsynced is kept, what was not is gone, and the controls."""

from __future__ import annotations

import re
import subprocess
import threading
import time
from pathlib import Path

import pytest
import unsynced

from chaoskit.contract.hosts.host import DoubtfulCut, HostError
from clusters.hosts import canary, local, power
from clusters.hosts.lab import LocalLab
from clusters.hosts.network import take_down

CONTENT = b"0123456789" * 1000


def write(lab: LocalLab, name: str, *, synced: bool) -> None:
    host = lab.hosts[0]
    host.put(CONTENT, f"/data/{name}")
    if synced:
        host.run(["sync", f"/data/{name}", "/data"])


def read(lab: LocalLab, name: str) -> str:
    return lab.hosts[0].run(["cat", f"/data/{name}"], check=False).out


def sync(path: Path) -> None:
    subprocess.run(["sync", "--file-system", path], check=True)


def sync_witness(lab: LocalLab) -> None:
    """Sync the file system of the lab that only a sync of all file systems reaches."""
    sync(Path(f"/proc/{lab._witness._keeper.pid}/root{lab.folder}/witness/mount"))


def test_only_what_was_synced_survives_a_power_cut(lab: LocalLab) -> None:
    write(lab, "synced", synced=True)
    unsynced.begin(lab.hosts[0])

    lab.hosts[0].power_cut()
    lab.hosts[0].power_on()

    assert read(lab, "synced") == CONTENT.decode()
    assert unsynced.lost(lab.hosts[0])
    assert "of 8 unsynced canaries gone" in lab.hosts[0].prove_cut()


def test_an_unsynced_tail_is_lost_and_the_synced_head_kept(lab: LocalLab) -> None:
    write(lab, "log", synced=True)
    lab.hosts[0].run(["chmod", "a+w", "/data/log"])
    unsynced.begin(lab.hosts[0], "/data/log")

    lab.hosts[0].power_cut()
    lab.hosts[0].power_on()

    assert read(lab, "log").startswith(CONTENT.decode())
    assert unsynced.lost(lab.hosts[0], "/data/log")


def test_all_stands_still_from_the_first_instant(lab: LocalLab, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine that keeps the cable's cut waiting, as a busy one does: nothing is written until the disk is cut."""
    host = lab.hosts[0]
    cut_ns: list[int] = []

    def slowly(cable: str) -> None:
        time.sleep(0.1)  # for what a process was doing when it was stopped
        cut_ns.append(time.monotonic_ns())
        take_down(cable)
        time.sleep(0.5)

    monkeypatch.setattr(local, "take_down", slowly)
    unsynced.begin(host)

    host.power_cut()
    host.power_on()

    assert 0 < unsynced.last_ns(host) < cut_ns[0]


def test_control_without_a_cut_everything_survives_the_death_of_the_host(
    lab: LocalLab, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killing all processes is no power cut: the kernel still writes back. The canaries must say so."""
    host = lab.hosts[0]
    write(lab, "not-synced", synced=False)
    monkeypatch.setattr(canary, "shut_down_around", lambda _: None)

    host.power_cut()
    host.power_on()

    assert read(lab, "not-synced") == CONTENT.decode()
    with pytest.raises(HostError, match="never synced: its power was not cut"):
        host.prove_cut()


def test_control_a_cut_that_saves_everything_first_is_none(lab: LocalLab, monkeypatch: pytest.MonkeyPatch) -> None:
    """The disk refuses all writes afterwards, as after a cut, and no sync of this machine's file systems is seen."""
    host = lab.hosts[0]
    lab._witness.close()
    monkeypatch.setattr(power, "_NO_LOG_FLUSH", bytes(4))

    host.power_cut()
    host.power_on()

    with pytest.raises(HostError, match="never synced: its power was not cut") as raised:
        host.prove_cut()
    assert not isinstance(raised.value, DoubtfulCut)


def test_who_synced_everything_right_before_a_cut_is_a_doubt(lab: LocalLab, monkeypatch: pytest.MonkeyPatch) -> None:
    """The sync that hits the microseconds of the cut; it reaches the file systems of this test alone."""
    host = lab.hosts[0]
    shut_down = power.shut_down_around

    def sync_and_shut_down(descriptor: int) -> None:
        sync(host.disks["data"].mounted)
        sync_witness(lab)
        shut_down(descriptor)

    monkeypatch.setattr(canary, "shut_down_around", sync_and_shut_down)
    began_ns = time.monotonic_ns()

    host.power_cut()
    host.power_on()

    with pytest.raises(DoubtfulCut, match="all writes were refused after the cut") as raised:
        host.prove_cut()
    (doubt,) = raised.value.doubts
    assert doubt.event == "another process synced all file systems of this machine"
    assert doubt.consequence == "the cut of n1 had little left to lose"
    assert began_ns < doubt.at_ns < time.monotonic_ns()


def test_a_sync_before_a_cut_is_told(lab: LocalLab) -> None:
    host = lab.hosts[0]
    sync_witness(lab)

    host.power_cut()
    host.power_on()

    assert (
        "canaries gone, fsynced canary intact; another process synced all file systems of this machine"
        in host.prove_cut()
    )


def test_a_power_cut_waits_until_there_is_something_to_lose(lab: LocalLab) -> None:
    host = lab.hosts[0]
    sync_witness(lab)

    host.await_unsynced()
    host.power_cut()
    host.power_on()

    ago = re.search(r"another process synced all file systems of this machine (\d+) ms before", host.prove_cut())
    assert ago is None or int(ago[1]) >= 300


def test_somebody_who_syncs_all_the_time_does_not_hold_a_power_cut_up(lab: LocalLab) -> None:
    over = threading.Event()

    def again_and_again() -> None:
        while not over.wait(0.02):
            sync_witness(lab)

    syncing = threading.Thread(target=again_and_again)
    syncing.start()
    try:
        lab.hosts[0].await_unsynced()
    finally:
        over.set()
        syncing.join()


def test_a_canary_that_the_disk_refused_proves_nothing(lab: LocalLab) -> None:
    host = lab.hosts[0]
    host.run(["mount", "-o", "remount,ro", "/data"])

    host.power_cut()
    host.power_on()

    with pytest.raises(HostError, match="refused the unsynced canaries"):
        host.prove_cut()


def test_a_disk_that_loses_synced_data_is_told_from_a_power_cut(lab: LocalLab) -> None:
    host = lab.hosts[0]
    host.run(["rm", "/data/.chaoskit/canary-synced"])
    host.run(["sync", "--file-system", "/data"])

    host.power_cut()
    host.power_on()

    with pytest.raises(HostError, match="lost a file that was fsynced"):
        host.prove_cut()


def test_a_host_without_power_answers_nothing(lab: LocalLab) -> None:
    host, other = lab.hosts
    host.run(["true"])

    host.power_cut()

    assert not host.reachable(timeout_s=0.2)
    assert other.run(["ping", "-c1", "-W1", "n1"], check=False).status != 0
    with pytest.raises(HostError, match="cannot be reached"):
        host.run(["true"])
    host.power_on()
    assert host.run(["hostname"]).out == "n1\n"


def test_peers_hear_nothing_when_power_is_cut(lab: LocalLab) -> None:
    """The cable goes first: no FIN and no RST tells the other end, as when a machine dies."""
    host, other = lab.hosts
    connect = (
        "import socket,sys; s=socket.create_connection(('n1', 22)); s.recv(9); print('up', flush=True); "
        "s.settimeout(1.5)\ntry: s.recv(4096); s.recv(4096); print('heard')\nexcept TimeoutError: print('silence')"
    )
    other.spawn("peer", ["python3", "-c", connect], {})
    deadline = time.monotonic() + 30
    while "up" not in other.run(["cat", other.log_path("peer")]).out:
        assert time.monotonic() < deadline

    host.power_cut()
    time.sleep(2.5)

    assert other.run(["cat", other.log_path("peer")]).out.split() == ["up", "silence"]


def test_power_can_be_cut_again_and_again(lab: LocalLab) -> None:
    for _ in range(3):
        lab.hosts[0].power_cut()
        lab.hosts[0].power_on()
        lab.hosts[0].prove_cut()
