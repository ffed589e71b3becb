"""A server that speaks a protocol like that of a log: frames with a length, requests with a header, answers in order.

Each answer has the request's correlation id, and the number of requests of its kind that the server has had.
"""

from __future__ import annotations

import select
import socket
import struct
from collections.abc import Sequence

from chaoskit.base.waiting import wait_until
from chaoskit.contract.hosts.host import ServiceHost
from chaoskit.contract.power import P, held
from chaoskit.contract.systems.wire import Wire
from clusters.kafka.wire import MESSAGES, REFUSABLE

PORT = 9092
SERVICE = "frames"

_SERVER = """
import collections, socket, socketserver, struct, sys
counts = collections.Counter()
class Handler(socketserver.BaseRequestHandler):
    def handle(self):
        self.request.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        stream = self.request.makefile("rb", 1 << 18)
        print("from", self.client_address[0], flush=True)
        while len(head := stream.read(4)) == 4:
            body = stream.read(struct.unpack(">i", head)[0])
            key, _, correlation = struct.unpack_from(">hhi", body)
            counts[key] += 1
            self.request.sendall(struct.pack(">iii", 8, correlation, counts[key]))
class Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = daemon_threads = True
    request_queue_size = 100
Server((sys.argv[1], int(sys.argv[2])), Handler).serve_forever()
"""


class FramesCluster:
    """The servers of a lab, one on each host: as much of a service as `nemeses.wire` needs."""

    wire = Wire({PORT: "clusters.kafka.wire:KafkaDecoder"}, MESSAGES, refusable=REFUSABLE)

    def __init__(self, hosts: Sequence[ServiceHost]) -> None:
        self.hosts = hosts

    def power(self, kind: type[P]) -> P:
        return held(kind, [self], "the servers")

    def start(self, host: ServiceHost) -> None:
        host.spawn(SERVICE, ["/usr/bin/python3", "-c", _SERVER, host.address, str(PORT)], {})
        assert wait_until(lambda: f":{PORT}" in host.run(["ss", "-Hltn"]).out, 30)


class Client:
    """A client of one server."""

    def __init__(self, host: ServiceHost, name: str = "c1") -> None:
        self._name = name.encode()
        self._socket = socket.create_connection((host.address, PORT), 10)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._stream = self._socket.makefile("rb")
        self._correlation = 0
        self.address = self._socket.getsockname()[0]

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self._stream.close()
        self._socket.close()

    def send(self, message: str, size: int = 100) -> int:
        """Send a request; return its correlation id."""
        self._correlation += 1
        head = struct.pack(">hhih", MESSAGES.index(message), 7, self._correlation, len(self._name)) + self._name
        self._socket.sendall(struct.pack(">i", len(head) + size) + head + bytes(size))
        return self._correlation

    def answer(self, timeout_s: float = 10) -> tuple[int, int] | None:
        """Return the correlation id and the count of the next answer; None if the connection was closed.

        Raises:
            OSError: it was reset, or nothing came in time.
        """
        self._socket.settimeout(timeout_s)
        head = self._stream.read(12)
        if len(head) < 12:
            return None
        _, correlation, count = struct.unpack(">iii", head)
        return correlation, count

    def has_answer(self) -> bool:
        """Return whether an answer has arrived."""
        return bool(select.select([self._socket], [], [], 0)[0])

    def ask(self, message: str) -> tuple[int, int] | None:
        """Send a request, and return its answer."""
        self.send(message)
        return self.answer()

    def count(self, message: str) -> int:
        """Return how many such requests the server has had, this one included."""
        answer = self.ask(message)
        assert answer is not None
        return answer[1]
