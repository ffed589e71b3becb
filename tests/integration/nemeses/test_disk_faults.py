"""Faults of data disks, on real hosts: effect and healing measured by the test itself, not by the nemesis."""

from __future__ import annotations

import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import unsynced
from echo import EchoCluster
from scratch import Make, listing, synced
from trial import fault, sooner_or_later, strike_of

from chaoskit.base.journal import Journal
from chaoskit.contract.faults.nemesis import NemesisError
from clusters.hosts.disk.layout import THROTTLE
from clusters.hosts.lab import LocalOptions, LocalProvider
from nemeses.disk import program, slow
from nemeses.disk.broken import DiskDead, DiskReadOnly
from nemeses.disk.freeze import DiskFreeze
from nemeses.disk.full import DiskFull
from nemeses.disk.images import DiskWipe, Snapshot
from nemeses.disk.lies import FsyncLies
from nemeses.disk.power import PowerCut
from nemeses.disk.program import DiskErrors, DiskProgram
from nemeses.disk.slow import DiskSlow


@pytest.fixture
def echo(either_disk: EchoCluster) -> EchoCluster:
    return either_disk


def test_a_power_cut_loses_what_was_not_synced(echo: EchoCluster) -> None:
    host: Any = echo.hosts[0]
    synced(host, "synced")
    unsynced.begin(host)

    with fault(PowerCut(), echo.hosts, echo) as evidence:
        assert not echo.answers(host, timeout_s=0.2)

    assert evidence == "no answer from n1"
    assert host.run(["cat", "/data/synced"]).out == "content"
    assert unsynced.lost(host)


def test_power_is_cut_again_while_the_system_recovers(echo: EchoCluster) -> None:
    host: Any = echo.hosts[0]
    boots = []
    power_on = host.power_on

    def boot() -> None:
        boots.append(time.monotonic())
        power_on()

    host.power_on = boot

    with fault(PowerCut(), echo.hosts, echo, reboots=2, between="200ms"):
        pass

    assert len(boots) == 3
    assert all(later - earlier > 0.2 for earlier, later in pairwise(boots))


def test_a_full_disk_fails_writes_and_has_space_again(echo: EchoCluster) -> None:
    host: Any = echo.hosts[0]
    with fault(DiskFull(), echo.hosts, echo) as evidence:
        failed = host.run(["sh", "-c", "head -c 4M /dev/zero > /data/more"], check=False)
        free = int(host.run(["stat", "-f", "-c", "%a", "/data"]).out) * 4096

    assert "No space left on device" in failed.err
    assert "No space left" in evidence
    assert free < 2**20
    assert host.run(["sh", "-c", "head -c 4M /dev/zero > /data/more"]).status == 0


def test_what_becomes_free_while_the_disk_fills_is_filled_too(echo: EchoCluster) -> None:
    """As ext4 frees what it had allocated ahead for a file that grows."""
    host: Any = echo.hosts[0]
    host.run(["sh", "-c", "head -c 16M /dev/zero > /data/ahead"])
    strike = strike_of(DiskFull(), echo.hosts, echo)
    DiskFull().inject(strike)
    host.run(["rm", "/data/ahead"])
    try:
        assert "No space left" in DiskFull().verify(strike).sentence
        failed = host.run(["sh", "-c", "head -c 4M /dev/zero > /data/more"], check=False)
    finally:
        DiskFull().heal(strike)

    assert "No space left on device" in failed.err


def test_some_space_can_be_left(make_echo: Make) -> None:
    echo = make_echo(filesystem="xfs")
    host: Any = echo.hosts[0]
    with fault(DiskFull(), echo.hosts, echo, leave="32MiB"):
        assert host.run(["sh", "-c", "head -c 28M /dev/zero > /data/fits"]).status == 0
        assert host.run(["sh", "-c", "head -c 34M /dev/zero > /data/fits"], check=False).status != 0


@pytest.mark.parametrize(
    ("limits", "command", "least_s"),
    [
        # Two seconds each. The kernel lets through at once what its slice of time, and the one before, allow.
        ({"write_bandwidth": "2MiB"}, "dd if=/dev/zero of=/data/x bs=64k count=64 oflag=direct", 1.5),
        ({"write_iops": 20}, "dd if=/dev/zero of=/data/x bs=4k count=40 oflag=direct", 1.5),
        ({"read_bandwidth": "2MiB"}, "dd if=/data/read of=/dev/null bs=64k iflag=direct", 1.5),
        ({"read_iops": 20}, "dd if=/data/read of=/dev/null bs=64k count=40 iflag=direct", 1.5),
    ],
)
def test_a_slow_disk_takes_its_time(echo: EchoCluster, limits: Any, command: str, least_s: float) -> None:
    host: Any = echo.hosts[0]
    synced(host, "read", bytes(2**22))

    def took_s() -> float:
        began = time.monotonic()
        host.run(["sh", "-c", f"{command} status=none"])
        return time.monotonic() - began

    with fault(DiskSlow(), echo.hosts, echo, **limits) as evidence:
        slow = took_s()

    assert least_s < slow < 30
    assert sooner_or_later(lambda: took_s() < least_s / 2), evidence


def test_a_probe_that_does_not_end_proves_the_limit(make_echo: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was written before goes first: at 20 kB/s it takes minutes."""
    monkeypatch.setattr(slow, "_BOUND_S", 3)
    echo = make_echo()
    host: Any = echo.hosts[0]
    nemesis = DiskSlow()
    strike = strike_of(nemesis, echo.hosts, echo, write_bandwidth="20kB")
    nemesis.inject(strike)
    host.spawn("writer", ["sh", "-c", "dd if=/dev/zero of=/data/x bs=256k count=16 oflag=direct"], {})
    time.sleep(0.5)

    began = time.monotonic()
    evidence = nemesis.verify(strike).sentence
    assert evidence == "n1: write bandwidth 7 kB/s (limit 20 kB/s)"
    assert time.monotonic() - began < 30
    nemesis.heal(strike)
    assert nemesis.verify_healed(strike)


def test_a_slow_disk_stays_slow_over_a_reboot_and_leaves_no_limit_behind(make_echo: Make) -> None:
    echo = make_echo()
    host: Any = echo.hosts[0]
    nemesis, note = DiskSlow(), host.disks["data"].image.with_name(THROTTLE)
    strike = strike_of(nemesis, echo.hosts, echo, write_iops=10)
    nemesis.inject(strike)
    first = note.read_text()

    host.power_cut()
    assert not note.exists()
    host.power_on()
    echo.start(host)

    assert "write requests" in nemesis.verify(strike).sentence
    nemesis.heal(strike)
    assert nemesis.verify_healed(strike)
    assert not note.exists()
    assert not any(line.startswith(f"{first} ") for line in open_rules().splitlines())


def open_rules() -> str:
    return "".join(path.read_text() for path in Path("/sys/fs/cgroup/blkio").glob("blkio.throttle.write_*_device"))


def test_a_lab_that_is_removed_with_a_slow_disk_leaves_no_limit(make_echo: Make, journal: Journal) -> None:
    """As `chaoskit heal` does after the harness was killed."""
    lab = LocalProvider().provision(journal, 1, LocalOptions.model_validate({"size": "512MiB"}))
    host: Any = lab.hosts[0]
    host.disks["data"].limit(DiskSlow.parameters.model_validate({"write_bandwidth": "1kB"}))
    host.spawn("writer", ["sh", "-c", "head -c 1M /dev/zero > /data/x; sync /data/x"], {})
    number = host.disks["data"].image.with_name(THROTTLE).read_text()
    time.sleep(0.3)

    began = time.monotonic()
    LocalProvider().undo({"lab": lab.name, "folder": str(lab.folder)})

    took_s = time.monotonic() - began
    lab.close()
    assert took_s < 30, "at 1 kB/s what is written takes a quarter of an hour"
    assert not any(line.startswith(f"{number} ") for line in open_rules().splitlines())


@pytest.mark.parametrize("filesystem", ["ext4", "xfs"])
def test_a_lab_that_is_removed_with_a_frozen_disk_goes(journal: Journal, filesystem: str) -> None:
    options = LocalOptions.model_validate({"size": "512MiB", "filesystem": filesystem})
    lab = LocalProvider().provision(journal, 1, options)
    host: Any = lab.hosts[0]
    host.run(["fsfreeze", "--freeze", "/data"])
    host.spawn("writer", ["sh", "-c", "echo x > /data/x; sync /data/x"], {})
    time.sleep(0.2)

    LocalProvider().undo({"lab": lab.name, "folder": str(lab.folder)})

    assert not lab.folder.exists()
    lab.close()


def test_a_frozen_disk_hangs_the_system_and_goes_on(echo: EchoCluster) -> None:
    host: Any = echo.hosts[0]
    with fault(DiskFreeze(), echo.hosts, echo) as evidence:
        assert not echo.answers(host, timeout_s=0.3)

    assert "hangs" in evidence
    assert echo.serves(host)


def test_a_power_cut_gets_through_a_frozen_disk(echo: EchoCluster) -> None:
    host: Any = echo.hosts[0]
    with fault(DiskFreeze(), echo.hosts, echo), fault(PowerCut(), echo.hosts, echo):
        assert not host.reachable(timeout_s=0.1)


@pytest.mark.parametrize(("nemesis", "words"), [(DiskDead(), "Input/output error"), (DiskReadOnly(), "Read-only")])
def test_a_broken_disk_fails_writes_until_the_host_boots(echo: EchoCluster, nemesis: Any, words: str) -> None:
    host: Any = echo.hosts[0]
    synced(host, "synced")
    with fault(nemesis, echo.hosts, echo) as evidence:
        answer = host.run(["sh", "-c", "echo x > /data/x; sync /data/x"], check=False).err
        assert not echo.answers(host)

    assert "Input/output error" in answer or "Read-only" in answer
    assert words in evidence
    assert host.run(["cat", "/data/synced"]).out == "content"
    assert "x" not in listing(host)


def test_xfs_is_not_made_read_only(make_echo: Make) -> None:
    echo = make_echo(filesystem="xfs")

    with pytest.raises(NemesisError, match=r"only ext4 can become read-only .* cluster.disk.filesystem: ext4"):
        DiskReadOnly().inject(strike_of(DiskReadOnly(), echo.hosts, echo))


def test_a_lying_disk_loses_what_was_synced_while_it_lied(programmable: EchoCluster) -> None:
    host: Any = programmable.hosts[0]
    synced(host, "honest")
    with fault(FsyncLies(), programmable.hosts, programmable) as evidence:
        synced(host, "lied")

    assert "not persistent" in evidence
    assert "honest" in listing(host)
    assert "lied" not in listing(host)


def test_a_lie_without_a_cut_becomes_true(programmable: EchoCluster) -> None:
    host: Any = programmable.hosts[0]
    with fault(FsyncLies(), programmable.hosts, programmable, cut=False):
        synced(host, "lied")
    with fault(PowerCut(), programmable.hosts, programmable):
        pass

    assert "lied" in listing(host)


def test_a_share_of_requests_fails(programmable: EchoCluster) -> None:
    host: Any = programmable.hosts[0]
    with fault(DiskErrors(), programmable.hosts, programmable, write=0.5) as evidence:
        failed = host.run(["dd", "if=/dev/zero", "of=/data/x", "bs=4k", "count=60", "oflag=direct"], check=False)

    assert "Input/output error" in failed.err or "Read-only" in failed.err
    assert "failed with EIO" in evidence
    assert host.run(["dd", "if=/dev/zero", "of=/data/x", "bs=4k", "count=60", "oflag=direct"]).status == 0


def test_any_setting_can_be_changed_for_a_while(programmable: EchoCluster) -> None:
    host: Any = programmable.hosts[0]
    sync = ["sh", "-c", "echo x >> /data/x; sync /data/x"]

    def took_s() -> float:
        began = time.monotonic()
        host.run(sync)
        return time.monotonic() - began

    with fault(DiskProgram(), programmable.hosts, programmable, flush="400ms", seed=9) as evidence:
        slow = took_s()

    assert slow >= 0.4
    assert "'flush': '400ms'" in evidence
    assert sooner_or_later(lambda: took_s() < 0.4)


@pytest.mark.parametrize(
    ("nemesis", "parameters"),
    [
        (PowerCut(), {}),
        (DiskFull(), {}),
        (DiskSlow(), {"write_iops": 5}),
        (DiskFreeze(), {}),
        (DiskDead(), {}),
        (DiskReadOnly(), {}),
        (FsyncLies(), {}),
        (DiskErrors(), {"write": 0.5}),
        (DiskProgram(), {"flush": "1s"}),
        (DiskWipe(), {}),
        (Snapshot(), {}),
    ],
    ids=lambda value: type(value).__name__ if hasattr(value, "summary") else "",
)
def test_nothing_is_believed_that_was_not_injected(programmable: EchoCluster, nemesis: Any, parameters: Any) -> None:
    strike = strike_of(nemesis, programmable.hosts, programmable, **parameters)
    if isinstance(nemesis, DiskErrors):
        host: Any = programmable.hosts[0]
        strike.kept(program._Before).errors = {"n1": host.disks["data"].counters()["errors"]}

    with pytest.raises(NemesisError):
        nemesis.verify(strike)


def test_a_limit_that_is_not_lifted_is_seen(make_echo: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nemeses.disk.slow._BUSY_S", 1.0)
    echo = make_echo()
    nemesis = DiskSlow()
    strike = strike_of(nemesis, echo.hosts, echo, write_iops=20)
    nemesis.inject(strike)
    nemesis.verify(strike)

    with pytest.raises(NemesisError, match="the limit was not removed"):
        nemesis.verify_healed(strike)
    slowed = strike.kept(slow._Slowed)
    slowed.rates = dict.fromkeys(slowed.rates, 5.0)  # as a busy machine would have measured it
    with pytest.raises(NemesisError, match="the limit was not removed"):
        nemesis.verify_healed(strike)


def test_healing_knows_a_disk_that_is_still_broken(programmable: EchoCluster) -> None:
    broken: tuple[tuple[DiskDead | DiskErrors, dict[str, Any]], ...] = ((DiskDead(), {}), (DiskErrors(), {"write": 1}))
    for nemesis, parameters in broken:
        strike = strike_of(nemesis, programmable.hosts, programmable, **parameters)
        nemesis.inject(strike)
        with pytest.raises(NemesisError, match="still fails a write"):
            nemesis.verify_healed(strike)
        nemesis.heal(strike)
        nemesis.verify_healed(strike)
