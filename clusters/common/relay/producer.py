"""A producer of a system's own (Java) client. A message is acknowledged when that client says so, not when its worker
hears of it."""

from __future__ import annotations

import select
import struct
import time
from collections.abc import Collection

from chaoskit.contract.clients.client import Completed
from chaoskit.model.outcome import DUPLICATE, FAIL, INFO, OK
from clusters.common.relay import frames
from clusters.common.relay.process import Jvm

_REFUSED = "refused "
_SEND = struct.Struct(">cqhii")
_DONE = struct.Struct(">qqqh")
_CHUNK = 1 << 16
_GRACE_S = 10


class JavaProducer:
    """See `chaoskit.contract.clients.client.Producer`.

    Args:
        jvm: the JVM of the client.
        never_sent: errors that prove that a message was not written; any other leaves that unknown.
        tells_positions: whether positions are true, as they are not without acknowledgements.
        completed: is told each completion.
    """

    def __init__(
        self,
        jvm: Jvm,
        never_sent: Collection[str],
        completed: Completed,
        *,
        tells_positions: bool = True,
    ) -> None:
        self._jvm = jvm
        self._never_sent = never_sent
        self._completed = completed
        self._tells_positions = tells_positions
        self._topics: dict[str, int] = {}
        self._pending: set[int] = set()
        self._unsent = bytearray()
        self._unread = bytearray()
        self._ended = False

    def send(self, topic: str, partition: int, key: bytes | None, payload: bytes, token: int) -> bool:
        number = self._topics.get(topic)
        if number is None:
            number = self._topics[topic] = len(self._topics)
            self._unsent += b"t" + frames.text(topic)
        self._unsent += _SEND.pack(b"s", token, number, partition, -1 if key is None else len(key))
        self._unsent += key or b""
        self._unsent += len(payload).to_bytes(4, "big")
        self._unsent += payload
        self._pending.add(token)
        return True

    def pending(self) -> int:
        return len(self._pending)

    def poll(self, timeout_s: float) -> None:
        self._write()
        self._read(timeout_s)

    def close(self, timeout_s: float) -> None:
        self._unsent += b"x" + round(timeout_s * 1000).to_bytes(4, "big")
        self._write()
        deadline = time.monotonic() + timeout_s + _GRACE_S
        while not self._ended and (left_s := deadline - time.monotonic()) > 0:
            self._read(left_s)
        self._end("never completed")
        self._jvm.close()

    def _write(self) -> None:
        """Pass on what was sent; completions are read meanwhile by nobody, and the JVM does not wait for it."""
        unsent, self._unsent = memoryview(self._unsent), bytearray()
        try:
            while unsent:
                unsent = unsent[self._jvm.requests.write(unsent) :]
        except BrokenPipeError:
            self._end("the JVM ended")

    def _read(self, timeout_s: float) -> None:
        """Wait for completions, and report those that there are."""
        if self._ended:
            time.sleep(timeout_s)
        elif select.select([self._jvm.answers], [], [], timeout_s)[0]:
            if more := self._jvm.answers.read(_CHUNK):
                self._unread += more
                self._report()
            else:
                self._end("the JVM ended")

    def _report(self) -> None:
        unread, at = self._unread, 0
        while at + _DONE.size <= len(unread):
            token, position, at_ns, size = _DONE.unpack_from(unread, at)
            end = at + _DONE.size + size
            if end > len(unread):
                break
            self._done(token, position, at_ns, unread[at + _DONE.size : end].decode())
            at = end
        del unread[:at]

    def _done(self, token: int, position: int, at_ns: int, error: str) -> None:
        self._pending.discard(token)
        if error.startswith(_REFUSED):
            self._completed(token, FAIL, error.removeprefix(_REFUSED), None, at_ns)
        elif error:
            self._completed(token, FAIL if error in self._never_sent else INFO, error, None, at_ns)
        elif self._tells_positions and position < 0:  # a duplicate that the broker dropped
            self._completed(token, OK, DUPLICATE, None, at_ns)
        else:
            self._completed(token, OK, None, position if self._tells_positions else None, at_ns)

    def _end(self, why: str) -> None:
        """Nothing more will be told: what is open stays unknown."""
        self._ended = True
        for token in self._pending:
            self._completed(token, INFO, why, None)
        self._pending.clear()


class JavaPublisher(JavaProducer):
    """See `chaoskit.contract.clients.queue.Publisher`; there are no priorities."""

    def publish(self, topic: str, payload: bytes, token: int, priority: int | None) -> bool:
        return self.send(topic, 0, None, payload, token)
