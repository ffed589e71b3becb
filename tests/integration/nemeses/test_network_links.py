"""Slow links and broken connections on real hosts, seen from both ends."""

from __future__ import annotations

import socket
import time
from typing import Any

import pytest
from echo import PORT, EchoCluster
from trial import BUSY_S, fault, sooner_or_later, strike_of

from chaoskit.contract.faults.nemesis import NemesisError
from chaoskit.contract.hosts.host import ServiceHost
from nemeses.network.bandwidth import Bandwidth
from nemeses.network.connections import HalfOpen, ResetConnections

_SINK = """
import socket, time
s = socket.socket(); s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1); s.bind(("", 7004)); s.listen()
while True:
    c, _ = s.accept(); total = 0; began = time.monotonic()
    while data := c.recv(65536): total += len(data)
    print(total / (time.monotonic() - began), flush=True)
"""

_CALL = """
import socket, sys, time
s = socket.create_connection((sys.argv[1], 7000)); print(s.getsockname()[1], flush=True); s.settimeout(60)
try: print("closed" if not s.recv(1) else "data", flush=True)
except OSError as error: print(type(error).__name__, flush=True)
time.sleep(60)
"""


def send(source: ServiceHost, peer: ServiceHost, size: int) -> float:
    """Send over TCP from host to host; return the bytes a second that arrived."""
    peer.run(["truncate", "-s0", peer.log_path("sink")])
    argv = ["bash", "--norc", "-c", f"head -c {size} /dev/zero > /dev/tcp/{peer.address}/7004"]
    deadline = time.monotonic() + 20
    source.run(argv, timeout_s=60)
    while not (out := peer.run(["cat", peer.log_path("sink")]).out.strip("\0\n")):
        assert time.monotonic() < deadline, "nothing arrived"
        time.sleep(0.01)
    return float(out)


def is_fast(source: ServiceHost, peer: ServiceHost) -> bool:
    """Return whether 8 MiB/s and more arrive, sooner or later."""
    return sooner_or_later(lambda: send(source, peer, 2**26) > 2**23)


def has_1_mib_s(source: ServiceHost, peer: ServiceHost) -> bool:
    """Return whether about 1 MiB/s arrive, sooner or later; it is never more."""

    def arrives() -> bool:
        rate = send(source, peer, 2**21)
        assert rate < 1.3 * 2**20
        return rate > 0.6 * 2**20

    return sooner_or_later(arrives)


@pytest.fixture
def sinks(echo: EchoCluster) -> EchoCluster:
    for host in echo.hosts:
        host.spawn("sink", ["/usr/bin/python3", "-c", _SINK], {})
        host.run(["bash", "--norc", "-c", "until ss -ltn | grep -q 7004; do sleep 0.01; done"], timeout_s=60)
    return echo


@pytest.mark.parametrize(("direction", "slow_in", "slow_out"), [("both", 1, 1), ("in", 1, 0), ("out", 0, 1)])
def test_tcp_gets_the_asked_rate(sinks: EchoCluster, direction: str, slow_in: int, slow_out: int) -> None:
    n1, n2, n3 = sinks.hosts
    with fault(Bandwidth(), [n1], sinks, rate="1MiB", direction=direction) as evidence:
        for source, peer, slow in ((n2, n1, slow_in), (n1, n3, slow_out)):
            assert has_1_mib_s(source, peer) if slow else is_fast(source, peer)
        assert is_fast(n2, n3)

    print(evidence)
    assert is_fast(n2, n1)


def test_only_the_peers_are_slow(sinks: EchoCluster) -> None:
    n1, n2, n3 = sinks.hosts
    with fault(Bandwidth(), [n1], sinks, rate="100kB", peers="n2"):
        assert is_fast(n1, n3)
        assert send(n1, n2, 10**5) < 2e5


def test_a_limit_that_is_not_there_is_told(echo: EchoCluster) -> None:
    strike = strike_of(Bandwidth(), echo.hosts[:1], echo)
    Bandwidth().inject(strike)
    Bandwidth().heal(strike)

    with pytest.raises(NemesisError, match="packets of 1428 B in 1 s, not 1MiB/s"):
        Bandwidth().verify(strike)


def call(source: ServiceHost, peer: ServiceHost) -> None:
    """Open a connection from host to host that only waits."""
    source.spawn("call", ["/usr/bin/python3", "-c", _CALL, peer.address], {})
    source.run(["bash", "--norc", "-c", f"until [ -s {source.log_path('call')} ]; do sleep 0.01; done"], timeout_s=60)


def heard(source: ServiceHost) -> list[str]:
    return source.run(["cat", source.log_path("call")]).out.split()[1:]


def test_connections_are_reset_at_both_ends(echo: EchoCluster) -> None:
    n1, n2, n3 = echo.hosts
    call(n2, n1)
    call(n3, n2)
    client = socket.create_connection((n1.address, PORT), BUSY_S)
    with client, fault(ResetConnections(), [n1], echo) as evidence:
        with pytest.raises(ConnectionResetError):
            client.recv(1)
        n2.run(["sleep", "0.1"])
        assert heard(n2) == ["ConnectionResetError"]
        assert heard(n3) == []
        assert echo.serves(n1)
    print(evidence)


def test_only_connections_of_the_peers_and_ports_are_reset(echo: EchoCluster) -> None:
    n1, n2, n3 = echo.hosts
    call(n2, n1)
    call(n3, n1)
    with fault(ResetConnections(), [n1], echo, peers="n3", ports=PORT) as evidence:
        n2.run(["sleep", "0.1"])
        assert (heard(n2), heard(n3)) == ([], ["ConnectionResetError"])
    print(evidence)


@pytest.mark.parametrize("nemesis", [ResetConnections(), HalfOpen()])
def test_nothing_to_reset_is_told(echo: EchoCluster, nemesis: Any) -> None:
    strike = strike_of(nemesis, echo.hosts[:1], echo, peers="n2")
    nemesis.inject(strike)

    with pytest.raises(NemesisError, match="n1 had no established connection"):
        nemesis.verify(strike)
    nemesis.heal(strike)


def test_a_half_open_connection_lives_on_at_the_peer_alone(echo: EchoCluster) -> None:
    n1, n2, _ = echo.hosts
    call(n2, n1)
    with socket.create_connection((n1.address, PORT), BUSY_S) as client:
        client.settimeout(0.3)
        with fault(HalfOpen(), [n1], echo) as evidence:
            client.sendall(b"into the void\n")
            with pytest.raises(TimeoutError):
                client.recv(1)
            assert heard(n2) == []
            assert f":{PORT}" in n2.run(["ss", "-Htn", "state", "established"]).out
            assert n2.address not in n1.run(["ss", "-Htn", "state", "established", f"sport = :{PORT}"]).out
            assert echo.serves(n1), "new connections work"
        client.settimeout(BUSY_S)
        with pytest.raises(ConnectionResetError):
            client.recv(1)
    print(evidence)
