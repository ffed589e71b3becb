"""The smallest real system: a TCP server on each host that answers each line with the clock's time.

It appends every line to a file on the data disk and fsyncs it, so faults of processes, networks, disks and
clocks all show in its answers.
"""

from __future__ import annotations

import socket
from collections.abc import Sequence

from trial import BUSY_S

from chaoskit.contract.hosts.host import ServiceHost, ServiceState
from chaoskit.contract.power import P, held
from chaoskit.model.place import Place

PORT = 7000
SERVICE = "echo"

_SERVER = """
import os, socketserver, sys, time
log = open(sys.argv[1] + "/echo.log", "ab", buffering=0)
class Handler(socketserver.StreamRequestHandler):
    def handle(self):
        for line in self.rfile:
            try:
                log.write(line)
                os.fsync(log.fileno())
                self.wfile.write(f"{time.time_ns()} {line.decode()}".encode())
            except OSError as error:
                self.wfile.write(f"{error.strerror}\\n".encode())
class Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = daemon_threads = True
    address_family = socketserver.socket.AF_INET6
Server(("::", int(sys.argv[2])), Handler).serve_forever()
"""


class EchoCluster:
    """The echo servers of a lab: as much of a `chaoskit.contract.systems.service.Service` as faults need."""

    def __init__(self, hosts: Sequence[ServiceHost]) -> None:
        self.hosts = hosts
        for host in hosts:
            self.start(host)

    def power(self, kind: type[P]) -> P:
        return held(kind, [self], "the echo servers")

    def start(self, host: ServiceHost) -> None:
        if host.state(SERVICE) is ServiceState.GONE:
            host.spawn(SERVICE, self.program(host), {})

    def program(self, host: ServiceHost) -> list[str]:
        """Return the command of the server."""
        return ["/usr/bin/python3", "-c", _SERVER, host.data_dir, str(PORT)]

    def services(self, host: ServiceHost) -> tuple[str, ...]:
        return (SERVICE,)

    def answers(self, host: ServiceHost, timeout_s: float = 0.5) -> bool:
        try:
            return self.ask(host, timeout_s)[0].isdigit()
        except OSError:
            return False

    def serves(self, host: ServiceHost) -> bool:
        """Return whether a host answers, however busy machine and disk are with something else."""
        return self.answers(host, BUSY_S)

    def ask(self, host: ServiceHost, timeout_s: float = 0.5) -> str:
        """Return the answer to one line.

        Raises:
            OSError: there is none in time.
        """
        with socket.create_connection((host.address, PORT), timeout_s) as connection:
            connection.settimeout(timeout_s)
            connection.sendall(b"ping\n")
            answer = connection.makefile("rb").readline().decode().strip()
        if not answer:
            raise OSError("the connection was closed")
        return answer

    def wait_ready(self, timeout_s: float) -> None:
        """Nothing to wait for: the servers know nothing of each other."""

    def find(self, role: str, place: Place | None) -> tuple[str, ...]:
        return {"leader": (self.hosts[0].name,), "followers": tuple(host.name for host in self.hosts[1:])}[role]
