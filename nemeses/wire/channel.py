"""One connection through a tap: a client's socket, the system's socket, and a flow each way.

A stand-alone module: a tap loads it on a host.
"""

from __future__ import annotations

import select
import socket
import struct
from collections.abc import Callable
from contextlib import suppress
from itertools import islice

from nemeses.wire.flow import Flow, Gate

_READ_BYTES = 1 << 18
_QUEUED_BYTES_MAX = 1 << 20
"""Bytes that wait to be sent on; then no more are read, so that the sender sees a slow receiver."""

_BUFFERS = 64
_AT_ONCE = struct.pack("ii", 1, 0)
"""SO_LINGER with which a close is a reset."""


class Channel:
    """One connection.

    Args:
        poll: where its sockets are registered.
        ends: connected with the client, and being connected with the system.
        flows: what the client sends, and what the system sends.
        finishing: called when it ends in order, and must have ended within a while.

    Attributes:
        numbers: the file descriptors of both sockets.
        closed: whether both sockets are closed.
    """

    def __init__(
        self,
        poll: select.epoll,
        ends: tuple[socket.socket, socket.socket],
        flows: tuple[Flow, Flow],
        *,
        finishing: Callable[[Channel], None],
    ) -> None:
        self.client, self.server = ends
        self.numbers = tuple(end.fileno() for end in ends)
        self.request, self.response = flows
        self.closed = False
        self._poll = poll
        self._finishing = finishing
        self._finished = False
        self._connected = False
        self._gone: set[socket.socket] = set()
        self._ended: set[socket.socket] = set()
        self._shut: set[socket.socket] = set()
        self._blocked: set[socket.socket] = set()
        self._masks: dict[socket.socket, int | None] = {self.client: 0, self.server: select.EPOLLOUT}
        for end, mask in self._masks.items():
            end.setblocking(False)
            end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            poll.register(end, mask or 0)

    @property
    def messages(self) -> int:
        """The number of messages that passed so far."""
        return self.request.messages + self.response.messages

    @property
    def opaque(self) -> bool:
        """Whether its bytes are no messages of the protocol, in one direction at least."""
        return self.request.opaque or self.response.opaque

    def ready(self, number: int, events: int) -> None:
        """Read from a socket, and send what is due to it."""
        which = self.client if number == self.numbers[0] else self.server
        if not self._connected and not self._connect(which):
            return
        if events & select.EPOLLOUT:
            self._send(which)
        if not self.closed and events & ~select.EPOLLOUT:
            if (self._masks[which] or 0) & select.EPOLLIN:
                self._read(which)
            elif events & select.EPOLLERR:
                self._lose(which)
            else:
                self._unregister(which)  # both directions have ended, and this would be told for ever
        self._await()

    def send(self, flow: Flow) -> None:
        """Send what became due in a flow."""
        self._send(self._sink(flow))
        self._await()

    def reset(self) -> None:
        """End the connection at once: both ends are reset."""
        for end in (self.client, self.server):
            end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _AT_ONCE)
        self.close()

    def close(self) -> None:
        """Close both sockets."""
        if not self.closed:
            self.closed = True
            self.request.spare()
            self.response.spare()
            for end in (self.client, self.server):
                end.close()  # and the poll forgets it

    def _connect(self, which: socket.socket) -> bool:
        """Return whether the system accepted the connection; reset the client's if not, or if the client has left."""
        if which is self.client or self.server.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR):
            self.reset()
            return False
        self._connected = True
        return True

    def _read(self, source: socket.socket) -> None:
        flow = self.request if source is self.client else self.response
        try:
            data = source.recv(_READ_BYTES)
        except BlockingIOError:
            return
        except OSError:
            self._lose(source)
            return
        if data:
            flow.feed(data)
        else:
            self._ended.add(source)
            flow.end()
        if flow.ends == "reset":
            self.reset()
        else:
            self._send(self._sink(flow))

    def _send(self, sink: socket.socket) -> None:
        """Send what is due to a socket; end the connection behind it, if it is to end."""
        flow = self.response if sink is self.client else self.request
        source = self._source(flow)
        self._blocked.discard(sink)
        if sink in self._gone:
            flow.clear()
        while batch := _due(flow):
            try:
                sent = sink.sendmsg(batch)
            except BlockingIOError:
                sent = 0
            except OSError:
                self._lose(sink)
                return
            _remove(flow, sent)
            if sent < sum(map(len, batch)):
                self._blocked.add(sink)
                return
        if flow.out:
            return  # a gate is closed
        if flow.ends or source in self._gone:
            self._finish()
        elif source in self._ended and sink not in self._shut:
            self._shut.add(sink)
            _end(sink)
        if len(self._ended) == len(self._masks) and not self.request.out and not self.response.out:
            self.close()

    def _lose(self, which: socket.socket) -> None:
        """Take note that a peer is gone: what it had sent is still passed, and the other end is told behind it."""
        client = which is self.client
        flow, other = (self.request, self.response) if client else (self.response, self.request)
        if which in self._gone or not flow.out:
            self.reset()
            return
        self._gone.add(which)
        self._ended.add(which)
        self._blocked.discard(which)
        self._unregister(which)
        other.clear()

    def _finish(self) -> None:
        """End the connection in order: nothing more is passed, and both ends are told."""
        if self._finished:
            return
        self._finished = True
        for flow in (self.request, self.response):
            flow.ends = "orderly"
            flow.clear()
        for end in (self.client, self.server):
            _end(end)
        self._finishing(self)

    def _await(self) -> None:
        """Wait for what can be done next."""
        if self.closed:
            return
        for end, mask in self._masks.items():
            flow = self.request if end is self.client else self.response
            reads = end not in self._ended and flow.queued < _QUEUED_BYTES_MAX
            wanted = select.EPOLLIN * reads | select.EPOLLOUT * (end in self._blocked)
            if mask is None and wanted:
                self._poll.register(end, wanted)
            elif mask is not None and wanted != mask:
                self._poll.modify(end, wanted)
            if mask is not None or wanted:
                self._masks[end] = wanted

    def _unregister(self, which: socket.socket) -> None:
        if self._masks[which] is not None:
            self._poll.unregister(which)
            self._masks[which] = None

    def _sink(self, flow: Flow) -> socket.socket:
        return self.server if flow is self.request else self.client

    def _source(self, flow: Flow) -> socket.socket:
        return self.client if flow is self.request else self.server


def _end(which: socket.socket) -> None:
    """Tell a peer that nothing more comes."""
    with suppress(OSError):  # it has left
        which.shutdown(socket.SHUT_WR)


def _due(flow: Flow) -> list[bytes]:
    """Return the first bytes of a flow that no gate holds back."""
    while flow.out and isinstance(flow.out[0], Gate) and flow.out[0].open:
        flow.out.popleft()
    batch: list[bytes] = []
    for piece in islice(flow.out, _BUFFERS):
        if isinstance(piece, Gate):
            break
        batch.append(piece)
    return batch


def _remove(flow: Flow, sent: int) -> None:
    """Remove bytes that were sent from the begin of a flow."""
    flow.queued -= sent
    while sent:
        first = flow.out.popleft()
        assert isinstance(first, bytes)
        if len(first) > sent:
            flow.out.appendleft(first[sent:])
        sent -= min(sent, len(first))
