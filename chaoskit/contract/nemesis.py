"""A nemesis makes one kind of fault, proves that it took effect, undoes it, and proves that too."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, runtime_checkable

from pydantic import BaseModel, ConfigDict

from chaoskit.base.errors import ChaoskitError
from chaoskit.contract.cluster import Cluster, System
from chaoskit.contract.guarantee import Damage
from chaoskit.contract.host import ServiceHost


class NemesisError(ChaoskitError):
    """A fault had no effect, or was not undone; the message is the evidence."""


class NoParameters(BaseModel):
    """The parameters of a nemesis that has none."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class ClientProcess(Protocol):
    """A client of the workload, as a target: a process on the machine of the harness.

    Attributes:
        name: such as `producer-0`; the same for all its incarnations.
        pid: of the incarnation that runs, or ran last.
    """

    name: str

    @property
    def pid(self) -> int: ...

    def running(self) -> bool:
        """Return whether the process lives; one that is stopped does."""
        ...

    def ended(self) -> bool:
        """Return whether it ended as it was told to, since the load is over."""
        ...

    def crash(self) -> None:
        """End the process with SIGKILL; the run takes that as a fault, not as a failure."""
        ...

    def restart(self) -> None:
        """Start the next incarnation, if none runs, and return when it is connected and works."""
        ...

    @property
    def former(self) -> list[int]:
        """Process ids of earlier incarnations that still run."""
        ...

    def start_next(self) -> None:
        """Start the next incarnation beside the one that runs, and return when it is connected and works."""
        ...

    def end_former(self) -> None:
        """End earlier incarnations that still run with SIGKILL; the run takes that as a fault."""
        ...


@dataclass(slots=True)
class Strike:
    """One fault on its targets, from its injection until its healing is proved.

    Attributes:
        name: unique in the run and a valid file name, such as `3-partition`: names what is left on hosts.
        hosts: the targets of a nemesis that hits hosts; at least one.
        clients: those of a nemesis that hits clients; at least one.
        cluster: the system under test.
        parameters: validated.
        seed: for what the nemesis itself draws.
        resolve: looks up live the hosts that a host name, a role (`leader`, `followers:log-0/2`) or `all` means.
        in_system: the name that a topic of the workload has in the system.
        notes: what one step measured for a later one. Lost with the harness: `heal` must do without.
    """

    name: str
    hosts: Sequence[ServiceHost]
    clients: Sequence[ClientProcess]
    cluster: Cluster
    parameters: Any
    seed: int
    resolve: Callable[[str], list[ServiceHost]]
    in_system: Callable[[str], str] = str
    notes: dict[str, Any] = field(default_factory=dict)

    @property
    def names(self) -> str:
        """The names of the targets, for evidence."""
        return ", ".join([*(host.name for host in self.hosts), *(client.name for client in self.clients)])


class Nemesis(Protocol):
    """One kind of fault (entry point group `chaoskit.nemeses`). Stateless: one instance serves all faults.

    A class that inherits from this one has the defaults that are given here.

    Attributes:
        summary: what it does, in one line.
        family: of the catalogue: process, network, disk, clock, client or membership.
        hits: what its targets are.
        parameters: model of its further keys.
        lasts: whether it holds until it is healed; else it ends by itself, and takes no `for`.
        restores: whether a healed deployment is as it was before, so that another trial may use it.
        host_powers: that its targets must have.
        cluster_powers: that the cluster must have.
    """

    summary: str
    family: str
    hits: Literal["hosts", "clients"] = "hosts"
    parameters: type[BaseModel] = NoParameters
    lasts: bool = True
    restores: bool = True
    host_powers: tuple[type, ...] = ()
    cluster_powers: tuple[type, ...] = ()

    def damage(self, parameters: Any) -> Damage:
        """Return what it may do to the data that its targets hold, with these parameters (validated)."""
        return Damage.NONE

    def inject(self, strike: Strike) -> None:
        """Make the fault on all targets at once."""
        ...

    def verify(self, strike: Strike) -> str:
        """Return evidence that it took effect: what was measured.

        Raises:
            NemesisError: it did not.
        """
        ...

    def heal(self, strike: Strike) -> None:
        """Undo it; idempotent, also after an injection that failed half way."""
        ...

    def verify_healed(self, strike: Strike) -> str:
        """Return evidence that it is undone: what was measured.

        Raises:
            NemesisError: it is not.
        """
        ...


@runtime_checkable
class Preparing(Protocol):
    """Optional power: have something fetched before a run starts."""

    def prepare(self, system: System, options: Any, parameters: Any) -> None:
        """Have the system fetch what the fault needs; `options`: the system's, validated.

        Raises:
            BadInput: it cannot be had.
        """
        ...
