"""The programmable disk below a real file system on real hosts: each setting, measured from the host."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import unsynced
from trial import sooner_or_later

from chaoskit.base.journal import Journal
from chaoskit.contract.hosts.disk import CutMode, OnCut
from chaoskit.contract.hosts.host import HostError
from clusters.hosts.disk.crash import count_operations, make_crash_image
from clusters.hosts.disk.layout import BASE, LOG
from clusters.hosts.disk.oplog import Kind, opened
from clusters.hosts.disk.plain import attached
from clusters.hosts.lab import LocalLab, LocalOptions, LocalProvider

CONTENT = b"0123456789abcdef" * 4096
Make = Callable[..., LocalLab]


@pytest.fixture
def make(journal: Journal) -> Iterator[Make]:
    """Make labs of one host with a programmable disk."""
    labs = []

    def provision(**options: Any) -> LocalLab:
        given = {"size": "512MiB", "kind": "programmable"} | options
        labs.append(LocalProvider().provision(journal, 1, LocalOptions.model_validate(given)))
        return labs[-1]

    yield provision
    for lab in labs:
        lab.close()


def synced_write(host: Any, name: str = "file", content: bytes = CONTENT) -> None:
    host.put(content, f"/data/{name}")
    host.run(["sync", f"/data/{name}", "/data"])


def fsync_s(host: Any) -> float:
    """Return how long one fsync takes, measured on the host."""
    code = (
        "import os,time; f=os.open('/data/timed',os.O_CREAT|os.O_WRONLY); os.write(f,b'x'); os.fsync(f); "
        "os.pwrite(f,b'y'*5000,0); t=time.monotonic(); os.fsync(f); print(time.monotonic()-t)"
    )
    return float(host.run(["python3", "-c", code]).out)


def write_rate(host: Any, megabytes: int) -> float:
    began = time.monotonic()
    host.run(["dd", "if=/dev/zero", "of=/data/big", "bs=1M", f"count={megabytes}", "oflag=direct", "status=none"])
    return megabytes * 2**20 / (time.monotonic() - began)


@pytest.mark.parametrize("filesystem", ["ext4", "xfs"])
@pytest.mark.parametrize("mode", list(CutMode))
def test_what_was_synced_survives_each_mode_of_power_cut(make: Make, mode: CutMode, filesystem: str) -> None:
    host: Any = make(on_cut={"mode": mode}, filesystem=filesystem).hosts[0]
    synced_write(host, "synced")
    unsynced.begin(host)

    host.power_cut()
    assert not host.reachable(timeout_s=0.2)
    host.power_on()

    assert host.run(["cat", "/data/synced"]).out == CONTENT.decode()
    assert unsynced.lost(host)
    assert f"({mode}" in host.prove_cut()


def test_direct_writes_that_were_not_flushed_are_lost_or_kept_by_mode(make: Make) -> None:
    """O_DIRECT writes reach the disk at once and wait in its cache, where only a flush saves them."""
    kept = {}
    for mode, keep in ((CutMode.DROP, 0.5), (CutMode.REORDER, 1.0), (CutMode.SECTORS, 0.5)):
        host: Any = make(on_cut=OnCut(mode=mode, keep=keep).model_dump(mode="json"), seed=4).hosts[0]
        synced_write(host, "old", b"o" * 65536)
        overwrite = ["dd", "if=/etc/services", "of=/data/old", "bs=4096", "count=3", "oflag=direct", "conv=notrunc"]
        host.disks["data"].program({"flush_lies": True})  # who syncs this machine's file systems now flushes nothing
        host.run(overwrite)
        assert host.disks["data"].counters()["unflushed_sectors"] >= 24
        host.power_cut()
        host.power_on()
        content = host.run(["head", "-c", "12288", "/data/old"]).out
        kept[mode] = sum(content[sector : sector + 512] != "o" * 512 for sector in range(0, 12288, 512))

    assert kept[CutMode.DROP] == 0
    assert kept[CutMode.REORDER] == 24
    assert 0 < kept[CutMode.SECTORS] < 24


def test_control_without_a_cut_there_is_no_proof_of_one(make: Make) -> None:
    host: Any = make().hosts[0]
    host.kill()
    host.power_on()
    host.disks["data"]._cuts += 1

    with pytest.raises(HostError, match="recorded 0 power cuts, not 1"):
        host.prove_cut()


def test_a_flush_takes_its_time(make: Make) -> None:
    host: Any = make().hosts[0]
    assert sooner_or_later(lambda: fsync_s(host) < 0.3)
    host.disks["data"].program({"flush": "300ms"})
    slow = fsync_s(host)
    host.disks["data"].reset(["flush"])

    assert slow >= 0.3
    assert sooner_or_later(lambda: fsync_s(host) < 0.3)


def test_bandwidth_is_limited_and_unlimited_again(make: Make) -> None:
    host: Any = make().hosts[0]
    host.disks["data"].program({"write_bandwidth": "4MiB"})
    limited = write_rate(host, 4)
    host.disks["data"].reset(["write_bandwidth"])

    assert limited < 4.5 * 2**20
    assert sooner_or_later(lambda: write_rate(host, 4) > 1.5 * limited)


def test_requests_a_second_are_limited(make: Make) -> None:
    host: Any = make().hosts[0]
    synced_write(host, "read", bytes(2**20))
    host.disks["data"].program({"read_iops": 50})
    began = time.monotonic()
    host.run(["dd", "if=/data/read", "of=/dev/null", "bs=4k", "count=25", "iflag=direct", "status=none"])

    assert 0.4 < time.monotonic() - began < 10


def test_errors_are_eio_and_end(make: Make) -> None:
    host: Any = make().hosts[0]
    synced_write(host)
    read = ["dd", "if=/data/file", "of=/dev/null", "bs=4k", "count=4", "iflag=direct"]
    host.disks["data"].program({"read_errors": 1})
    failed = host.run(read, check=False)
    host.disks["data"].reset(["read_errors"])

    assert "Input/output error" in failed.err
    assert host.run(read).status == 0
    assert host.disks["data"].counters()["errors"] >= 1


def test_flips_change_what_is_read_and_nothing_on_the_disk(make: Make) -> None:
    host: Any = make().hosts[0]
    synced_write(host)
    checksum = ["sh", "-c", "dd if=/data/file bs=64k iflag=direct status=none | sha256sum"]
    before = host.run(checksum).out
    host.disks["data"].program({"read_flips": 1})
    flipped = host.run(checksum).out
    host.disks["data"].reset(["read_flips"])

    assert flipped != before
    assert host.run(checksum).out == before
    assert host.disks["data"].counters()["flips"] >= 1


def test_a_frozen_disk_hangs_until_it_is_thawed(make: Make) -> None:
    host: Any = make().hosts[0]
    host.disks["data"].program({"frozen": True})
    host.spawn("writer", ["sh", "-c", "echo x > /data/frozen; sync /data/frozen; echo done"], {})
    time.sleep(0.7)
    hanging = host.run(["cat", host.log_path("writer")]).out
    host.disks["data"].reset(["frozen"])
    deadline = time.monotonic() + 30
    while host.run(["cat", host.log_path("writer")]).out != "done\n":
        assert time.monotonic() < deadline

    assert hanging == ""


def test_power_can_be_cut_while_the_disk_is_frozen(make: Make) -> None:
    host: Any = make().hosts[0]
    synced_write(host)
    host.disks["data"].program({"frozen": True})
    host.spawn("writer", ["sh", "-c", "echo x > /data/file; sync /data/file"], {})
    time.sleep(0.2)

    host.power_cut()
    host.disks["data"].reset(["frozen"])
    host.power_on()

    assert host.run(["cat", "/data/file"]).out == CONTENT.decode()


def test_a_lying_flush_loses_what_was_synced(make: Make) -> None:
    host: Any = make().hosts[0]
    synced_write(host, "honest")
    host.disks["data"].program({"flush_lies": True})
    synced_write(host, "lied")
    assert host.disks["data"].counters()["lies"] > 0

    host.power_cut()
    host.power_on()

    assert host.run(["ls", "/data"]).out.split() == ["honest", "lost+found"]
    assert host.run(["cat", "/data/honest"]).out == CONTENT.decode()
    assert "acknowledged flushes were lies" in host.prove_cut()


def test_a_recorded_disk_is_made_again_as_the_power_cut_left_it(make: Make, tmp_path: Path) -> None:
    on_cut = OnCut(mode=CutMode.SECTORS)
    lab = make(record=True, on_cut=on_cut.model_dump(mode="json"))
    host: Any = lab.hosts[0]
    synced_write(host)
    host.run(["dd", "if=/dev/zero", "of=/data/file", "bs=4096", "count=9", "oflag=direct", "conv=notrunc"])
    host.power_cut()
    live = tmp_path / "live"
    live.write_bytes(host.disks["data"].image.read_bytes())
    (kept,) = lab.keep(tmp_path / "kept")
    with opened(kept / LOG) as recording:
        cut = next(operation.number for operation in recording if operation.kind is Kind.CUT)
    record = make_crash_image(
        kept / BASE,
        kept / LOG,
        tmp_path / "made",
        after=cut - 1,
        on_cut=on_cut,
        seed=host.disks["data"].settings().seed,
    )

    assert subprocess.run(["cmp", str(live), str(tmp_path / "made")], check=False).returncode == 0
    assert 0 < record.kept < record.sectors
    assert record.kept == host.disks["data"].last_cut()["kept"]
    assert count_operations(kept / LOG) > cut


def test_a_host_boots_with_each_crash_image(make: Make, tmp_path: Path) -> None:
    """Each acknowledged record is in every image made after its acknowledgement."""
    lab = make(record=True)
    host: Any = lab.hosts[0]
    acked = []
    for number in range(3):
        synced_write(host, f"record-{number}", b"%d" % number * 5000)
        (kept,) = lab.keep(tmp_path / "kept")
        acked.append(count_operations(kept / LOG))
    lab.close()

    for number, after in enumerate(acked):
        record = make_crash_image(
            kept / BASE, kept / LOG, tmp_path / "made", after=after, on_cut=OnCut(mode=CutMode.SECTORS), seed=number
        )
        booted = make(kind="plain", images={"n1": str(tmp_path / "made")}).hosts[0]
        for earlier in range(number + 1):
            assert booted.run(["cat", f"/data/record-{earlier}"]).out == str(earlier) * 5000, record


def test_nothing_is_left_of_a_host_with_a_programmable_disk(make: Make) -> None:
    lab = make()
    synced_write(lab.hosts[0])
    lab.close()

    assert attached(lab.folder) == []
    assert str(lab.folder) not in Path("/proc/self/mounts").read_text()
    assert not lab.folder.exists()
