"""One open SSH connection, which the commands of several threads share.

A command that fails leaves the connection, so that the next one opens another; the last one on it closes it. A command
that took too long may be the only one that is at fault: those of others go on.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import paramiko
from fabric import Connection


@dataclass(slots=True, eq=False)
class _Link:
    """A connection, and how many use it now."""

    connection: Connection
    users: int = 0


class SharedConnection:
    """Opens a connection when it is needed.

    Args:
        opened: returns a new open connection.
    """

    def __init__(self, opened: Callable[[], Connection]) -> None:
        self._opened = opened
        self._link: _Link | None = None
        self._closings = 0
        self._joining = threading.Lock()
        self._counting = threading.Lock()

    @contextmanager
    def transport(self) -> Iterator[paramiko.Transport]:
        """Give the transport of the connection; whoever raises leaves the connection.

        Raises:
            HostError: it cannot be opened.
            EOFError: it was closed meanwhile.
        """
        link = self._joined()
        try:
            yield _transport(link.connection)
        except BaseException:
            self._leave(link, broken=True)
            raise
        self._leave(link)

    def close(self) -> None:
        """Close the connection at once, whoever uses it; the next command opens a new one."""
        with self._counting:
            link, self._link = self._link, None
            self._closings += 1
        if link is not None:
            close(link.connection)

    def _joined(self) -> _Link:
        with self._joining:
            while True:
                with self._counting:
                    link, closings = self._link, self._closings
                    if link is not None and link.connection.is_connected:
                        link.users += 1
                        return link
                if link is not None and not link.users:
                    close(link.connection)  # the other end ended it
                connection = self._opened()
                with self._counting:
                    if self._closings == closings:
                        self._link = _Link(connection, users=1)
                        return self._link
                close(connection)  # to what was there before a power cut, for example

    def _leave(self, link: _Link, *, broken: bool = False) -> None:
        with self._counting:
            link.users -= 1
            if broken and self._link is link:
                self._link = None
            unused = not link.users and self._link is not link
        if unused:
            close(link.connection)


def close(connection: Connection) -> None:
    """Close a connection, also one that was refused, and the one that it goes through; fabric leaves both open."""
    connection.close()
    connection.client.close()
    if isinstance(connection.gateway, Connection):
        close(connection.gateway)


def cause(transport: paramiko.Transport) -> str:
    """Return why a connection ended; empty if that is not known."""
    error = transport.get_exception()
    return "" if error is None else f" by {error!r}"


def _transport(connection: Connection) -> paramiko.Transport:
    transport: paramiko.Transport | None = connection.transport
    if transport is None:
        raise EOFError("the connection was closed")
    if isinstance(transport.sock, socket.socket):
        # Otherwise every command waits 40 ms for a delayed acknowledgement.
        transport.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return transport
