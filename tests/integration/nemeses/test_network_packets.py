"""Packets lost, delayed, reordered, duplicated and corrupted on real hosts, measured by sockets of our own."""

from __future__ import annotations

import json
import statistics
from itertools import pairwise
from typing import Any

import pytest
from echo import EchoCluster
from pydantic import ValidationError
from trial import fault, sooner_or_later, strike_of

from chaoskit.contract.faults.nemesis import NemesisError
from chaoskit.contract.hosts.host import ServiceHost
from nemeses.network.packets import (
    DelayParameters,
    LossParameters,
    PacketCorrupt,
    PacketDelay,
    PacketDuplicate,
    PacketLoss,
    PacketReorder,
)

_PORT = 7003
_SENT = 400

# Both ends take as many datagrams as they may while a busy machine lets them wait.
_REFLECT = """
import socket
s = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2**22)
s.bind(("::", 7003))
while True:
    data, sender = s.recvfrom(2000)
    s.sendto(data, sender)
"""

_SEND = """
import json, select, socket, sys, time
s = socket.socket(socket.AF_INET6 if ":" in sys.argv[1] else socket.AF_INET, socket.SOCK_DGRAM)
s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2**22)
s.setblocking(False)
s.connect((sys.argv[1], 7003))
sent, got = [], []
def read():
    try:
        while True: got.append((int(s.recv(2000)[:8]), time.monotonic()))
    except BlockingIOError: pass
for number in range(int(sys.argv[2])):
    sent.append(time.monotonic())
    s.send(b"%08d" % number + b"x" * 500)
    end = time.monotonic() + 0.001
    while time.monotonic() < end: read()
# Until nothing comes any more; for longer if some are missing.
while select.select([s], [], [], 0.3 if len({n for n, _ in got}) == len(sent) else 1)[0]: read()
print(json.dumps({"numbers": [n for n, _ in got], "rtts": [t - sent[n] for n, t in got]}))
"""


def exchange(source: ServiceHost, address: str, count: int = _SENT) -> dict[str, Any]:
    """Return the datagrams that came back to a host from the reflector there."""
    answered: dict[str, Any] = json.loads(source.run(["/usr/bin/python3", "-c", _SEND, address, str(count)]).out)
    return answered


def is_quick(source: ServiceHost, address: str, below_s: float) -> bool:
    """Return whether half of the round trips are quicker than that, sooner or later."""
    return sooner_or_later(lambda: statistics.median(exchange(source, address)["rtts"]) < below_s)


@pytest.fixture
def reflectors(echo: EchoCluster) -> EchoCluster:
    for host in echo.hosts:
        host.spawn("reflect", ["/usr/bin/python3", "-c", _REFLECT], {})
        host.run(["bash", "--norc", "-c", "until ss -lun | grep -q 7003; do sleep 0.01; done"], timeout_s=60)
    return echo


@pytest.mark.parametrize("family", ["address", "address6"])
@pytest.mark.parametrize(("direction", "expected"), [("both", 0.36), ("in", 0.2), ("out", 0.2)])
def test_the_asked_share_is_lost(reflectors: EchoCluster, direction: str, expected: float, family: str) -> None:
    n1, n2, n3 = reflectors.hosts
    with fault(PacketLoss(), [n1], reflectors, percent=20, direction=direction) as evidence:
        lost = 1 - len(set(exchange(n1, getattr(n2, family))["numbers"])) / _SENT
        beside = exchange(n2, getattr(n3, family))["numbers"]

    print(evidence, lost)
    assert abs(lost - expected) < 0.1
    assert len(beside) == _SENT
    assert len(exchange(n1, getattr(n2, family))["numbers"]) == _SENT


def test_only_packets_of_the_peers_are_lost(reflectors: EchoCluster) -> None:
    n1, n2, n3 = reflectors.hosts
    with fault(PacketLoss(), [n1], reflectors, percent=100, peers="n2") as evidence:
        assert exchange(n1, n2.address, 20)["numbers"] == []
        assert len(exchange(n1, n3.address, 20)["numbers"]) == 20
        assert reflectors.serves(n1)

    print(evidence)


@pytest.mark.parametrize("family", ["address", "address6"])
def test_round_trips_take_longer_by_the_delay(reflectors: EchoCluster, family: str) -> None:
    n1, n2, n3 = reflectors.hosts
    with fault(PacketDelay(), [n1], reflectors, delay="50ms", jitter="10ms") as evidence:
        for source, peer in ((n1, n2), (n2, n1)):
            seen = exchange(source, getattr(peer, family))
            assert statistics.median(seen["rtts"]) > 0.045
            assert seen["numbers"] == list(range(_SENT))
            assert is_quick(source, getattr(peer, family), 0.15)
        assert is_quick(n2, getattr(n3, family), 0.03)

    print(evidence)
    assert is_quick(n1, getattr(n2, family), 0.03)


@pytest.mark.parametrize("family", ["address", "address6"])
def test_some_packets_are_overtaken_and_none_lost(reflectors: EchoCluster, family: str) -> None:
    n1, n2, _ = reflectors.hosts
    with fault(PacketReorder(), [n1], reflectors, percent=25, by="10ms") as evidence:
        numbers = exchange(n1, getattr(n2, family))["numbers"]

    print(evidence)
    overtaken = sum(b < a for a, b in pairwise(numbers))
    assert sorted(numbers) == list(range(_SENT))
    assert overtaken > 20
    after = exchange(n1, getattr(n2, family))["numbers"]
    assert after == sorted(after)


@pytest.mark.parametrize("family", ["address", "address6"])
def test_some_packets_come_twice(reflectors: EchoCluster, family: str) -> None:
    n1, n2, _ = reflectors.hosts
    with fault(PacketDuplicate(), [n1], reflectors, percent=25) as evidence:
        numbers = exchange(n1, getattr(n2, family))["numbers"]

    print(evidence, len(numbers))
    assert set(numbers) == set(range(_SENT))
    assert 1.15 < len(numbers) / _SENT < 1.35
    assert len(exchange(n1, getattr(n2, family))["numbers"]) == _SENT


@pytest.mark.parametrize("family", ["address", "address6"])
def test_corrupt_packets_are_dropped_by_their_checksum(reflectors: EchoCluster, family: str) -> None:
    n1, n2, _ = reflectors.hosts
    with fault(PacketCorrupt(), [n1], reflectors, percent=25) as evidence:
        numbers = exchange(n1, getattr(n2, family))["numbers"]
        errors = n1.run(["nstat", "-asz", "UdpInCsumErrors", "Udp6InCsumErrors"]).out

    print(evidence, len(numbers), errors)
    lost = _SENT - len(numbers)
    assert 0.15 < lost / _SENT < 0.35
    counted = sum(int(line.split()[1]) for line in errors.splitlines() if "Csum" in line)
    assert abs(counted - lost) <= 8, "a flipped port is answered by nobody and counts as no checksum error"
    assert len(exchange(n1, getattr(n2, family))["numbers"]) == _SENT


@pytest.mark.parametrize("nemesis", [PacketLoss(), PacketDelay(), PacketReorder(), PacketDuplicate(), PacketCorrupt()])
def test_what_was_not_made_and_what_was_not_healed_is_told(echo: EchoCluster, nemesis: Any) -> None:
    strike = strike_of(nemesis, echo.hosts[:1], echo)
    nemesis.inject(strike)

    with pytest.raises(NemesisError, match="the rules are still on n1"):
        nemesis.verify_healed(strike)
    nemesis.heal(strike)
    with pytest.raises(NemesisError):
        nemesis.verify(strike)


def test_bad_parameters_are_refused() -> None:
    with pytest.raises(ValidationError, match="jitter must not be more than delay"):
        DelayParameters.model_validate({"delay": "10ms", "jitter": "20ms"})
    with pytest.raises(ValidationError, match="less than or equal to 100"):
        LossParameters(percent=101)
    with pytest.raises(ValidationError, match="write a number and a unit"):
        DelayParameters(delay=10)
