"""What passes between an application of the user's and the queues of a system, as its connections show it."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Literal, NamedTuple, Protocol, runtime_checkable

from chaoskit.contract.clients.application import ReadRecord

Act = Literal["given", "auto-ack", "ack", "nack", "reject", "published", "confirmed"]
"""`given`: a message was delivered to an instance. `auto-ack`: it was settled by that, as its consumer asked. `ack`,
`nack`, `reject`: the instance settled it; a `nack` asks for it once more, a `reject` does not. `published`: the
instance sent a message. `confirmed`: the system confirmed it to the instance."""


class Passed(NamedTuple):
    """A message, or what was said of one, passed a connection of the application's.

    Attributes:
        act: what it was.
        member: the instance, by the address of its host.
        record: the message; `topic` is its queue by the name in the system, or empty if that is not known.
        earlier: how often it had been delivered before, as marked; None unless it was `given`.
        at_ns: when, CLOCK_MONOTONIC.
        arrived: of what settles: whether it surely reached the host that it was sent to.
    """

    act: Act
    member: str
    record: ReadRecord
    earlier: int | None
    at_ns: int
    arrived: bool = True


class TrafficObserver(Protocol):
    """Observes the connections of an application's instances with the system.

    Attributes:
        gap: what was not seen, as a sentence; empty as long as everything was.
    """

    @property
    def gap(self) -> str: ...

    def poll(self, timeout_s: float) -> list[Passed]:
        """Return what passed since the last call, in order of time; wait for the first of it."""
        ...

    def consumers(self, queue: str) -> Collection[str]:
        """Return the instances that now consume from a queue, by the addresses of their hosts."""
        ...

    def held(self, queue: str) -> int:
        """Return how many messages of a queue are with instances now, and not settled."""
        ...

    def end(self) -> list[Passed]:
        """Return the settlements of which it is still open whether they arrived; called once, at the end."""
        ...

    def close(self) -> None:
        """Stop observing."""
        ...


@runtime_checkable
class QueueApplicationClients(Protocol):
    """Optional power of a system's clients: watch an application of queues."""

    def traffic(self, hosts: Sequence[str]) -> TrafficObserver:
        """Observe the connections of hosts of the lab, by their addresses, from now on.

        Raises:
            ServiceError: they cannot be observed from here.
        """
        ...
