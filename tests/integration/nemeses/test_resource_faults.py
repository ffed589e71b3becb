"""Too little CPU, memory and file descriptors on real hosts, measured from inside and outside."""

from __future__ import annotations

import socket
import time
from pathlib import Path
from typing import Any

import pytest
from echo import PORT, SERVICE, EchoCluster
from trial import BUSY_S, fault, strike_of

from chaoskit.contract.faults.nemesis import NemesisError
from chaoskit.contract.hosts.host import ResourceLimits, ServiceHost
from clusters.hosts.limits import try_limits
from nemeses.resources import CpuStarve, FileExhaustion, MemoryPressure

_COUNT = (
    "import time; end = time.monotonic() + 1; n = 0\nwhile time.monotonic() < end: n += 1\nprint(time.process_time())"
)


def cores(host: ServiceHost) -> float:
    """Return the CPU seconds that a busy loop on a host gets in about a second."""
    began = time.monotonic()
    used = float(host.run(["/usr/bin/python3", "-c", _COUNT]).out)
    return used / (time.monotonic() - began)


def page_cache(host: ServiceHost) -> float:
    """Return how many MiB of a file of 256 MiB stay in memory after it was written."""
    host.run(["dd", "if=/dev/zero", "of=/data/big", "bs=1M", "count=256", "status=none"])
    left = host.run(["fincore", "--bytes", "--noheadings", "--output", "RES", "/data/big"]).out
    return int(left) / 2**20


def test_a_host_gets_a_share_of_a_core(echo: EchoCluster) -> None:
    host, other, _ = echo.hosts
    before = cores(host)
    with fault(CpuStarve(), [host], echo, cores=0.1) as evidence:
        under, beside = cores(host), cores(other)
    after = cores(host)

    print(evidence, before, under, after, beside)
    assert under < 0.2, "on a busy machine the others may get as little; the counters tell them apart"
    limits = [one.power(ResourceLimits) for one in (host, other)]
    stopped = [limit.throttled() for limit in limits]
    assert cores(host) > 0
    assert [limit.throttled() for limit in limits] == stopped
    assert stopped[0] > 0
    assert stopped[1] == 0


def test_a_host_keeps_almost_no_page_cache(echo: EchoCluster) -> None:
    host, other, _ = echo.hosts
    before = page_cache(host)
    with fault(MemoryPressure(), [host], echo, leave="32MiB") as evidence:
        under, beside = page_cache(host), page_cache(other)
        assert echo.serves(host)
    after = page_cache(host)

    print(evidence, before, under, after, beside)
    assert min(before, beside, after) > 200
    assert under < 48


def test_an_allocation_beyond_what_is_left_is_killed(echo: EchoCluster) -> None:
    host = echo.hosts[0]
    with fault(MemoryPressure(), [host], echo, leave="32MiB"):
        done = host.run(["/usr/bin/python3", "-c", "print(len(b'x' * 2**28))"], check=False)
        assert done.out == ""
    assert host.run(["/usr/bin/python3", "-c", "print(len(b'x' * 2**28))"]).out == f"{2**28}\n"


def test_new_connections_fail_for_want_of_descriptors(echo: EchoCluster) -> None:
    host = echo.hosts[0]
    with socket.create_connection((host.address, PORT), BUSY_S) as kept:
        kept.sendall(b"before\n")
        assert kept.recv(99).endswith(b"before\n")
        limits = host.run(["bash", "--norc", "-c", f"cat /proc/$(cat {host.pid_path(SERVICE)})/limits"]).out
        with fault(FileExhaustion(), [host], echo) as evidence:
            kept.sendall(b"under\n")
            assert kept.recv(99).endswith(b"under\n"), "what is open goes on"
            with pytest.raises(OSError, match=r"timed out|reset|closed"):
                echo.ask(host)
    print(evidence)
    assert host.run(["bash", "--norc", "-c", f"cat /proc/$(cat {host.pid_path(SERVICE)})/limits"]).out == limits


@pytest.mark.parametrize("nemesis", [CpuStarve(), MemoryPressure(), FileExhaustion()])
def test_what_has_no_effect_is_told(echo: EchoCluster, nemesis: Any) -> None:
    strike = strike_of(nemesis, echo.hosts[:1], echo)
    nemesis.inject(strike)
    nemesis.heal(strike)

    with pytest.raises(NemesisError):
        nemesis.verify(strike)


def test_control_groups_are_removed_with_the_lab(echo: EchoCluster) -> None:
    try_limits()

    assert not any(folder.exists() for folder in Path("/sys/fs/cgroup").glob("*/chaoskit/doctor"))
    assert all(folder.exists() for folder in echo.hosts[0]._folders)  # type: ignore[attr-defined]
