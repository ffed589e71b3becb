"""What operators do to a running system: optional powers of a service."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

from chaoskit.contract.hosts.host import ServiceHost
from chaoskit.model.place import Place


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

    def shed(self, host: ServiceHost) -> None:
        """Remove all replicas on a host without replacement, so that there is one less of each.

        Raises:
            ServiceError: one of them is the only one, or it took longer than one minute.
        """
        ...

    def refill(self, host: ServiceHost) -> None:
        """Bring back what `drain` or `shed` took from a host, if anything. Raises the same errors as `drain`."""
        ...


@runtime_checkable
class Voting(Protocol):
    """Optional power: change who votes on the cluster's metadata."""

    def voters(self) -> tuple[str, ...]:
        """Return the names of the hosts that vote.

        Raises:
            ServiceError: the system does not tell.
        """
        ...

    def remove_voter(self, host: ServiceHost) -> None:
        """Have the others vote without a host, whose process goes on.

        Raises:
            ServiceError: it does not vote, or the system rejected the request.
        """
        ...

    def add_voter(self, host: ServiceHost) -> None:
        """Have a host vote again, if it does not.

        Raises:
            ServiceError: it was not taken within one minute.
        """
        ...


@runtime_checkable
class GroupOffsets(Protocol):
    """Optional power: set where the workload's group of consumers goes on, while it has no members."""

    def committed(self) -> dict[Place, int]:
        """Return the committed position of each partition, by its name in the system.

        Raises:
            ServiceError: the system does not tell.
        """
        ...

    def aim(self, position: str | int) -> dict[Place, int]:
        """Return what a position is in each partition.

        Args:
            position: `earliest`, `latest`, or by how much, negative: back.

        Raises:
            ServiceError: the system does not tell, as while the group has members.
        """
        ...

    def commit(self, positions: Mapping[Place, int]) -> None:
        """Set the committed positions. Raises the same error as `aim`."""
        ...


@runtime_checkable
class AccessControl(Protocol):
    """Optional power: withdraw what the workload's clients may do with its topics."""

    def withdraw(self, action: str) -> None:
        """Forbid clients to `send` or to `receive`.

        Raises:
            ServiceError: the system rejected the request.
        """
        ...

    def give_back(self, action: str) -> None:
        """Allow it again, if it was withdrawn. Raises the same error as `withdraw`."""
        ...

    def allowed(self, action: str) -> dict[str, bool]:
        """Return whether each topic allows it, by its name in the system, as the system tells a client that asks.

        Raises:
            ServiceError: the system does not tell.
        """
        ...


@runtime_checkable
class ClientQuotas(Protocol):
    """Optional power: limit how much a client may send to, or receive from, each broker."""

    def limit(self, client: str, action: str, rate: int | None) -> None:
        """Limit what a client may do.

        Args:
            client: its name in the workload, such as `producer-0`.
            action: `send` or `receive`.
            rate: bytes per second and broker; None removes the limit.

        Raises:
            ServiceError: the system rejected the request.
        """
        ...

    def throttled(self, client: str, action: str) -> dict[str, int]:
        """Return for how long each broker that answers holds back a client that exceeds its limit now, ms, by name of
        its host; 0 if it does not.

        Raises:
            ServiceError: no broker tells.
        """
        ...


@runtime_checkable
class Certificates(Protocol):
    """Optional power: have the certificates that hosts show to clients expire, and renew them."""

    def expire(self, host: ServiceHost) -> None:
        """Give a host a certificate that has expired. Connections that are there stay.

        Raises:
            ServiceError: the system rejected the request.
        """
        ...

    def renew(self, host: ServiceHost) -> None:
        """Give a host a valid certificate again. Raises the same error as `expire`."""
        ...

    def refusal(self, host: ServiceHost) -> str:
        """Connect to a host as a client; return why its certificate is refused, empty if it is not.

        Raises:
            ServiceError: it cannot be reached.
        """
        ...


@runtime_checkable
class RecordDeletion(Protocol):
    """Optional power: delete the oldest messages of logs."""

    def logs_led_by(self, host: ServiceHost) -> list[Place]:
        """Return the logs of the workload that a host leads, by their names in the system.

        Raises:
            ServiceError: the system does not tell.
        """
        ...

    def bounds(self, places: Sequence[Place]) -> dict[Place, tuple[int, int]]:
        """Return the first position and the end of each of these logs, whoever leads them. Raises the same error."""
        ...

    def delete_before(self, positions: Mapping[Place, int]) -> None:
        """Delete what is before these positions of logs.

        Raises:
            ServiceError: the system rejected the request.
        """
        ...


@runtime_checkable
class PartitionAdding(Protocol):
    """Optional power: add partitions to the topics of the workload."""

    def partitions_known_to(self, host: ServiceHost) -> dict[str, int]:
        """Return how many partitions with a leader each topic has, by its name in the system, as a host tells.

        Raises:
            ServiceError: it does not tell.
        """
        ...

    def add_partitions(self, count: int) -> None:
        """Have each topic have so many partitions from now on.

        Raises:
            ServiceError: the system rejected the request.
        """
        ...


@runtime_checkable
class LogDirectories(Protocol):
    """Optional power: move replicas between the log directories of a broker, which may be on disks of their own."""

    def directories_on(self, host: ServiceHost) -> dict[str, str]:
        """Return the log directory of each replica on a host, by partition as `topic/number`."""
        ...

    def move_between_directories(self, host: ServiceHost) -> None:
        """Move each replica on a host to its next log directory, and wait until it is there.

        Raises:
            ServiceError: the system rejected the request, or it took longer than one minute.
        """
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
