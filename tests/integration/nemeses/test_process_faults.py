"""Faults of processes on real hosts; their effect is read from /proc and from the answers of the system."""

from __future__ import annotations

import re
import time
from typing import Any

import pytest
from echo import SERVICE, EchoCluster
from pydantic import ValidationError
from trial import fault, strike_of

from chaoskit.base.waiting import wait_until
from chaoskit.contract.faults.nemesis import NemesisError
from chaoskit.contract.hosts.host import ServiceHost, ServiceState
from chaoskit.model.place import Place
from nemeses.process import Kill, Pause, Restart, RollingRestart
from nemeses.services import await_answers
from nemeses.stumbling import CrashLoop, Stall, StallParameters, Zombie


def process(host: ServiceHost) -> str:
    return host.run(["cat", host.pid_path(SERVICE)]).out.strip()


class Failover(EchoCluster):
    """The leader is replaced this long after it was asked for first."""

    after_s = 0.4
    asked = 0.0

    def find(self, role: str, place: Place | None) -> tuple[str, ...]:
        self.asked = self.asked or time.monotonic()
        return ("n2",) if time.monotonic() - self.asked > self.after_s else ("n1",)


def test_killed_processes_are_gone_until_they_are_healed(echo: EchoCluster) -> None:
    before = process(echo.hosts[0])
    with fault(Kill(), echo.hosts[:1], echo):
        assert not echo.answers(echo.hosts[0])
        assert echo.serves(echo.hosts[1])
    assert process(echo.hosts[0]) != before
    assert echo.serves(echo.hosts[0])


def test_paused_processes_go_on_as_they_were(echo: EchoCluster) -> None:
    before = process(echo.hosts[0])
    with fault(Pause(), echo.hosts[:2], echo):
        assert [echo.answers(host) for host in echo.hosts[:2]] == [False, False]
        assert echo.serves(echo.hosts[2])
    assert process(echo.hosts[0]) == before
    assert echo.serves(echo.hosts[0])


@pytest.mark.parametrize("nemesis", [Restart(), RollingRestart()])
def test_restarted_processes_are_new_ones(echo: EchoCluster, nemesis: Any) -> None:
    before = [process(host) for host in echo.hosts]
    with fault(nemesis, echo.hosts, echo):
        assert not set(before) & {process(host) for host in echo.hosts}


@pytest.mark.parametrize(("nemesis", "why"), [(Kill(), "should be gone"), (Pause(), "should be paused")])
def test_a_fault_without_effect_is_told(echo: EchoCluster, nemesis: Any, why: str) -> None:
    with pytest.raises(NemesisError, match=why):
        nemesis.verify(strike_of(nemesis, echo.hosts[:1], echo))


def test_a_zombie_is_held_until_somebody_else_leads(echo: EchoCluster) -> None:
    cluster = Failover(echo.hosts)
    with fault(Zombie(), echo.hosts[:1], cluster, within="5s") as evidence:
        assert not cluster.answers(echo.hosts[0])
    print(evidence)
    took_over = re.search(r"n2 took over leader after ([\d.]+) s", evidence)
    assert took_over
    assert float(took_over[1]) < 5


def test_a_leader_that_nobody_replaces_is_no_zombie(echo: EchoCluster) -> None:
    strike = strike_of(Zombie(), echo.hosts[:1], echo, within="300ms")
    Zombie().inject(strike)

    with pytest.raises(NemesisError, match="leader is still n1 300ms after the pause"):
        Zombie().verify(strike)
    Zombie().heal(strike)
    assert "answering again" in Zombie().verify_healed(strike).sentence


def test_a_crash_loop_kills_again_and_again_and_ends(echo: EchoCluster) -> None:
    host = echo.hosts[0]
    seen: set[str] = set()

    def three() -> bool:
        seen.add(host.run(["cat", host.pid_path(SERVICE)], check=False).out.strip())
        return len(seen - {""}) >= 3

    with fault(CrashLoop(), [host], echo, interval="300ms") as evidence:
        assert wait_until(three, 60), seen
    print(evidence, seen)
    last = process(host)
    time.sleep(0.5)
    assert process(host) == last
    assert host.state(SERVICE) is ServiceState.RUNNING


def test_a_stalled_process_stops_for_its_share_of_the_time(echo: EchoCluster) -> None:
    host = echo.hosts[0]
    with fault(Stall(), [host], echo, pause="200ms", interval="400ms") as evidence:
        slow = [0.0]
        until = time.monotonic() + 60
        while max(slow) < 0.1 and time.monotonic() < until:
            began = time.monotonic()
            echo.ask(host, timeout_s=30)
            slow.append(time.monotonic() - began)
    print(evidence, max(slow))
    assert max(slow) >= 0.1
    assert "0-stall.loop" not in host.run(["ls", "/run/chaoskit"]).out


def test_a_stall_that_was_not_made_is_told(echo: EchoCluster) -> None:
    with pytest.raises(NemesisError, match="stopped in 0 of 100 samples"):
        Stall().verify(strike_of(Stall(), echo.hosts[:1], echo, interval="300ms"))
    await_answers(echo.hosts, echo)


def test_bad_parameters_are_refused() -> None:
    with pytest.raises(ValidationError, match="interval must be at least 10ms longer than pause"):
        StallParameters.model_validate({"pause": "1s", "interval": "1s"})
