"""What operators do to a running system: optional powers of a service."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

from chaoskit.contract.hosts.host import ServiceHost


@runtime_checkable
class Tooled(Protocol):
    """Optional power of a system: what its operators use is downloaded apart from it."""

    def prepare_tools(self, options: Any) -> None:
        """Download it, so that no fault does so under load; `options` are the system's validated options.

        Raises:
            BadInput: it cannot be obtained.
        """
        ...


@runtime_checkable
class Leadership(Protocol):
    """Optional power: transfer leadership of partitions to other replicas."""

    def led_by(self, host: ServiceHost) -> tuple[str, ...]:
        """Return the partitions, as `topic/number`, that a host currently leads."""
        ...

    def give_up_leadership(self, host: ServiceHost) -> None:
        """Transfer leadership of all partitions that a host leads to other in-sync replicas.

        Raises:
            ServiceError: a partition has no other in-sync replica, or the system rejected the request.
        """
        ...


@runtime_checkable
class Reassignment(Protocol):
    """Optional power: reassign replicas to other brokers."""

    def replicas_on(self, host: ServiceHost) -> tuple[str, ...]:
        """Return the partitions, as `topic/number`, of which a host stores a replica."""
        ...

    def drain(self, host: ServiceHost) -> None:
        """Move all replicas off a host and wait until they are in sync elsewhere.

        Raises:
            ServiceError: there are too few other brokers, or it took longer than one minute.
        """
        ...

    def refill(self, host: ServiceHost) -> None:
        """Move the replicas back that `drain` moved away, if any. Raises the same errors as `drain`."""
        ...


@runtime_checkable
class Decommissioning(Protocol):
    """Optional power: permanently decommission a storage node."""

    def kept_by(self, host: ServiceHost) -> tuple[str, ...]:
        """Return the names of the logs of the workload's topics that are partly stored on a host."""
        ...

    def decommission(self, host: ServiceHost) -> None:
        """Stop the storage service of a host; wait until other hosts store the declared number of copies and the
        cluster no longer lists the host.

        Raises:
            ServiceError: it was not done within 2.5 minutes.
        """
        ...

    def recommission(self, host: ServiceHost) -> None:
        """Prepare a decommissioned host to be started as a new, empty one."""
        ...


@runtime_checkable
class Upgrade(Protocol):
    """Optional power: upgrade to another release, host by host."""

    def release_of(self, host: ServiceHost) -> str:
        """Return the number of the release that a host runs."""
        ...

    def install_release(self, host: ServiceHost, version: str) -> None:
        """Install another release on a host; it runs from the next start on."""
        ...

    def finish_upgrade(self, version: str) -> str:
        """Enable the features of the new release, once all hosts run it; return evidence."""
        ...


@runtime_checkable
class Migration(Protocol):
    """Optional power: move the cluster's metadata to another service, in rounds of restarts.

    Attributes:
        rounds: names of the rounds, in order.
    """

    @property
    def rounds(self) -> Sequence[str]: ...

    def begin_round(self, name: str) -> None:
        """Prepare a round: start what hosts need that are restarted in it."""
        ...

    def reconfigure(self, host: ServiceHost) -> None:
        """Give a host, which is stopped, the configuration of the round."""
        ...

    def takes_part(self, host: ServiceHost) -> bool:
        """Return whether a host is restarted in the rounds."""
        ...

    def end_round(self, name: str) -> str:
        """Wait until a round had its effect, once all hosts were restarted in it; return evidence.

        Raises:
            ServiceError: it did not have it in time.
        """
        ...
