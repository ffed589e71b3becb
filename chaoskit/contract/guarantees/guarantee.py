"""Guarantees: which anomalies a system allows under the declared settings, and by which mechanism.

A system defines root rules. Each rule names the mechanisms by which, under which settings, a message may be lost, sent
or given again, and cites its source; the engine derives from the record whether one did take a message. Further
anomalies that follow are in the `implies` of each `Anomaly`. Everything else is not allowed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from chaoskit.contract.guarantees.act import Act, Damage, Messages
from chaoskit.contract.guarantees.mechanism import Mechanism
from chaoskit.contract.guarantees.setting import Setting
from chaoskit.contract.hosts.disk import DATA
from chaoskit.contract.workloads.topic import Topic
from chaoskit.model.place import Place

Trait = TypeVar("Trait")

FOREVER = 2**63 - 1
"""The end of what does not end in a run, ns since its start."""

WAIT_FOR_REPLICAS = "take no replica away while another one is out of sync"
"""A remedy of operators, where no setting helps."""


@dataclass(frozen=True, slots=True)
class Effect:
    """An injected fault, as seen by guarantees. Times are ns since the start of the run.

    Attributes:
        number: its number in the run.
        kind: kind of the fault, for messages only; rules use `damage`.
        targets: names of its targets.
        on_hosts: whether the targets are hosts; otherwise clients.
        on_links: whether it concerns the network, and so the hosts at the other end as well.
        damage: what it may have done to the targets' data, given its parameters.
        start_ns: when it began.
        healed_ns: when it was proved healed; None if it was not.
        ahead_ns: how far it moved the clocks of its targets ahead at most.
        abrupt: whether processes on the targets may have ended without a shutdown.
        delays: whether the targets may have been late for others, or silent; a wrong clock does not delay.
        moves: whether it moved leaders or replicas away from its targets on purpose.
        proved: whether its effect was proved; if it was not, it may have had some all the same.
        partitions: the only partitions that it damaged; empty: whatever its targets store.
        deleted: what it had deleted on purpose: partitions, and before which position of each.
        reset: where it had a group go on on purpose: partitions, and for each instead of which position, at which one.
        acts: what it did; nothing explains what a fault without an act, or damage, did.
        peers: for what it did to links: names of hosts at the other end; `all`, `hosts` or `clients`.
        late_ns: how late packets were at most.
        messages: what it did to single messages of the system's protocol.
        done_ns: when its damage was done: what was written until then may be gone.
        only_since_start: whether its damage takes only what was written since it began, or was not synced then.
    """

    kind: str
    targets: tuple[str, ...]
    on_hosts: bool
    damage: Damage
    start_ns: int
    healed_ns: int | None
    number: int = 0
    partitions: frozenset[Place] = frozenset()
    deleted: frozenset[tuple[Place, int]] = frozenset()
    reset: frozenset[tuple[Place, tuple[int, int]]] = frozenset()
    ahead_ns: int = 0
    on_links: bool = False
    abrupt: bool = False
    delays: bool = True
    moves: bool = False
    proved: bool = True
    acts: Act = Act.NONE
    peers: tuple[str, ...] = ("all",)
    late_ns: int = 0
    messages: Messages | None = None
    done_ns: int | None = None
    only_since_start: bool = False

    @property
    def over_ns(self) -> int:
        """When it was proved healed; `FOREVER` if it was not."""
        return FOREVER if self.healed_ns is None else self.healed_ns

    @property
    def dated(self) -> str:
        """Its kind and when it began, in words."""
        return f"{self.kind} at {self.start_ns / 1e9:.1f} s"

    @property
    def aimed(self) -> str:
        """Its kind, its targets and when it began, in words."""
        return f"{self.kind} of {', '.join(self.targets)} at {self.start_ns / 1e9:.1f} s"


@dataclass(frozen=True, slots=True)
class Declared:
    """The resolved configuration from which guarantees are derived.

    Attributes:
        options: the system's validated options.
        hosts: total number of hosts.
        brokers: number of hosts that store data.
        topics: the workload's topics.
        producer: client settings of the producers.
        consumer: client settings of the consumers.
        traits: the workload's traits; see `chaoskit.contract.workloads.traits`.
        load_ns: duration of the load.
        disks: names of each host's data disks.
    """

    options: Any
    hosts: int
    brokers: int
    topics: tuple[Topic, ...]
    producer: Mapping[str, Any]
    consumer: Mapping[str, Any]
    traits: tuple[object, ...] = ()
    load_ns: int = 0
    disks: tuple[str, ...] = (DATA,)

    @property
    def replication(self) -> int:
        """The highest replication factor of the workload's topics; 1 if it has none."""
        return max((topic.replication for topic in self.topics), default=1)

    def get(self, trait: type[Trait]) -> Trait | None:
        """Return the workload's trait of this type, or None."""
        return next((candidate for candidate in self.traits if isinstance(candidate, trait)), None)


@dataclass(frozen=True, slots=True)
class Allowance:
    """Whether, and why, the declared settings allow an anomaly under the faults that took effect.

    Attributes:
        allowed: whether it is allowed.
        why: the reason, naming the settings.
        remedy: the setting to change to prevent it.
        rule: id of the rule that allows it; empty if none does.
    """

    allowed: bool
    why: str
    remedy: str = ""
    rule: str = ""


@dataclass(frozen=True, slots=True)
class Rule:
    """One documented condition under which a system may lose, duplicate or reorder messages.

    Attributes:
        id: `<system>.<what>`, stable once released.
        allows: names of the root anomalies; the anomalies that they imply are allowed, too.
        mechanisms: returns by which mechanisms, under the declared settings; none if these exclude it.
        remedy: the setting to change; empty if none helps.
        source: the system's documentation or code that says so.
        shown: the ready-made scenario that demonstrates it, in the syntax of `chaoskit run`.
        control: the companion scenario whose settings prevent it.
        alone: it does not allow what its anomalies imply.
        known: link to the issue if it is a defect of the system or its client. It then explains findings, but does not
            allow them unless the scenario accepts it (`accept:`).
    """

    id: str
    allows: tuple[str, ...]
    mechanisms: Callable[[Declared], Sequence[Mechanism]]
    remedy: str
    source: str
    shown: str
    control: str
    alone: bool = False
    known: str = ""


@dataclass(frozen=True, slots=True)
class Guarantees:
    """The guarantees of a system.

    Attributes:
        rules: in the order in which they are tried.
        promises: by anomaly, the reason why it must not occur if no rule allows it.
        apart: anomalies that never follow from others in this system: `implies` does not extend to them.
        settings: those of the running system that rules depend on, so that a run is judged by what was in effect.
    """

    rules: Sequence[Rule]
    promises: Callable[[Declared], Mapping[str, str]]
    apart: frozenset[str] = frozenset()
    settings: Sequence[Setting] = ()
