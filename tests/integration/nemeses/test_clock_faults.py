"""Faults of clocks, on real hosts: read in the echo server's answers and by a Java program."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import pytest
from echo import SERVICE, EchoCluster
from labs import SharedLab
from trial import fault, strike_of

from chaoskit.base.journal import Journal
from chaoskit.base.waiting import wait_until
from chaoskit.contract.faults.nemesis import NemesisError
from chaoskit.contract.hosts.clock import SettableClock
from chaoskit.contract.hosts.host import ServiceState
from nemeses.clock import ClockDrift, ClockJump, ClockOffset, ClockStrobe
from nemeses.disk.power import PowerCut

_WAITS = """
import java.util.concurrent.locks.*;
public class Waits {
    public static void main(String[] arguments) throws Exception {
        long wall = System.currentTimeMillis(), began = System.nanoTime();
        Object lock = new Object();
        while (true) {
            long start = System.nanoTime();
            Thread.sleep(100);
            long slept = System.nanoTime();
            LockSupport.parkNanos(100_000_000L);
            long parked = System.nanoTime();
            synchronized (lock) { lock.wait(100); }
            long waited = System.nanoTime();
            System.out.println((System.currentTimeMillis() - wall) + " " + (waited - began) / 1000000 + " "
                + (slept - start) / 1000000 + " " + (parked - slept) / 1000000 + " " + (waited - parked) / 1000000);
        }
    }
}
"""

_QUICK_NS = 20_000_000
_ANSWERS_MAX = 1000


@pytest.fixture(scope="module")
def two_clocks(shared_journal: Journal) -> Iterator[SharedLab]:
    lab = SharedLab(shared_journal, 2, {SettableClock})
    yield lab
    lab.close()


@pytest.fixture
def echo(two_clocks: SharedLab) -> Iterator[EchoCluster]:
    """Two hosts whose clocks can be set, and are right."""
    cluster = two_clocks.take()
    yield cluster
    if all(abs(error_s(cluster, index)) < 0.02 for index in range(2)):
        two_clocks.give_back(cluster)
    else:
        two_clocks.close()


def error_s(echo: EchoCluster, index: int = 0) -> float:
    """Return how far the echo server's clock is ahead of ours, as an answer shows it that is quick enough to tell."""
    answers = [answered(echo, index) for _ in range(5)]
    while min(answers)[0] > _QUICK_NS and len(answers) < _ANSWERS_MAX:
        answers.append(answered(echo, index))
    return min(answers)[1]


def answered(echo: EchoCluster, index: int = 0) -> tuple[int, float]:
    """Return how long an answer took, in ns, and how far its clock is ahead of ours, in s."""
    before = time.time_ns()
    shown = int(echo.ask(echo.hosts[index], timeout_s=30).split()[0])
    after = time.time_ns()
    return after - before, (shown - (before + after) / 2) / 1e9


@pytest.mark.parametrize(("offset", "seconds"), [("1h", 3600), ("-5s", -5), ("100ms", 0.1)])
def test_a_clock_is_off_and_right_again(echo: EchoCluster, offset: str, seconds: float) -> None:
    with fault(ClockOffset(), echo.hosts[:1], echo, offset=offset) as evidence:
        assert error_s(echo) == pytest.approx(seconds, abs=0.02)
        assert error_s(echo, 1) == pytest.approx(0, abs=0.02)

    proved = float(evidence.removeprefix("n1: ").removesuffix(" ms off").replace(",", ""))
    assert proved == pytest.approx(seconds * 1000, abs=20)
    assert error_s(echo) == pytest.approx(0, abs=0.02)


def test_a_service_that_does_not_read_the_clock_is_told(echo: EchoCluster) -> None:
    host: Any = echo.hosts[0]
    host.signal(SERVICE, "KILL")
    assert wait_until(lambda: host.state(SERVICE) is ServiceState.GONE, 30)
    host.spawn(SERVICE, ["env", "-u", "LD_PRELOAD", *echo.program(host)], {})
    with pytest.raises(NemesisError, match=f"{SERVICE} on n1 does not read the clock"):
        ClockOffset().verify(strike_of(ClockOffset(), [host], echo, offset="1h"))

    host.signal(SERVICE, "KILL")
    assert wait_until(lambda: host.state(SERVICE) is ServiceState.GONE, 30)
    echo.start(host)
    assert wait_until(lambda: echo.answers(host), 30)


def test_jumps_add_up(echo: EchoCluster) -> None:
    with fault(ClockJump(), echo.hosts, echo, by="10s"), fault(ClockJump(), echo.hosts, echo, by="-4s"):
        assert error_s(echo) == pytest.approx(6, abs=0.2)

    assert error_s(echo) == pytest.approx(0, abs=0.02)


@pytest.mark.parametrize("rate", [1.5, 0.5, 0, 10])
def test_a_clock_drifts_from_the_true_time_on(echo: EchoCluster, rate: float) -> None:
    with fault(ClockDrift(), echo.hosts[:1], echo, rate=rate) as evidence:
        began, (_, first), begun = time.monotonic(), answered(echo), time.monotonic()
        time.sleep(1)
        ending, (_, last), ended = time.monotonic(), answered(echo), time.monotonic()

    assert "gained" in evidence
    least, most = sorted(((rate - 1) * (ending - begun), (rate - 1) * (ended - began)))
    unsure = (begun - began) + (ended - ending)  # each error is known only as well as the answer was quick
    assert least - unsure - 0.02 <= last - first <= most + unsure + 0.02


def test_a_clock_strobes(echo: EchoCluster) -> None:
    errors: list[int] = []

    def changes() -> int:
        return sum(one != other for one, other in pairwise(errors))

    with fault(ClockStrobe(), echo.hosts, echo, offset="-30s", interval="100ms") as evidence:
        began = time.monotonic()
        while changes() < 10 and time.monotonic() < began + 60:
            errors.append(round(answered(echo)[1]))
            time.sleep(0.01)
        took_s = time.monotonic() - began

    assert "off by -30s" in evidence
    assert set(errors) == {-30, 0}
    assert 10 <= changes() <= took_s / 0.1 + 1, "a busy machine may miss some, and there are never more"
    time.sleep(0.3)
    assert error_s(echo) == pytest.approx(0, abs=0.02)


def test_a_boot_sets_the_clock_right_and_it_can_be_set_again(echo: EchoCluster) -> None:
    host: Any = echo.hosts[0]
    host.set_clock(3600 * 10**9)
    with fault(PowerCut(), echo.hosts[:1], echo):
        pass

    assert error_s(echo) == pytest.approx(0, abs=0.02)
    with fault(ClockOffset(), echo.hosts[:1], echo, offset="1h"):
        assert error_s(echo) == pytest.approx(3600, abs=0.02)


def test_java_sees_the_jump_and_its_waits_and_monotonic_time_go_on_evenly(echo: EchoCluster) -> None:
    host: Any = echo.hosts[0]
    host.put(_WAITS.encode(), "/tmp/Waits.java")
    host.spawn("waits", ["java", "-XX:TieredStopAtLevel=1", "/tmp/Waits.java"], {})

    def rows() -> list[list[int]]:
        lines = host.run(["cat", host.log_path("waits")], check=False).out.splitlines()
        return [[int(word) for word in line.split()] for line in lines if re.fullmatch(r"[-\d ]+", line)]

    def await_rows(count: int) -> None:
        deadline = time.monotonic() + 30
        while len(rows()) < count:
            assert time.monotonic() < deadline, host.run(["cat", host.log_path("waits")]).out
            time.sleep(0.1)

    await_rows(2)
    with fault(ClockOffset(), [host], echo, offset="1h"):
        await_rows(len(rows()) + 3)
    with fault(ClockDrift(), [host], echo, rate=2):
        await_rows(len(rows()) + 3)
    with fault(ClockOffset(), [host], echo, offset="-1h"):
        await_rows(len(rows()) + 3)

    seen = rows()
    ahead = [wall - monotonic for wall, monotonic, *_ in seen]
    waits = [wait for _, _, *waits_of in seen for wait in waits_of]
    steps = [later[1] - earlier[1] for earlier, later in pairwise(seen)]
    assert max(ahead) == pytest.approx(3_600_000, abs=100)
    assert min(ahead) == pytest.approx(-3_600_000, abs=100)
    assert any(300 < wait_ms < 60_000 for wait_ms in ahead)
    assert min(waits) >= 99
    assert sorted(waits)[len(waits) // 2] < 500
    assert min(steps) >= 298


@pytest.mark.parametrize(
    ("nemesis", "parameters", "words"),
    [
        (ClockOffset(), {"offset": "1s"}, r"should be off by \+1,000.0 ms, but is off by"),
        (ClockJump(), {"by": "-1s"}, r"should be off by -1,000.0 ms"),
        (ClockDrift(), {"rate": 1.5}, "should have gained"),
        (ClockStrobe(), {"offset": "1s"}, "should strobe"),
    ],
)
def test_a_true_clock_is_not_believed_to_be_wrong(echo: EchoCluster, nemesis: Any, parameters: Any, words: str) -> None:
    with pytest.raises(NemesisError, match=words):
        nemesis.verify(strike_of(nemesis, echo.hosts[:1], echo, **parameters))


def test_a_wrong_clock_is_not_believed_to_be_healed(echo: EchoCluster) -> None:
    nemesis = ClockOffset()
    strike = strike_of(nemesis, echo.hosts[:1], echo, offset="2s")
    nemesis.inject(strike)

    with pytest.raises(NemesisError, match=r"should be off by \+0.0 ms"):
        nemesis.verify_healed(strike)


@pytest.mark.parametrize(
    ("nemesis", "parameters", "words"),
    [
        (ClockOffset(), {"offset": "1ms"}, "cannot be proved"),
        (ClockOffset(), {"offset": 5}, "write a number and a unit"),
        (ClockDrift(), {"rate": 1.001}, "too close to 1"),
        (ClockStrobe(), {"offset": "1s", "interval": "1ms"}, "greater than or equal"),
    ],
)
def test_what_cannot_be_proved_is_refused(nemesis: Any, parameters: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        nemesis.parameters.model_validate(parameters)
