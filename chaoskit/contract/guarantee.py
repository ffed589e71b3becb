"""Guarantees: which anomalies a system allows itself under the declared settings and the faults that took effect.

A system writes root rules. Each says which anomalies may follow from which damage, under which settings, with its
source; what else such an anomaly implies is in the anomaly's own record. Everything else is not allowed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Flag, auto
from typing import Any, TypeVar

from chaoskit.contract.topic import Topic

Trait = TypeVar("Trait")


class Damage(Flag):
    """What a fault may do to the data that a host holds.

    `FORGETS`: what was not fsynced is gone. `DESTROYS`: what was fsynced may be gone, too. `CORRUPTS`: files are
    changed behind the system's back.
    """

    NONE = 0
    FORGETS = auto()
    DESTROYS = auto()
    CORRUPTS = auto()


@dataclass(frozen=True, slots=True)
class Effect:
    """A fault that was begun, as guarantees see it. Times are ns since the start of the run.

    Attributes:
        kind: of the fault, for words; what it did is its damage.
        targets: names of what it hit.
        on_hosts: whether these are hosts; else clients.
        damage: to the data of the targets, with the parameters that the fault had.
        start_ns: when it began.
        healed_ns: when it was proved healed; None: it was not.
    """

    kind: str
    targets: tuple[str, ...]
    on_hosts: bool
    damage: Damage
    start_ns: int
    healed_ns: int | None


@dataclass(frozen=True, slots=True)
class Declared:
    """The resolved configuration that the guarantees are derived from.

    Attributes:
        options: the system's validated options.
        hosts: number of all hosts.
        brokers: number of hosts that keep data.
        topics: of the workload.
        producer: client settings of the producers.
        consumer: client settings of the consumers.
        traits: of the workload; see `chaoskit.contract.traits`.
    """

    options: Any
    hosts: int
    brokers: int
    topics: tuple[Topic, ...]
    producer: Mapping[str, Any]
    consumer: Mapping[str, Any]
    traits: tuple[object, ...] = ()

    @property
    def replication(self) -> int:
        """The highest replication of the workload's topics; 1 without any."""
        return max((topic.replication for topic in self.topics), default=1)

    def get(self, trait: type[Trait]) -> Trait | None:
        """Return a trait of the workload, if it has it."""
        return next((each for each in self.traits if isinstance(each, trait)), None)


@dataclass(frozen=True, slots=True)
class Allowance:
    """Whether the declared settings allow an anomaly under the faults that took effect, and why.

    Attributes:
        allowed: whether they do.
        why: the settings that say so.
        remedy: which setting to change so that it would no longer be allowed.
        rule: id of the rule that allows it; empty: none does.
    """

    allowed: bool
    why: str
    remedy: str = ""
    rule: str = ""


@dataclass(frozen=True, slots=True)
class Rule:
    """One way in which a system may fail a message.

    Attributes:
        id: `<system>.<what>`, fixed once released.
        allows: the root anomalies, by name; what they imply is allowed, too.
        applies: says why it applies, given the declared settings and the effects; empty: it does not.
        remedy: which setting to change; empty where none helps.
        source: where the system's documentation, or its code, says so.
        shown: the ready-made scenario that shows it, as `chaoskit run` takes it.
        control: the one beside it whose settings prevent it.
    """

    id: str
    allows: tuple[str, ...]
    applies: Callable[[Declared, Sequence[Effect]], str]
    remedy: str
    source: str
    shown: str
    control: str


@dataclass(frozen=True, slots=True)
class Guarantees:
    """What a system promises.

    Attributes:
        rules: in the order in which they are tried.
        promises: says of an anomaly that no rule allows why it must not be, by name.
        apart: anomalies that in this system never come with others: no other one's rule allows them.
    """

    rules: Sequence[Rule]
    promises: Callable[[Declared], Mapping[str, str]]
    apart: frozenset[str] = frozenset()
