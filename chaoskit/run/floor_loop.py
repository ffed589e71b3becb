"""Round trips over a bare socket, run on a host of a lab by `chaoskit.run.floor`; standard library only.

Arguments: tcp or udp; `-` to answer, or the address to ask; number of round trips; size of a message, bytes. Prints
half the median and half the 99th percentile, us.
"""

from __future__ import annotations

import socket
import sys
import time

_PORT = 7006
_PATIENCE_S = 10.0


def main(kind: str, peer: str, rounds: int, size: int) -> None:
    """Answer, or ask."""
    udp = kind == "udp"
    if peer == "-":
        _answer(udp, size)
    else:
        _ask(_connected(udp, peer), rounds, size)


def _connected(udp: bool, peer: str) -> socket.socket:
    """Return a socket to somebody who answers, once there is one."""
    until = time.monotonic() + _PATIENCE_S
    while True:
        asking = _socket(udp)
        try:
            asking.connect((peer, _PORT))
            asking.settimeout(0.5)
            asking.send(b"?")
            asking.recv(1)
        except OSError:
            asking.close()
            if time.monotonic() > until:
                raise
            time.sleep(0.05)
        else:
            asking.settimeout(5)
            return asking


def _socket(udp: bool) -> socket.socket:
    made = socket.socket(socket.AF_INET, socket.SOCK_DGRAM if udp else socket.SOCK_STREAM)
    if not udp:
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return made


def _ask(asking: socket.socket, rounds: int, size: int) -> None:
    took, content = [], bytes(size)
    for _ in range(rounds):
        began = time.monotonic_ns()
        asking.sendall(content)
        left = size
        while left > 0:
            left -= len(asking.recv(left))
        took.append(time.monotonic_ns() - began)
    took.sort()
    sys.stdout.write(f"{took[rounds // 2] / 2e3} {took[rounds * 99 // 100] / 2e3}\n")


def _answer(udp: bool, size: int) -> None:
    answering = _socket(udp)
    answering.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    answering.bind(("", _PORT))
    if udp:
        while True:
            content, sender = answering.recvfrom(size)
            answering.sendto(content, sender)
    answering.listen()
    while True:
        with answering.accept()[0] as asked:
            asked.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            while content := asked.recv(size):
                asked.sendall(content)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
