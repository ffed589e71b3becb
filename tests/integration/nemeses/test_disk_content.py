"""Faults of what is on data disks: files corrupted, disks wiped and put back."""

from __future__ import annotations

from typing import Any

import pytest
from echo import SERVICE, EchoCluster
from scratch import Make, listing, synced
from trial import fault, strike_of

from chaoskit.contract.faults.nemesis import NemesisError
from chaoskit.contract.hosts.host import ServiceState
from nemeses.disk.corruption import BitFlip, Truncate, _Changed
from nemeses.disk.images import DiskWipe, Snapshot, TimeTravel
from nemeses.disk.power import PowerCut


@pytest.fixture
def echo(either_disk: EchoCluster) -> EchoCluster:
    return either_disk


def test_a_bit_is_flipped_where_the_evidence_says(echo: EchoCluster) -> None:
    host: Any = echo.hosts[0]
    content = bytes(range(256)) * 40
    synced(host, "segment.log", content)
    with fault(BitFlip(), echo.hosts, echo, files="*.log", count=3) as evidence:
        pass
    host.get("/data/segment.log", local := host.disks["data"].image.with_name("copy"))
    echo_log = host.run(["stat", "-c", "%s", "/data/echo.log"]).out

    changed = [offset for offset, byte in enumerate(local.read_bytes()) if byte != content[offset]]
    assert evidence.count("was 0x") == 3
    assert all(f"byte {offset} was 0x{content[offset]:02x}" in evidence for offset in changed)
    assert evidence.count("segment.log") == len(changed), echo_log


def test_disjoint_targets_are_hit_in_different_places(make_echo: Make) -> None:
    echo = make_echo(2)
    for host in echo.hosts:
        synced(host, "same.bin", bytes(1000))
    nemesis = BitFlip()
    strike = strike_of(nemesis, echo.hosts, echo, files="same.bin", count=20, disjoint=True)
    nemesis.inject(strike)

    offsets: dict[str, set[int]] = {"n1": set(), "n2": set()}
    for name, place, _, _ in strike.kept(_Changed).places:
        offsets[name].add(place.offset)
    assert max(offsets["n1"]) < 500 <= min(offsets["n2"])


def test_a_file_is_truncated(echo: EchoCluster) -> None:
    host: Any = echo.hosts[0]
    synced(host, "tail.bin", bytes(5000))
    with fault(Truncate(), echo.hosts, echo, files="tail.bin") as evidence:
        size = int(host.run(["stat", "-c", "%s", "/data/tail.bin"]).out)

    assert size < 5000
    assert evidence == f"n1: /data/tail.bin had 5000 bytes, was truncated to {size}"


_WRITES_ON = """
import os, time
file = os.open("/data/live.bin", os.O_CREAT | os.O_WRONLY)
at = os.pwrite(file, os.urandom(5000), 0)
print("begun", flush=True)
while True:
    at += os.pwrite(file, os.urandom(500), at)
    time.sleep(0.001)
"""


def test_a_file_that_is_written_on_is_truncated(echo: EchoCluster) -> None:
    """It is soon longer than before, with a hole where its tail was."""
    host: Any = echo.hosts[0]
    host.spawn("writer", ["/usr/bin/python3", "-c", _WRITES_ON], {})
    host.run(["bash", "--norc", "-c", f"until grep -q begun {host.log_path('writer')}; do sleep 0.01; done"])

    with fault(Truncate(), [host], echo, files="live.bin") as evidence:
        assert "was truncated to" in evidence
    host.signal("writer", "KILL")
    host.run(["rm", "/data/live.bin"])


def test_corruption_names_its_files(make_echo: Make) -> None:
    echo = make_echo()
    with pytest.raises(NemesisError, match=r"n1 has no non-empty file nothing\*"):
        BitFlip().inject(strike_of(BitFlip(), echo.hosts, echo, files="nothing*"))
    with pytest.raises(NemesisError, match="use files instead of what"):
        BitFlip().inject(strike_of(BitFlip(), echo.hosts, echo, what="segment"))
    with pytest.raises(ValueError, match="specify either files"):
        strike_of(BitFlip(), echo.hosts, echo)


@pytest.mark.parametrize("filesystem", ["ext4", "xfs"])
def test_a_wiped_disk_is_empty(make_echo: Make, filesystem: str) -> None:
    echo = make_echo(filesystem=filesystem)
    host: Any = echo.hosts[0]
    synced(host, "synced")
    with fault(DiskWipe(), echo.hosts, echo):
        assert not host.reachable(timeout_s=0.1)

    assert listing(host) == {"echo.log"}
    with fault(PowerCut(), echo.hosts, echo):
        pass


def test_time_travel_brings_an_earlier_disk_back(echo: EchoCluster) -> None:
    host: Any = echo.hosts[0]
    synced(host, "past")
    with pytest.raises(NemesisError, match="inject snapshot before time-travel"):
        TimeTravel().inject(strike_of(TimeTravel(), echo.hosts, echo))
    assert host.state(SERVICE) is ServiceState.RUNNING
    with fault(Snapshot(), echo.hosts, echo) as evidence:
        pass
    synced(host, "future")
    host.run(["rm", "/data/past"])
    with fault(TimeTravel(), echo.hosts, echo):
        pass

    assert "n1: copied" in evidence
    assert {"past"} <= listing(host)
    assert "future" not in listing(host)
