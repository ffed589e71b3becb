"""Clients on hosts of the lab: what happens to the host happens to them, and what they wrote stays."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path
from typing import IO

import pytest
from trial import sooner_or_later

from chaoskit.contract.hosts.clock import SettableClock
from chaoskit.contract.hosts.host import HostError, PowerSwitch
from chaoskit.contract.hosts.seat import Seating
from clusters.hosts.lab import LocalLab

_TICKS = """
import sys, time
with open(sys.argv[1], "w", buffering=1) as file:
    while True:
        print(time.monotonic_ns(), file=file)
        time.sleep(0.01)
"""


def _seated(lab: LocalLab, script: str, errors: IO[bytes], *arguments: str) -> subprocess.Popen[bytes]:
    return lab.hosts[0].power(Seating).seat([sys.executable, "-c", script, *arguments], errors)


def _said(lab: LocalLab, script: str, folder: Path) -> str:
    with (folder / "errors").open("wb") as errors:
        said, _ = _seated(lab, script, errors).communicate(timeout=30)
    return said.decode().strip()


def test_a_seated_client_is_in_the_network_of_its_host_and_has_its_name(lab: LocalLab, tmp_path: Path) -> None:
    host = lab.hosts[0]

    assert _said(lab, "import socket; print(socket.gethostname())", tmp_path) == "n1"
    connects = f"import socket; s = socket.create_connection(('{lab.hosts[1].address}', 22)); print(s.getsockname()[0])"
    assert _said(lab, connects, tmp_path) == host.address


def test_a_power_cut_kills_it_and_what_it_wrote_stays(lab: LocalLab, tmp_path: Path) -> None:
    host, ticks = lab.hosts[0], tmp_path / "ticks"
    with (tmp_path / "errors").open("wb") as errors, _seated(lab, _TICKS, errors, str(ticks)) as client:
        assert sooner_or_later(lambda: ticks.exists() and ticks.read_text().count("\n") > 5)
        host.power(PowerSwitch).power_cut()
        cut_ns = time.monotonic_ns()

        assert client.wait(timeout=30) == -9
        assert 0 < int(ticks.read_text().splitlines()[-2]) < cut_ns
        with pytest.raises(HostError, match="has no power"):
            _seated(lab, _TICKS, errors, str(ticks))
    host.power(PowerSwitch).power_on()
    assert _said(lab, "import socket; print(socket.gethostname())", tmp_path) == "n1"


def test_it_sees_the_wall_clock_of_its_host(lab: LocalLab, tmp_path: Path) -> None:
    lab.hosts[0].make_clock_settable()
    clock = lab.hosts[0].power(SettableClock)
    clock.set_clock(3600 * 10**9)

    ahead_s = float(_said(lab, "import time; print(time.time())", tmp_path)) - time.time()
    apart_s = abs(float(_said(lab, "import time; print(time.monotonic())", tmp_path)) - time.monotonic())

    assert 3500 < ahead_s < 3700
    assert apart_s < 60, "the clock that histories are recorded with is the machine's"
