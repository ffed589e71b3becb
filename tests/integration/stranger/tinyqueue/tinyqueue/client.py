"""The clients: a power of their own, which only the workload beside them asks for."""

from __future__ import annotations

import base64
import json
import socket
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Protocol, runtime_checkable

from chaoskit.contract.power import P, held
from chaoskit.model.outcome import INFO, OperationFailed

PORT = 7100


class Connection:
    """One connection, of a client or of an operator; it connects anew after an error."""

    def __init__(self, address: str, timeout_s: float = 2.0) -> None:
        self._address = address
        self._timeout_s = timeout_s
        self._stream: Any = None

    def ask(self, *request: object) -> Any:
        """Return the answer to a request.

        Raises:
            OperationFailed: there is none, so that nobody knows what became of it.
        """
        try:
            if self._stream is None:
                connection = socket.create_connection((self._address, PORT), self._timeout_s)
                self._stream = connection.makefile("rwb")
                connection.close()  # the stream keeps it open
            self._stream.write(json.dumps(request).encode() + b"\n")
            self._stream.flush()
            return json.loads(self._stream.readline())
        except (OSError, ValueError) as error:
            self.close()
            raise OperationFailed(INFO, type(error).__name__) from error

    def put(self, queue: str, payload: bytes) -> None:
        """Store a message; raises as `ask`."""
        self.ask("put", queue, base64.b64encode(payload).decode())

    def get(self, queue: str) -> tuple[int, bytes] | None:
        """Return a message and the tag to settle it by; None: there is none. Raises as `ask`."""
        answer = self.ask("get", queue)
        return None if answer is None else (answer[0], base64.b64decode(answer[1]))

    def close(self) -> None:
        """Disconnect."""
        stream, self._stream = self._stream, None
        if stream is not None:
            with suppress(OSError):  # it still holds what the server did not take
                stream.close()


@runtime_checkable
class QueueClients(Protocol):
    """Optional power of a system's clients: queues."""

    def connect(self) -> Connection:
        """Return a new connection."""
        ...


class Clients:
    """See `chaoskit.contract.systems.system.System.clients`."""

    def __init__(self, settings: Mapping[str, Any]) -> None:
        self._address = settings["address"]

    def power(self, kind: type[P]) -> P:
        return held(kind, [self], "tinyqueue's clients")

    def connect(self) -> Connection:
        return Connection(self._address)
