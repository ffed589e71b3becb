"""Injection latency: from the call of `inject` until nothing comes back any more from the host that is hit.

Three local hosts, each with a service that reflects datagrams; the harness sends one after the other, at least every
half millisecond, and the last that comes back marks the effect. Prints a Markdown table.

    sudo .venv/bin/python -m benchmarks.injection [ROUNDS]
"""

from __future__ import annotations

import socket
import statistics
import sys
import threading
import time
from collections.abc import Sequence
from typing import Any

from benchmarks.lab import hosts
from chaoskit.base import plugins
from chaoskit.contract.faults.nemesis import Strike
from chaoskit.contract.hosts.host import ServiceHost, ServiceState
from chaoskit.contract.power import P, held

_PORT = 7005
_SERVICE = "reflect"
_REFLECT = """
import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.bind(("", 7005))
while True:
    try:
        data, sender = s.recvfrom(100)
        s.sendto(data, sender)
    except OSError:  # a rejected packet is told to its sender
        continue
"""
_CASES: dict[str, tuple[str, dict[str, Any]]] = {
    "partition": ("partition", {}),
    "partition, how: reject": ("partition", {"how": "reject"}),
    "packet-loss, percent: 100": ("packet-loss", {"percent": 100}),
    "kill": ("kill", {}),
    "pause": ("pause", {}),
    "power-cut": ("power-cut", {}),
}
_SILENCE_S = 0.3


class Reflectors:
    """The cluster: one service a host; see `chaoskit.contract.systems.service.Service`."""

    def __init__(self, hosts: Sequence[ServiceHost]) -> None:
        self.hosts = hosts

    def power(self, kind: type[P]) -> P:
        """Return this, where it is what is asked for."""
        return held(kind, [self], "the reflectors")

    def start(self, host: ServiceHost) -> None:
        """Start it, if it does not run."""
        if host.state(_SERVICE) is ServiceState.GONE:
            host.spawn(_SERVICE, ["/usr/bin/python3", "-c", _REFLECT], {})

    def services(self, host: ServiceHost) -> tuple[str, ...]:
        """Return the one service."""
        return (_SERVICE,)

    def answers(self, host: ServiceHost, timeout_s: float = 0.5) -> bool:
        """Return whether a datagram comes back."""
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
            asking.settimeout(timeout_s)
            asking.sendto(b"", (host.address, _PORT))
            try:
                asking.recv(100)
            except OSError:
                return False
            return True


class Probe(threading.Thread):
    """Sends datagrams to a host without a break; `last` is when the last one came back (CLOCK_MONOTONIC)."""

    def __init__(self, host: ServiceHost) -> None:
        super().__init__(daemon=True)
        self._address = (host.address, _PORT)
        self.over = False
        self.last = 0.0

    def run(self) -> None:
        """Probe until it is over."""
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probing:
            probing.settimeout(0.0005)
            while not self.over:
                try:
                    probing.sendto(b"", self._address)
                    probing.recv(100)
                    self.last = time.monotonic()
                except OSError:
                    continue


def measure(kind: str, parameters: dict[str, Any], cluster: Reflectors, name: str) -> float:
    """Return the latency of one injection on the first host, in ms, and heal it."""
    nemesis = plugins.load("nemesis", kind, "kind")
    host = cluster.hosts[0]
    asked = nemesis.parameters.model_validate(parameters)
    strike = Strike(name, [host], (), cluster, cluster.hosts, asked, 0, lambda _: list(cluster.hosts))  # type: ignore[arg-type]
    probe = Probe(host)
    probe.start()
    while not probe.last:
        time.sleep(0.001)
    began = time.monotonic()
    nemesis.inject(strike)
    while time.monotonic() - probe.last < _SILENCE_S:
        time.sleep(0.01)
    effect = probe.last
    probe.over = True
    probe.join()
    nemesis.heal(strike)
    while not cluster.answers(host):
        time.sleep(0.01)
    return max(0.0, effect - began) * 1e3


def main(rounds: int) -> None:
    """Measure and print."""
    print("| fault | p50 ms | max ms |\n|---|---|---|")
    with hosts(3) as three:
        cluster = Reflectors(three)
        for host in three:
            cluster.start(host)
        for case, (kind, parameters) in _CASES.items():
            took = [measure(kind, parameters, cluster, f"{index}-{kind}") for index in range(rounds)]
            print(f"| {case} | {statistics.median(took):.1f} | {max(took):.1f} |", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 20)
