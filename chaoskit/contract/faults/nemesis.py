"""A nemesis injects one kind of fault, proves that it took effect, heals it, and proves the healing."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Protocol, TypeVar, runtime_checkable

from pydantic import BaseModel, ConfigDict

from chaoskit.base.errors import ChaoskitError
from chaoskit.contract.faults.evidence import Evidence
from chaoskit.contract.faults.part import EVERYTHING, HostPart
from chaoskit.contract.guarantees.act import Act, Damage, Messages
from chaoskit.contract.hosts.disk import DATA
from chaoskit.contract.hosts.host import Doubt, PowerSwitch, ServiceHost
from chaoskit.contract.power import optional
from chaoskit.contract.systems.node import Node
from chaoskit.contract.systems.service import Service
from chaoskit.contract.systems.system import System
from chaoskit.model.place import Place

_ANSWER_S = 0.1
"""How long a host with power may take to answer."""


class NemesisError(ChaoskitError):
    """A fault had no effect, or was not healed; the message is the evidence."""


@dataclass(frozen=True, slots=True)
class HostNames:
    """Marks a parameter (in `Annotated`) that names hosts and roles, as a text or as lists of texts.

    The names are checked before a run starts; a zone is replaced by its hosts.

    Attributes:
        also: further names that the nemesis knows.
    """

    also: tuple[str, ...] = ("all",)


class NoParameters(BaseModel):
    """Parameters of a nemesis without parameters."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class OnDisk(BaseModel):
    """Parameters of a nemesis that targets one data disk of each host.

    Attributes:
        disk: name of the disk; see `cluster.disk.disks`.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    disk: str = DATA


State = TypeVar("State")


class ClientProcess(Protocol):
    """A workload client as a target: a process on the harness machine.

    Attributes:
        name: such as `producer-0`; the same for all its incarnations.
        pid: process id of the current, or else the last, incarnation.
    """

    @property
    def name(self) -> str: ...

    @property
    def pid(self) -> int: ...

    def running(self) -> bool:
        """Return whether the process exists; a stopped process does."""
        ...

    def ended(self) -> bool:
        """Return whether it exited as requested at the end of the load."""
        ...

    def crash(self) -> None:
        """Kill the process with SIGKILL; the run treats this as a fault, not as a failure."""
        ...

    def leave(self) -> None:
        """Have it shut down in order and end, as at the end of the load."""
        ...

    def left(self) -> bool:
        """Return whether it has ended in order."""
        ...

    def restart(self) -> None:
        """Start the next incarnation, if none is running, and wait until it is connected and working."""
        ...

    def hang(self) -> None:
        """Have it stand still between two operations, while its library goes on, until `go_on`."""
        ...

    def go_on(self) -> None:
        """Have it go on after `hang`."""
        ...

    def hung(self) -> bool:
        """Return whether it stands still because of `hang`, as it said itself."""
        ...

    @property
    def former(self) -> list[int]:
        """Process ids of earlier incarnations that are still running."""
        ...

    def start_next(self) -> None:
        """Start the next incarnation alongside the current one, and wait until it is connected and working."""
        ...

    def end_former(self) -> None:
        """Kill earlier incarnations that are still running with SIGKILL; the run treats this as a fault."""
        ...


def _alone(_: ServiceHost) -> Mapping[str, Collection[HostPart]]:
    return {}


@dataclass(slots=True)
class Strike:
    """One fault on its targets, from injection until its healing is proved.

    Attributes:
        name: unique in the run and a valid file name, such as `3-partition`; use it for anything created on hosts.
        hosts: the targets of a nemesis that works on hosts; at least one.
        nodes: the targets of a nemesis that targets hosts and needs only their names and addresses, or those of nodes.
        clients: the targets of a nemesis that targets clients; at least one.
        service: the system under test.
        lab: all hosts of the lab: those of the system, and those on which clients run.
        parameters: the validated parameters.
        seed: seed for the nemesis's own random decisions.
        resolve: resolves a host name, a role (`leader`, `followers:log-0/2`) or `all` to hosts, live.
        in_system: maps a workload topic to its name in the system.
        damaged: the partitions, by their names in the system, whose files it damaged, if it damaged nothing else.
        deleted: what it had deleted on purpose: before which position of each log, by their names in the system.
        reset: where it had a group go on on purpose, for each log, by their names in the system: instead of which
            position, at which one.
        doubt: tells the run why the fault may have shown little: its verdict is then at best `unknown`.
        beside: the other faults that hold on a host of the cluster now, such as `partition (fault 3)`, each with what
            it occupies there.
        owed: proofs of its healing that another fault prevents. Each returns evidence, or raises NemesisError; it is
            called when no fault holds any more.
    """

    name: str
    hosts: Sequence[ServiceHost]
    clients: Sequence[ClientProcess]
    service: Service
    lab: Sequence[ServiceHost]
    parameters: Any
    seed: int
    resolve: Callable[[str], list[ServiceHost]]
    nodes: Sequence[Node] = ()
    in_system: Callable[[str], str] = str
    damaged: list[Place] = field(default_factory=list)
    deleted: dict[Place, int] = field(default_factory=dict)
    reset: dict[Place, tuple[int, int]] = field(default_factory=dict)
    doubt: Callable[[Doubt], None] = lambda _: None
    beside: Callable[[ServiceHost], Mapping[str, Collection[HostPart]]] = _alone
    owed: list[Callable[[], str]] = field(default_factory=list)
    _kept: dict[type, Any] = field(default_factory=dict)

    def kept(self, kind: type[State]) -> State:
        """Return what one step keeps for a later one, the same record at each call.

        It is lost if the harness dies, so `heal` must not need it.

        Args:
            kind: the nemesis's own class for it, which is made without arguments.
        """
        state: State = self._kept.setdefault(kind, kind())
        return state

    def on(self, hosts: Sequence[ServiceHost]) -> Strike:
        """Return the same strike on some of its hosts."""
        return replace(self, hosts=hosts)

    def is_dark(self, host: ServiceHost) -> bool:
        """Return whether another fault keeps a host of the cluster without power now."""
        return is_dark(host, self.beside(host))

    @property
    def names(self) -> str:
        """The names of the targets, for evidence strings."""
        hosts, clients = (host.name for host in self.hosts), (client.name for client in self.clients)
        targets = [*(node.name for node in self.nodes), *hosts, *clients]
        return ", ".join(dict.fromkeys(targets))


def is_dark(host: ServiceHost, faults: Mapping[str, Collection[HostPart]]) -> bool:
    """Return whether one of these faults on a host, each with the parts that it occupies, keeps it without power."""
    occupied = any(HostPart.POWER in parts for parts in faults.values())
    return occupied and optional(host, PowerSwitch) is not None and not host.reachable(_ANSWER_S)


class Nemesis(Protocol):
    """One kind of fault (entry point group `chaoskit.nemeses`). Stateless: one instance serves all faults.

    Subclasses inherit the defaults given here.

    Attributes:
        summary: what it does, in one line.
        family: its family in the catalogue: process, network, wire, disk, clock, client or membership.
        hits: type of its targets.
        on_links: whether it concerns the network, and so the hosts at the other end as well.
        does: what it does; explanations of findings are derived from that. If nothing is said, it silences its targets.
        damages_until_healed: whether its damage goes on until it is healed; otherwise it is done when its effect is
            proved.
        delays: whether its targets may be late for others, or silent, while it holds.
        moves: whether it moves leaders or replicas away from its targets on purpose.
        moves_keys: whether messages may go to other partitions afterwards than the workload declared.
        on_hosts: whether it works on the target hosts themselves; otherwise it needs only their names.
        held: whether hosts of others take it: they undo it themselves if the harness dies, and it needs nothing there
            but `tools`.
        tools: programs that it needs on its hosts, besides those of `chaoskit.contract.hosts.switch`.
        parameters: model of its own keys.
        lasts: whether it lasts until it is healed; otherwise it is instantaneous and does not accept `for`.
        abrupt: whether processes on the targets end, or may end, without a shutdown.
        renews: whether it can be made again, see `renew`, after a boot of its host that another fault causes; otherwise
            it does not hold beside a fault that occupies the power.
        restores: whether healing restores the deployment fully, so that another trial may use it.
        before_boot: whether its hosts must be made ready for it before they boot.
        host_powers: powers that its target hosts must have.
        disk_powers: powers that the targeted disk must have; its parameters are then an `OnDisk`.
        service_powers: powers that the cluster must have.
    """

    summary: str
    family: str
    hits: Literal["hosts", "clients"] = "hosts"
    on_links: bool = False
    does: Act = Act.SILENCES
    damages_until_healed: bool = False
    delays: bool = True
    moves: bool = False
    moves_keys: bool = False
    on_hosts: bool = True
    held: bool = False
    tools: tuple[str, ...] = ()
    parameters: type[BaseModel] = NoParameters
    lasts: bool = True
    abrupt: bool = False
    renews: bool = True
    restores: bool = True
    before_boot: bool = False
    host_powers: tuple[type, ...] = ()
    disk_powers: tuple[type, ...] = ()
    service_powers: tuple[type, ...] = ()

    def damage(self, parameters: Any) -> Damage:
        """Return the damage that it may do to the targets' data, with these validated parameters."""
        return Damage.NONE

    def is_abrupt(self, parameters: Any) -> bool:
        """Return whether processes on the targets end, or may end, without a shutdown, with these parameters."""
        return self.abrupt or bool(self.damage(parameters))

    def acts(self, parameters: Any) -> Act:
        """Return what it does, with these validated parameters."""
        return self.does

    def late_ns(self, parameters: Any) -> int:
        """Return how late packets are at most, ns, if it delays them."""
        return 0

    def peers(self, parameters: Any) -> Sequence[str]:
        """Return the other end of the links that it concerns: names of hosts, `all`, `hosts` or `clients`."""
        return getattr(parameters, "peers", ("all",))

    def messages(self, parameters: Any) -> Messages | None:
        """Return what it does to single messages of the system's protocol; None if it does not look at them."""
        return None

    def occupies(self, parameters: Any) -> Collection[HostPart]:
        """Return the parts of each target that it occupies, with these validated parameters.

        Faults that share no part may hold at once on one target, and begin and end in any order. A disk is the one that
        the parameters name, if they are an `OnDisk`.
        """
        return EVERYTHING

    def carriers(self, strike: Strike) -> Sequence[ServiceHost]:
        """Return the hosts that carry something of an injected fault which a boot of the host removes."""
        return strike.hosts

    def struck(self, strike: Strike) -> Sequence[ServiceHost]:
        """Return the hosts that an injected fault hit; a fault that divides the cluster has no targets of its own."""
        return strike.hosts

    def renew(self, strike: Strike, booted: Sequence[ServiceHost]) -> None:
        """Make the fault again on carriers that have booted, because of another fault, while it holds."""
        self.inject(strike.on(booted))

    def ahead_ns(self, parameters: Any, lasted_ns: int) -> int:
        """Return how far it moves the targets' wall clocks ahead at most, with these validated parameters."""
        return 0

    def inject(self, strike: Strike) -> None:
        """Inject the fault on all targets simultaneously."""
        ...

    def verify(self, strike: Strike) -> Evidence:
        """Return evidence, from a measurement, that the fault took effect.

        Raises:
            NemesisError: it did not take effect.
        """
        ...

    def heal(self, strike: Strike) -> None:
        """Undo the fault. Idempotent; also works after an injection that failed half-way."""
        ...

    def verify_healed(self, strike: Strike) -> Evidence:
        """Return evidence, from a measurement, that the fault is healed.

        Raises:
            NemesisError: it is not healed.
        """
        ...


@runtime_checkable
class Preparing(Protocol):
    """Optional power: download something before a run starts."""

    def prepare(self, system: System, options: Any, parameters: Any) -> None:
        """Have the system download what the fault needs; `options` are the system's validated options.

        Raises:
            BadInput: it cannot be obtained.
        """
        ...


@runtime_checkable
class Preceding(Protocol):
    """Optional power: put something on hosts before the system starts there."""

    def precede(self, service: Service, hosts: Sequence[ServiceHost]) -> None:
        """Put it on the hosts that faults of this kind may concern; the system is installed, and not started."""
        ...
