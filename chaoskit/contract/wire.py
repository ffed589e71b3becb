"""The wire: what a tap between a system and its clients must know of their protocol.

A decoder finds the messages in the bytes of one connection. It is a class in a module that imports nothing but the
standard library and this module: a tap loads both on a host, where chaoskit is not installed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, runtime_checkable


class Header(NamedTuple):
    """What is known of one message.

    Attributes:
        message: its name in the protocol, such as `Fetch`; of a response, the name of its request, unless responses
            have names of their own (`Wire.answers`).
        correlation: what the protocol uses to match a response with its request.
        client: the name that the client gives itself; empty if it gives none.
        version: the version of the message's format.
    """

    message: str
    correlation: int
    client: str = ""
    version: int = 0


class Decoder(Protocol):
    """Finds the messages in the bytes of one connection, request by request and response by response.

    Attributes:
        head: so many bytes of a message are enough for each of its methods.
    """

    head: int

    def length(self, begin: bytes) -> int | None:
        """Return the length in bytes of the message that begins with these bytes; None if they are too few to tell.

        It is asked about each message of both directions, in order, and perhaps again with more bytes; so what must be
        known of a connection later is remembered here. Messages that belong together, so that none of them may be
        missing, are one.

        Raises:
            ValueError: they are not the begin of a message.
        """
        ...

    def request(self, head: bytes) -> Header | None:
        """Return the header of a request; None if it is unknown."""
        ...

    def response(self, head: bytes) -> Header | None:
        """Return the header of a response; None if its request is unknown. Each is asked for once."""
        ...


@runtime_checkable
class Refusing(Protocol):
    """Optional power of a decoder: put errors into responses."""

    def refused(self, header: Header, response: bytes, error: str) -> bytes:
        """Return a whole response with an error in it, which is one of `Wire.errors`.

        Raises:
            ValueError: the response is not as expected.
        """
        ...


@dataclass(frozen=True, slots=True)
class Wire:
    """The protocol of a system.

    Attributes:
        decoder: the class of its `Decoder`, as `module:class`.
        ports: the TCP ports on which its hosts are called in this protocol.
        messages: the names of all that is sent to the system.
        answers: the names of all that the system sends; empty: each has the name of its request.
        named: whether clients give themselves names.
        errors: the names of the errors that a response may have.
        refusable: the names of the responses that may be made errors; its decoder is then `Refusing`.
    """

    decoder: str
    ports: Sequence[int]
    messages: Sequence[str]
    answers: Sequence[str] = ()
    named: bool = True
    errors: Sequence[str] = ()
    refusable: Sequence[str] = ()


@runtime_checkable
class Decoding(Protocol):
    """Optional power of a system: say how its messages are found on the wire."""

    def wire(self, options: Any) -> Wire:
        """Return the protocol with these options.

        Raises:
            BadInput: it cannot be read, such as because it is encrypted.
        """
        ...


@runtime_checkable
class Tapped(Protocol):
    """Optional power: let the connections with its hosts pass through taps.

    Attributes:
        wire: its protocol.
    """

    wire: Wire
