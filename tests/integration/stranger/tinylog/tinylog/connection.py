"""A connection to the server, of a client or of an operator."""

from __future__ import annotations

import json
import socket
from contextlib import suppress
from typing import Any

from chaoskit.model.outcome import FAIL, INFO, OperationFailed

PORT = 7200
_CONNECT_S = 0.5
_ANSWER_S = 2.0


class Connection:
    """Connects with the first request, and anew after an error."""

    def __init__(self, address: str, timeout_s: float = _ANSWER_S) -> None:
        self._address = address
        self._timeout_s = timeout_s
        self._stream: Any = None

    def ask(self, *request: object) -> Any:
        """Return the answer to a request.

        Raises:
            OperationFailed: `FAIL` if the server did not get it, or refused; otherwise nobody knows what became of it.
        """
        if self._stream is None:
            self._connect()
        try:
            self._stream.write(json.dumps(request).encode() + b"\n")
            self._stream.flush()
            value, error = json.loads(self._stream.readline())
        except (OSError, ValueError) as failure:
            self.close()
            raise OperationFailed(INFO, type(failure).__name__) from failure
        if error is not None:
            raise OperationFailed(FAIL, error)
        return value

    def close(self) -> None:
        """Disconnect."""
        stream, self._stream = self._stream, None
        if stream is not None:
            with suppress(OSError):  # it still holds what the server did not take
                stream.close()

    def _connect(self) -> None:
        try:
            connection = socket.create_connection((self._address, PORT), min(_CONNECT_S, self._timeout_s))
        except OSError as failure:
            raise OperationFailed(FAIL, type(failure).__name__) from failure
        connection.settimeout(self._timeout_s)
        self._stream = connection.makefile("rwb")
        connection.close()  # the stream keeps it open
