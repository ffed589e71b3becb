"""The timeline of faults: drawn from the seed before the start, recorded as it happens.

A planned fault names its targets as the scenario does. Random hosts and clients are drawn here, so that
the same seed gives the same targets; roles (`leader`, ...) are resolved live, when the fault starts.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from chaoskit.base.errors import BadInput, nearest
from chaoskit.base.quantities import MILLISECOND, SECOND, format_duration
from chaoskit.scenario.model import FaultSpec
from chaoskit.scenario.triggers import Trigger
from chaoskit.scenario.zones import Zones, expand

COUNTED = ("one", "minority", "majority", "all")
"""Targets that stand for a number of hosts or clients."""

CLIENT_ROLES = {"producer": "producer", "consumer": "consumer", "producers": "producer", "consumers": "consumer"}
"""Targets that stand for one random client of a role, or for all of them; each with that role."""

_ALL_CLIENTS = ("producers", "consumers")

DEFAULT_DURATION = 5 * SECOND
"""Default duration of a fault."""


@dataclass(frozen=True, slots=True)
class PlannedFault:
    """One fault of a run.

    Attributes:
        at_ns: when it starts, ns since the start of the load.
        kind: entry point of the nemesis.
        on: names of hosts and roles, or of clients.
        spare: further targets, in random order, that replace targets in `on` that are already under a fault.
        for_ns: how long it lasts; None if it is instantaneous.
        parameters: further keys.
        pick: number in [0, 1) that chooses among the holders of a role.
        at_most: maximum number of hosts under faults when it starts; None if it does not wait.
        overlap: whether it may hit a target that is under another fault, if both occupy different parts of it.
        repeats: whether it repeats a fault that happened in a recorded run.
        id: a name by which another fault may wait for it; empty: none does.
        trigger: what it waits for from `at_ns` on; None if it begins then.
        expect: the consequence that it must have; empty: any, or none.
    """

    at_ns: int
    kind: str
    on: tuple[str, ...]
    for_ns: int | None
    parameters: Mapping[str, Any] = field(default_factory=dict)
    pick: float = 0.0
    spare: tuple[str, ...] = ()
    at_most: int | None = None
    overlap: bool = True
    repeats: bool = False
    id: str = ""
    trigger: Trigger | None = None
    expect: str = ""

    @property
    def seed(self) -> int:
        """Seed for the nemesis's own random decisions; the same when the fault is recorded and replayed."""
        return int(self.pick * 2**53)

    def as_spec(self, targets: Sequence[str]) -> dict[str, Any]:
        """Return an entry of `faults:` that repeats it: roles stay roles, drawn targets are named."""
        on = list(targets) if self.spare else list(self.on)
        time = {"at": format_duration(self.at_ns)} if self.trigger is None else self.trigger.as_spec()
        entry: dict[str, Any] = {**time, "inject": self.kind, "on": on}
        if self.id:
            entry["id"] = self.id
        if self.expect:
            entry["expect"] = {"consequence": self.expect}
        if self.for_ns is not None:
            entry["for"] = format_duration(self.for_ns)
        if self.at_most is not None:
            entry["at_most"] = self.at_most
        if not self.overlap:
            entry["overlap"] = False
        return {**entry, **self.parameters, "hit": list(targets), "pick": self.pick}


@dataclass(frozen=True, slots=True)
class Targets:
    """The possible targets: names of hosts and clients, the kinds that target clients or last for a time, and zones.

    `drawn`: the hosts that are drawn where a fault says how many it hits.
    """

    hosts: Sequence[str]
    clients: Sequence[str]
    hits_clients: Callable[[str], bool]
    lasts: Callable[[str], bool]
    zones: Zones = field(default_factory=dict)
    drawn: Sequence[str] = ()

    def pool(self, kind: str) -> Sequence[str]:
        """Return the names that a kind of fault may target."""
        return self.clients if self.hits_clients(kind) else self.drawn or self.hosts

    @property
    def minority(self) -> int:
        """The largest number of hosts that is less than half, but at least one."""
        return max(1, (len(self.drawn or self.hosts) - 1) // 2)


def draw(specs: Sequence[FaultSpec], seed: int, targets: Targets) -> list[PlannedFault]:
    """Return all faults of a run in order of time, then those that wait for something; the same seed gives the same.

    Args:
        specs: as in the scenario, validated by `check_targets`.
        seed: seed of the run.
        targets: the possible targets.
    """
    drawn = []
    for index, spec in enumerate(specs):
        source = random.Random(f"{seed}/{index}")  # noqa: S311  # reproducible, not secret
        choices = spec.choices()
        weights = [choice.weight for choice in choices]
        series, trigger = spec.every is not None, spec.trigger
        at_most = targets.minority if series and spec.at_most is None else spec.at_most
        overlap = not series if spec.overlap is None else spec.overlap
        expect = spec.expect.consequence if spec.expect else ""
        for at_ns in instants(spec, seed, index):
            choice = source.choices(choices, weights)[0]
            kind = choice.kind
            named = expand(as_list(choice.on or spec.on), targets.zones, "on")
            on, spare = _draw_targets(named, targets.pool(kind), source)
            lengths = choice.duration or spec.duration or (DEFAULT_DURATION, DEFAULT_DURATION)
            for_ns = _between(lengths, source) if targets.lasts(kind) else None
            parameters = {**spec.own, **(choice.model_extra or {})}
            drawn_pick = source.random()
            pick = drawn_pick if spec.pick is None else spec.pick
            drawn.append(
                PlannedFault(
                    at_ns, kind, on, for_ns, parameters, pick, spare, at_most, overlap, bool(spec.began), spec.id,
                    trigger, expect,
                )
            )  # fmt: skip
    return sorted(drawn, key=lambda fault: (fault.trigger is not None, fault.at_ns))


def check_targets(
    on: str | list[str], key: str, targets: Sequence[str], roles: Collection[str], partitions: Sequence[str]
) -> None:
    """Reject targets that cannot exist.

    Args:
        on: as in the scenario.
        key: its key, for error messages.
        targets: names of the hosts, or of the clients.
        roles: roles of the system, or of clients.
        partitions: partitions of the workload, as `topic/partition`; empty for clients, and if they are created later.

    Raises:
        BadInput: names the key and the possible targets.
    """
    known = [*targets, *COUNTED, *roles]
    of_clients = roles is CLIENT_ROLES
    for target in as_list(on):
        name, colon, partition = target.partition(":")
        if name not in known or (colon and (name not in roles or not partitions)):
            what = "client" if of_clients else "host or role"
            raise BadInput(f"{key}: there is no {what} {target!r}; {nearest(name, known)}")
        role = CLIENT_ROLES.get(name) if of_clients else None
        if role and not any(target.startswith(role) for target in targets):
            raise BadInput(f"{key}: the workload has no {role}")
        if colon and partition not in partitions:
            raise BadInput(f"{key}: there is no partition {partition!r}; {nearest(partition, partitions)}")


def instants(spec: FaultSpec, seed: int, index: int) -> list[int]:
    """Return when the faults of the spec at `index` start, or begin to wait, ns since the start of the load."""
    source = random.Random(f"{seed}/{index}/times")  # noqa: S311  # as above
    if spec.trigger is not None:
        return [0]
    if spec.at is not None:
        return [_between(spec.at, source)]
    assert spec.start is not None
    assert spec.to is not None
    assert spec.every is not None
    starts_ns = []
    at_ns = spec.start
    while at_ns < spec.to:
        starts_ns.append(at_ns)
        at_ns += _between(spec.every, source)
    return [at_ns for at_ns in starts_ns if not any(start <= at_ns < end for start, end in spec.quiet)]


def as_list(value: str | list[str]) -> list[str]:
    """Return one or several names as a list."""
    return [value] if isinstance(value, str) else value


def _between(bounds: tuple[int, int], source: random.Random) -> int:
    low, high = bounds
    return low if low == high else round(source.uniform(low, high) / MILLISECOND) * MILLISECOND


def _draw_targets(
    targets: Sequence[str], pool: Sequence[str], source: random.Random
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the targets, with counts replaced by drawn names, and the rest of the pool as spares.

    If `on` has a role, there are no spares: the timeline must distinguish drawn hosts from roles.
    """
    on: list[str] = []
    spare: list[str] = []
    for target in targets:
        of_role = [name for name in pool if target in CLIENT_ROLES and name.startswith(CLIENT_ROLES[target])]
        if of_role and target in _ALL_CLIENTS:
            on += of_role
        elif of_role or target in COUNTED:
            candidates = of_role or list(pool)
            majority = len(candidates) // 2 + 1
            counts = {"minority": max(1, len(candidates) - majority), "majority": majority, "all": len(candidates)}
            drawn = source.sample(candidates, len(candidates))
            count = counts.get(target, 1)
            on += sorted(drawn[:count])
            spare += drawn[count:]
        else:
            on.append(target)
    fixed = set(on) <= set(pool)
    return tuple(on), tuple(spare) if fixed else ()
