"""Faults of one data disk of several, on real hosts: the other disks must not notice."""

from __future__ import annotations

from typing import Any

import pytest
import unsynced
from echo import EchoCluster
from scratch import Make
from trial import fault

from nemeses.disk.broken import DiskDead, DiskReadOnly
from nemeses.disk.corruption import BitFlip
from nemeses.disk.freeze import DiskFreeze
from nemeses.disk.full import DiskFull
from nemeses.disk.images import DiskWipe
from nemeses.disk.lies import FsyncLies
from nemeses.disk.power import PowerCut
from nemeses.disk.program import DiskErrors, DiskProgram
from nemeses.disk.slow import DiskSlow

FURTHER = {"one": "256MiB", "two": {"size": "300MiB", "filesystem": "xfs"}}
_WRITES = 'timeout 20 sh -c \'echo content > "$1/written" && sync "$1/written"\' sh "$1"'


@pytest.fixture(params=["plain", "programmable"])
def echo(request: pytest.FixtureRequest, make_echo: Make) -> EchoCluster:
    return make_echo(kind=request.param, disks=FURTHER)


@pytest.fixture
def programmable_disks(make_echo: Make) -> EchoCluster:
    return make_echo(kind="programmable", disks=FURTHER)


def _writable(host: Any, *names: str) -> set[str]:
    """Return on which of these disks, or of all, a write with fsync works within 20 s."""
    paths = {name: host.disks[name].path for name in names or host.disks}
    return {
        name for name, path in paths.items() if host.run(["sh", "-c", _WRITES, "sh", path], check=False).status == 0
    }


def _read(host: Any, path: str) -> str:
    return str(host.run(["cat", path], check=False).out)


def test_each_disk_is_a_file_system_of_its_own(echo: EchoCluster) -> None:
    host: Any = echo.hosts[0]
    kinds = {name: host.run(["findmnt", "-no", "FSTYPE", disk.path]).out.strip() for name, disk in host.disks.items()}

    assert kinds == {"data": "ext4", "one": "ext4", "two": "xfs"}
    assert len({host.run(["stat", "-c", "%d", disk.path]).out for disk in host.disks.values()}) == 3
    assert _writable(host) == {"data", "one", "two"}


def test_a_power_cut_takes_what_is_not_synced_on_every_disk(echo: EchoCluster) -> None:
    host: Any = echo.hosts[0]
    paths = [disk.path for disk in host.disks.values()]
    for path in paths:
        host.put(b"content", f"{path}/synced")
        host.run(["sync", "-f", path])
    for path in paths:
        unsynced.begin(host, f"{path}/unsynced-{{}}")

    with fault(PowerCut(), echo.hosts, echo):
        pass

    assert [_read(host, f"{path}/synced") for path in paths] == ["content"] * 3
    assert [unsynced.lost(host, f"{path}/unsynced-{{}}") for path in paths] == [True] * 3


@pytest.mark.parametrize("nemesis", [DiskDead(), DiskFull()], ids=["dead", "full"])
def test_a_fault_of_one_disk_leaves_the_others_writable(echo: EchoCluster, nemesis: Any) -> None:
    host: Any = echo.hosts[0]
    with fault(nemesis, echo.hosts, echo, disk="one"):
        writable = _writable(host)

    assert writable == {"data", "two"}
    assert _writable(host) == {"data", "one", "two"}


def test_one_disk_is_frozen(echo: EchoCluster) -> None:
    host: Any = echo.hosts[0]
    with fault(DiskFreeze(), echo.hosts, echo, disk="one") as evidence:
        assert "hangs" in evidence
        assert _writable(host, "data", "two") == {"data", "two"}


def test_one_disk_becomes_read_only(make_echo: Make) -> None:
    echo = make_echo(disks=FURTHER)
    host: Any = echo.hosts[0]
    with fault(DiskReadOnly(), echo.hosts, echo, disk="one"):
        assert _writable(host) == {"data", "two"}


def test_one_disk_is_slow(echo: EchoCluster) -> None:
    with fault(DiskSlow(), echo.hosts, echo, disk="one", write_iops=20) as evidence:
        assert "limit 20/s" in evidence
        host: Any = echo.hosts[0]
        done = host.run(["sh", "-c", "dd if=/dev/zero of=/data/x bs=4k count=600 oflag=direct 2>&1"], timeout_s=25)
        assert "2457600" in done.out


def test_one_disk_is_replaced_by_an_empty_one(echo: EchoCluster) -> None:
    host: Any = echo.hosts[0]
    for path in ("/data", "/disks/one", "/disks/two"):
        host.put(b"content", f"{path}/file")
        host.run(["sync", "-f", path])

    with fault(DiskWipe(), echo.hosts, echo, disk="one"):
        pass

    assert [_read(host, f"{path}/file") for path in ("/data", "/disks/one", "/disks/two")] == ["content", "", "content"]


def test_a_bit_is_flipped_on_the_chosen_disk(echo: EchoCluster) -> None:
    host: Any = echo.hosts[0]
    for path in ("/data", "/disks/one"):
        host.put(b"content", f"{path}/file")

    with fault(BitFlip(), echo.hosts, echo, disk="one", files="file"):
        assert _read(host, "/data/file") == "content"
        assert host.run(["od", "-c", "/disks/one/file"]).out != host.run(["od", "-c", "/data/file"]).out


def test_one_disk_lies_and_loses_what_it_acknowledged(programmable_disks: EchoCluster) -> None:
    host: Any = programmable_disks.hosts[0]
    with fault(FsyncLies(), programmable_disks.hosts, programmable_disks, disk="one"):
        for path in ("/data", "/disks/one"):
            host.put(b"content", f"{path}/file")
            host.run(["sync", f"{path}/file", path])

    assert (_read(host, "/data/file"), _read(host, "/disks/one/file")) == ("content", "")


def test_settings_and_errors_of_one_disk(programmable_disks: EchoCluster) -> None:
    host: Any = programmable_disks.hosts[0]
    with fault(DiskProgram(), programmable_disks.hosts, programmable_disks, disk="one", flush="30ms"):
        assert host.disks["one"].settings().flush == 30_000_000
        assert host.disks["data"].settings().flush == 0
    with fault(DiskErrors(), programmable_disks.hosts, programmable_disks, disk="two", write=1):
        assert host.disks["data"].counters()["errors"] == 0
