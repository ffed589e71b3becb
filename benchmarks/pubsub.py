"""Ping-pong and firehose of Cyclone DDS, Zenoh, Mosquitto and Kafka beside what the same hosts do without any of them.

Ping-pong: half the round trip of 64-byte messages, one under way at a time, in microseconds. The floor: ICMP (`ping`),
and a plain TCP and UDP socket in a Python loop, between two hosts of a lab. Clients of Mosquitto and Kafka are on the
harness, their broker is on a host; those of the others are on hosts of their own. Firehose: messages and bytes a second
that subscribers received, by payload. What was sent and not received is told beside. Prints Markdown.

    sudo .venv/bin/python -m benchmarks.pubsub [SECONDS] [SIZE]...
"""

from __future__ import annotations

import re
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.lab import hosts
from chaoskit.base.quantities import parse_size
from chaoskit.base.store import VERDICT, read_json
from chaoskit.run.site import Site
from chaoskit.scenario.plan import read_plan

_SECONDS = 10
_SIZES = ("64B", "1KiB", "8KiB", "64KiB", "512KiB", "4MiB")
_ROUNDS = 20_000

_LOOP = """
import socket, sys, time
kind, there, rounds = sys.argv[1], sys.argv[2], int(sys.argv[3])
udp = kind == "udp"
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM if udp else socket.SOCK_STREAM)
if not udp:
    s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
if there == "-":
    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    s.bind(("", 7006))
    if udp:
        while True:
            content, sender = s.recvfrom(100)
            s.sendto(content, sender)
    s.listen()
    while True:
        c = s.accept()[0]
        c.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        while content := c.recv(100):
            c.send(content)
s.connect((there, 7006))
s.settimeout(1)
took, content = [], bytes(64)
for _ in range(rounds):
    began = time.monotonic_ns()
    s.send(content)
    s.recv(100)
    took.append(time.monotonic_ns() - began)
took.sort()
print(took[rounds // 2] / 2e3, took[rounds * 99 // 100] / 2e3)
"""

SYSTEMS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "Cyclone DDS, reliable": ({"system": "cyclonedds", "hosts": 2}, {}),
    "Cyclone DDS, best effort": ({"system": "cyclonedds", "hosts": 2}, {"qos": "best-effort"}),
    "Zenoh, peers": ({"system": "zenoh", "hosts": 2}, {}),
    "Zenoh, router": ({"system": "zenoh", "mode": "router", "hosts": 1}, {}),
    "Mosquitto, QoS 0": ({"system": "mosquitto", "hosts": 1, "config": {"max_queued_messages": 0}}, {"qos": 0}),
    "Mosquitto, QoS 1": ({"system": "mosquitto", "hosts": 1, "config": {"max_queued_messages": 0}}, {"qos": 1}),
    "Kafka, acks 0": ({"system": "kafka", "hosts": 1}, {"producer": {"acks": 0, "linger.ms": 0}}),
    "Kafka, acks 1": ({"system": "kafka", "hosts": 1}, {"producer": {"acks": 1, "linger.ms": 0}}),
}
"""The cluster and the workload of each; the smallest that serves."""

Figures = dict[str, Any]


def floor() -> Iterator[tuple[str, Figures]]:
    """Yield what two hosts do without any system: half the round trip, us."""
    with hosts(2) as (here, there):
        out = here.run(["ping", "-n", "-U", "-q", "-A", "-c", "5000", "-s", "56", there.address], timeout_s=60).out
        yield "ICMP", {"p50_us": float(re.search(r"= [\d.]+/([\d.]+)/", out)[1]) * 500, "p99_us": None}  # type: ignore[index]
        for kind in ("tcp", "udp"):
            there.spawn(kind, ["/usr/bin/python3", "-c", _LOOP, kind, "-", "0"], {})
            loop = ["/usr/bin/python3", "-c", _LOOP, kind, there.address, str(_ROUNDS)]
            told = here.run(["sh", "-c", 'sleep 1; exec "$@"', "loop", *loop], timeout_s=60).out.split()
            there.signal(kind, "KILL")
            yield kind.upper(), {"p50_us": float(told[0]), "p99_us": float(told[1])}


class Quiet:
    """See `chaoskit.contract.event.Watcher`."""

    def on(self, event: object) -> None:
        """Say nothing."""


def run(site: Site, name: str, kind: str, seconds: int, **more: Any) -> Figures:
    """Run a system with a workload; return its verdict file."""
    cluster, load = SYSTEMS[name]
    workload = {"kind": kind, "duration": f"{seconds}s", **load, **more}
    scenario = {"name": f"{kind}-{re.sub(r'[^a-z0-9]+', '-', name.lower())}", "cluster": cluster, "workload": workload}
    folder, _ = site.run(read_plan(scenario, f"{name}, {kind}"), Quiet())
    return dict(read_json(folder / VERDICT))


def ping_pong(site: Site, name: str, seconds: int) -> Figures:
    """Return half the round trips of a system, us, and how many pings had no answer."""
    told = run(site, name, "ping-pong", seconds)
    send = told["latency"]["send_from_actual"]
    halves = {f"{each}_us": send[f"{each}_ms"] * 500 for each in ("p50", "p99")}
    return {**halves, "verdict": told["verdict"], "unanswered": told["counts"]["indeterminate"]}


def firehose(site: Site, name: str, seconds: int, size: str) -> Figures:
    """Return what a subscriber received, a second, and what it lacked."""
    told = run(site, name, "firehose", seconds, message_size=size)
    counts = told["counts"]
    received = counts["received"] / seconds
    lacking = {each: found["count"] for each, found in told["anomalies"].items() if each in ("lost", "missed")}
    figures = {"verdict": told["verdict"], "messages_per_s": received, "bytes_per_s": received * parse_size(size)}
    return {**figures, "sent": counts["sent"], "lacking": lacking}


def told_p99(figures: Figures) -> str:
    """Return the p99 in words; `ping` tells none."""
    return "" if figures["p99_us"] is None else f"{figures['p99_us']:.0f}"


def main() -> None:
    """Measure all; see the module's docstring."""
    seconds = int(sys.argv[1]) if len(sys.argv) > 1 else _SECONDS
    sizes = sys.argv[2:] or _SIZES
    print("\n| ping-pong | p50 us | p99 us | without an answer |\n|---|---|---|---|")
    for kind, figures in floor():
        print(f"| {kind} | {figures['p50_us']:.0f} | {told_p99(figures)} | |")
    with tempfile.TemporaryDirectory() as store, Site(Path(store)) as site:
        for name in SYSTEMS:
            told = ping_pong(site, name, seconds)
            print(f"| {name} | {told['p50_us']:.0f} | {told['p99_us']:.0f} | {told['unanswered']} |", flush=True)
        print("\n| firehose | payload | messages/s | MB/s | sent | not received | verdict |\n" + "|---" * 7 + "|")
        for name in SYSTEMS:
            for size in sizes:
                told = firehose(site, name, seconds, size)
                lacking = ", ".join(f"{count} {each}" for each, count in told["lacking"].items()) or "0"
                rates = f"{told['messages_per_s']:,.0f} | {told['bytes_per_s'] / 1e6:,.1f}"
                print(f"| {name} | {size} | {rates} | {told['sent']:,} | {lacking} | {told['verdict']} |", flush=True)


if __name__ == "__main__":
    main()
