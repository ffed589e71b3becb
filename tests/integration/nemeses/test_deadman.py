"""The dead-man's switch: what a killed harness held is undone on the hosts, and what a live one holds is not."""

from __future__ import annotations

import re
import time
from collections.abc import Callable

import pytest
from echo import SERVICE, EchoCluster
from killing import DEAD_MAN_S, start_harness
from trial import strike_of

from chaoskit.contract.faults.nemesis import NemesisError
from chaoskit.contract.hosts.host import ServiceHost, ServiceState
from nemeses import holding
from nemeses.network.partition import Partition


def kill_harness_that_holds(kind: str, echo: EchoCluster, held: Callable[[], bool], **parameters: str) -> float:
    """Return how many seconds after kill -9 of the harness the fault was undone."""
    harness = start_harness(kind, echo.hosts, **parameters)
    assert harness.stdout is not None
    with harness, harness.stdout:
        try:
            assert harness.stdout.readline() == "held\n"
            assert held()
            time.sleep(2 * DEAD_MAN_S)
            assert held(), "a live harness holds it"
        finally:
            harness.kill()
            killed = time.monotonic()
    while held():
        assert time.monotonic() - killed < DEAD_MAN_S + 20
    return time.monotonic() - killed


def pings(source: ServiceHost, peer: ServiceHost) -> bool:
    return source.run(["ping", "-c1", "-W0.2", peer.address], check=False).status == 0


def test_a_partition_is_undone_when_the_harness_was_killed(echo: EchoCluster) -> None:
    took_s = kill_harness_that_holds("partition", echo, lambda: not pings(echo.hosts[1], echo.hosts[0]))

    print(f"undone after {took_s:.2f} s")
    assert took_s > DEAD_MAN_S / 2
    assert echo.hosts[0].run(["nft", "list", "tables"]).out == ""
    assert echo.hosts[0].run(["ls", "/run/chaoskit/held"]).out.split() == ["0-held.early", "0-held.pulse"]


def test_a_paused_service_goes_on_when_the_harness_was_killed(echo: EchoCluster) -> None:
    host = echo.hosts[0]

    took_s = kill_harness_that_holds("pause", echo, lambda: host.state(SERVICE) is ServiceState.PAUSED)

    print(f"undone after {took_s:.2f} s")
    assert took_s > DEAD_MAN_S / 2
    assert echo.serves(host)


def test_packets_are_no_longer_delayed_when_the_harness_was_killed(echo: EchoCluster) -> None:
    source, peer = echo.hosts[:2]

    def delayed() -> bool:
        times_ms = re.findall(r"time=([\d.]+)", source.run(["ping", "-U", "-c3", "-i0.05", "-W1", peer.address]).out)
        return min(map(float, times_ms)) >= 42

    took_s = kill_harness_that_holds("packet-delay", echo, delayed, delay="42ms")

    print(f"undone after {took_s:.2f} s")
    assert took_s > DEAD_MAN_S / 2


def test_what_was_undone_early_is_told_and_healed_again_without_harm(
    echo: EchoCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(holding, "DEAD_MAN_S", 0.5)
    nemesis = Partition()
    strike = strike_of(nemesis, echo.hosts[:1], echo)
    nemesis.inject(strike)
    strike.kept(holding._Pulses).over["n1"].set()
    while not pings(echo.hosts[1], echo.hosts[0]):
        pass

    nemesis.heal(strike)
    nemesis.heal(strike)

    with pytest.raises(NemesisError, match="dead man's switch undid it early on n1"):
        nemesis.verify_healed(strike)


def test_healing_leaves_neither_watchdog_nor_files(echo: EchoCluster) -> None:
    host = echo.hosts[0]
    nemesis = Partition()
    strike = strike_of(nemesis, [host], echo)
    nemesis.inject(strike)
    assert "watchdog" in host.run(["ps", "-ef"]).out

    nemesis.heal(strike)

    assert host.run(["ls", "/run/chaoskit/held"]).out == ""
    host.run(["bash", "--norc", "-c", "while ps -ef | grep -q '[w]atchdog'; do sleep 0.01; done"], timeout_s=60)


def test_a_fault_of_the_same_name_may_follow_at_once(echo: EchoCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    """The pulse of the one before, still under way, must not be taken for the next one's."""
    monkeypatch.setattr(holding, "_PULSE_S", 0.001)
    host = echo.hosts[0]
    for _ in range(20):
        strike = strike_of(Partition(), [host], echo)
        holding.hold(strike, host, "true", "true")
        holding.release(strike)

        assert host.run(["ls", "/run/chaoskit/held"]).out == ""


def test_an_injection_that_failed_half_way_is_undone(echo: EchoCluster) -> None:
    host = echo.hosts[0]
    strike = strike_of(Partition(), [host], echo)

    with pytest.raises(Exception, match="exit status 3"):
        holding.hold(strike, host, "touch /tmp/half; exit 3", "rm -f /tmp/half")
    holding.release(strike)

    assert host.run(["ls", "/tmp/half"], check=False).status != 0
