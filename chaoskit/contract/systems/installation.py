"""An installation: the processes of a system on hosts. A system between its clients has none."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol, runtime_checkable

from chaoskit.contract.hosts.host import ServiceHost


class Revival(NamedTuple):
    """A service that exited or hung by itself, and was started again.

    Attributes:
        at_ns: when it exited, or answered for the last time, CLOCK_MONOTONIC.
        host: name of its host.
        service: its name.
        needs: names of the other hosts that it cannot run without, such as those of its metadata service.
        why: what was seen, with the last errors in its log.
    """

    at_ns: int
    host: str
    service: str
    needs: tuple[str, ...]
    why: str


@runtime_checkable
class Installation(Protocol):
    """Optional power of a service: its processes run on hosts, where they are started; signals are sent by the host.

    Attributes:
        hosts: the hosts that the system runs on.
    """

    @property
    def hosts(self) -> Sequence[ServiceHost]: ...

    def answers(self, host: ServiceHost, timeout_s: float = 0.5) -> bool:
        """Return whether the system on this host answers a request in its own protocol."""
        ...

    def start(self, host: ServiceHost) -> None:
        """Start the system's services on a host; does nothing if they are running.

        A deployment calls it for all hosts at once, each in its own thread, so it may wait for other hosts.
        """
        ...

    def services(self, host: ServiceHost) -> tuple[str, ...]:
        """Return the names of the services that belong on a host."""
        ...


@dataclass(frozen=True, slots=True)
class Installed:
    """An `Installation` made of parts; each field is what the protocol says."""

    hosts: Sequence[ServiceHost]
    answers: Callable[..., bool]
    start: Callable[[ServiceHost], None]
    services: Callable[[ServiceHost], tuple[str, ...]]


@runtime_checkable
class Supervision(Protocol):
    """Optional power: start services again that exited or hung by themselves, as a supervisor does."""

    def revivals(self) -> Sequence[Revival]:
        """Return all services that were started again, in order of time."""
        ...
