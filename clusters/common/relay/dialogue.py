"""Requests to the JVM of a client, and its answers."""

from __future__ import annotations

import struct

from chaoskit.contract.systems.service import ServiceError
from clusters.common.relay.frames import RelayAnswer
from clusters.common.relay.process import Jvm

ANSWER = b"k"
"""The kind of a frame that answers a request; others tell what happens meanwhile."""

_FRAME = struct.Struct(">ci")


class Dialogue:
    """A dialogue with a JVM: one request after the other.

    Args:
        jvm: the JVM.
    """

    def __init__(self, jvm: Jvm) -> None:
        self._jvm = jvm

    def say(self, request: bytes) -> None:
        """Make a request, or go on."""
        self._jvm.requests.write(request)

    def hear(self) -> tuple[bytes, RelayAnswer]:
        """Return the kind and the content of the next frame.

        Raises:
            ServiceError: the JVM ended.
        """
        kind, size = _FRAME.unpack(self._exactly(_FRAME.size))
        return kind, RelayAnswer(self._exactly(size))

    def close(self) -> None:
        """End the JVM, whatever it does."""
        self._jvm.close()

    def _exactly(self, size: int) -> bytes:
        content = b""
        while len(content) < size:
            more = self._jvm.answers.read(size - len(content))
            if not more:
                raise ServiceError("the Java client ended; see the client's log")
            content += more
        return content
