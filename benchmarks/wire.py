"""What a tap costs: round trips and messages per second of one connection, without a tap and through one.

A local host with a server that sends back what it gets. Once with a tap that has no rule, and once with a rule that
never matches, so that all headers are read. Prints a Markdown table.

    sudo .venv/bin/python -m benchmarks.wire [SECONDS]
"""

from __future__ import annotations

import socket
import statistics
import struct
import sys
import threading
import time

from benchmarks.lab import hosts
from chaoskit.contract.hosts.host import ServiceHost
from chaoskit.contract.hosts.shell import bash
from chaoskit.contract.systems.wire import Wire
from clusters.kafka.settings import BROKER_PORT, WIRE
from nemeses.wire import placing

_PORT = 7006
_ECHO = """
import socket, threading
s = socket.socket(); s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1); s.bind(("", 7006)); s.listen()
def serve(c):
    c.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    while data := c.recv(1 << 18): c.sendall(data)
while True: threading.Thread(target=serve, args=(s.accept()[0],), daemon=True).start()
"""
_FRAME = struct.pack(">ihhih", 110, 0, 7, 7, 7) + b"rdkafka" + bytes(93)
"""A request that is its own answer: the first four bytes after the length are the correlation id of an answer."""

_IN_FLIGHT = 500
_NEVER = {"message": "Vote", "of": "request", "then": "drop"}


def _connected(host: ServiceHost) -> socket.socket:
    made = socket.create_connection((host.address, _PORT), 10)
    made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return made


def _read(source: socket.socket, size: int) -> None:
    while size:
        size -= len(source.recv(min(size, 1 << 18)))


def round_trips(host: ServiceHost, seconds: float) -> list[float]:
    """Return the round trips of one message after the other, in ms, in order of time."""
    took = []
    with _connected(host) as client:
        end = time.monotonic() + seconds
        while (began := time.monotonic()) < end:
            client.sendall(_FRAME)
            _read(client, len(_FRAME))
            took.append((time.monotonic() - began) * 1e3)
    return took


def rate(host: ServiceHost, seconds: float) -> float:
    """Return how many messages a second come back while many are on their way."""
    with _connected(host) as client:
        room = threading.Semaphore(20)
        over = threading.Event()
        block = _FRAME * _IN_FLIGHT
        count = 0

        def send() -> None:
            while not over.is_set():
                room.acquire()
                client.sendall(block)

        sender = threading.Thread(target=send)
        sender.start()
        began = time.monotonic()
        while time.monotonic() - began < seconds:
            _read(client, len(block))
            count += _IN_FLIGHT
            room.release()
        took_s = time.monotonic() - began
        over.set()
        room.release()
        sender.join()
    return count / took_s


def _processor_us(host: ServiceHost) -> int:
    """Return the processor time that the tap has had; 0 without one."""
    fields = host.run(["sh", "-c", "cat /proc/$(cat /run/chaoskit/wire/tap.pid)/stat"], check=False).out.split()
    return sum(map(int, fields[13:15])) * 10_000 if fields else 0


def _messages(host: ServiceHost) -> int:
    report = placing.call(host, {})
    return int(report["messages"]) if report else 0


def _row(name: str, host: ServiceHost, seconds: float) -> str:
    took = round_trips(host, seconds)
    p50, p99 = statistics.median(took), statistics.quantiles(took, n=100)[98]
    before = _processor_us(host), _messages(host)
    per_second = rate(host, seconds)
    spent_us, passed = _processor_us(host) - before[0], _messages(host) - before[1]
    cost = f"{spent_us / passed:.2f}" if passed else ""
    return f"| {name} | {p50:.3f} | {p99:.3f} | {per_second:,.0f} | {cost} |"


def main(seconds: float) -> None:
    """Measure, and print the table."""
    wire = Wire({_PORT: WIRE.decoders[BROKER_PORT]}, WIRE.messages)
    with hosts(1) as (host,):
        host.spawn("echo", ["/usr/bin/python3", "-c", _ECHO], {})
        time.sleep(1)
        print("| | round trip p50 ms | p99 ms | messages/s | tap: µs of processor a message |\n|---|---|---|---|---|")
        print(_row("no tap", host, seconds))
        placing.place(host, wire)
        print(_row("tap", host, seconds))
        bash(host, placing.scripts("never", _NEVER)[0])
        print(_row("tap with a rule", host, seconds))


if __name__ == "__main__":
    main(float(sys.argv[1]) if len(sys.argv) > 1 else 5)
