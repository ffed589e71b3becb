"""Seats of a run's clients: hosts of the lab on which they run, and on which they begin again after a boot."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from itertools import cycle
from typing import Protocol

from chaoskit.base.errors import ChaoskitError
from chaoskit.contract.hosts.host import ServiceHost

_LOOK_S = 0.1
_ANSWER_S = 0.2


class Seated(Protocol):
    """A client with a seat.

    Attributes:
        seat: the host on which it runs; None: this machine.
    """

    seat: ServiceHost | None

    def died_with_host(self) -> bool:
        """Return whether its current incarnation ended because its host lost power; from then on that is no failure."""
        ...

    def start_next(self) -> None:
        """Start the next incarnation."""
        ...


class Seats:
    """The seats, which take producers and consumers in turn; empty if the harness runs them.

    Args:
        hosts: the hosts.
    """

    def __init__(self, hosts: Sequence[ServiceHost]) -> None:
        self._away: dict[Seated, str] = {}
        self._turn = cycle(hosts) if hosts else None
        self._closing = threading.Event()
        self._thread: threading.Thread | None = None

    @property
    def problems(self) -> list[str]:
        """Why clients have not come back that could not be started again, as sentences."""
        return list(self._away.values())

    def next(self) -> ServiceHost | None:
        """Return the seat of a new client; None: this machine."""
        return None if self._turn is None else next(self._turn)

    def attend(self, clients: Sequence[Seated]) -> None:
        """From now on, start clients again whose host was booted, as a supervisor on it would."""
        if self._turn is not None:
            self._thread = threading.Thread(target=self._attend, args=(clients,), name="seats", daemon=True)
            self._thread.start()

    def close(self) -> None:
        """Start no more clients."""
        self._closing.set()
        if self._thread is not None:
            self._thread.join()

    def _attend(self, clients: Sequence[Seated]) -> None:
        while not self._closing.wait(_LOOK_S):
            for client in clients:
                if client.seat is not None and client.died_with_host() and client.seat.reachable(_ANSWER_S):
                    self._start_next(client)

    def _start_next(self, client: Seated) -> None:
        try:
            client.start_next()
        except ChaoskitError as error:
            self._away[client] = str(error)
        else:
            self._away.pop(client, None)
