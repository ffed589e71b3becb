"""Which fault, where, when: drawn once from the seed before the start, recorded as it happened.

A planned fault names its targets as the scenario does. Fixed hosts are drawn here, so that the same
seed gives the same hosts; roles (`leader`, ...) are looked up live, when the fault begins.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from chaoskit.errors import BadInput, nearest
from chaoskit.quantities import SECOND, format_duration
from chaoskit.scenario import FaultSpec

COUNTED = ("one", "minority", "majority", "all")
"""Targets that mean a number of hosts."""

DEFAULT_DURATION = 5 * SECOND
"""How long a fault holds when a scenario does not say."""


@dataclass(frozen=True, slots=True)
class PlannedFault:
    """One fault of a run.

    Attributes:
        at_ns: when it begins, ns since the start of the load.
        kind: entry point of the nemesis.
        on: host names and roles.
        spare: further hosts, in the order drawn, that stand in for those of `on` that are under a fault.
        for_ns: how long it holds; None for one that is over at once.
        parameters: further keys.
        pick: number in [0, 1) that chooses among the holders of a role.
    """

    at_ns: int
    kind: str
    on: tuple[str, ...]
    for_ns: int | None
    parameters: Mapping[str, Any] = field(default_factory=dict)
    pick: float = 0.0
    spare: tuple[str, ...] = ()

    def as_spec(self, hosts: Sequence[str]) -> dict[str, Any]:
        """Return it as an entry of `faults:` that repeats it: roles stay roles, drawn hosts are named."""
        on = list(hosts) if self.spare else list(self.on)
        entry: dict[str, Any] = {"at": format_duration(self.at_ns), "inject": self.kind, "on": on}
        if self.for_ns is not None:
            entry["for"] = format_duration(self.for_ns)
        return {**entry, **self.parameters, "hit": list(hosts), "pick": self.pick}


def draw(
    specs: Sequence[FaultSpec], seed: int, hosts: Sequence[str], lasts: Callable[[str], bool]
) -> list[PlannedFault]:
    """Return all faults of a run in order of time; the same for the same seed.

    Args:
        specs: as in the scenario, validated by `check_targets`.
        seed: of the run.
        hosts: names of the hosts that faults may hit.
        lasts: whether a kind of fault holds for a time.
    """
    drawn = []
    for index, spec in enumerate(specs):
        source = random.Random(f"{seed}/{index}")  # noqa: S311  # reproducible, not secret
        kinds = [spec.inject] if isinstance(spec.inject, str) else spec.inject
        parameters = dict(spec.model_extra or {})
        for at_ns in instants(spec):
            kind = source.choice(kinds)
            on, spare = _draw_hosts(as_list(spec.on), hosts, source)
            for_ns = _duration(spec) if lasts(kind) else None
            pick = source.random()
            drawn.append(
                PlannedFault(at_ns, kind, on, for_ns, parameters, pick if spec.pick is None else spec.pick, spare)
            )
    return sorted(drawn, key=lambda fault: fault.at_ns)


def check_targets(
    spec: FaultSpec, key: str, hosts: Sequence[str], roles: Sequence[str], partitions: Sequence[str]
) -> None:
    """Refuse targets that cannot exist.

    Args:
        spec: the fault.
        key: where it stands, for errors.
        hosts: names of the hosts.
        roles: that the system knows.
        partitions: of the workload, as `topic/partition`.

    Raises:
        BadInput: naming the key and what there is.
    """
    known = [*hosts, *COUNTED, *roles]
    for target in as_list(spec.on):
        name, colon, partition = target.partition(":")
        if name not in known or (colon and name not in roles):
            raise BadInput(f"{key}.on: there is no host or role {target!r}; {nearest(name, known)}")
        if colon and partition not in partitions:
            raise BadInput(f"{key}.on: there is no partition {partition!r}; {nearest(partition, partitions)}")


def instants(spec: FaultSpec) -> list[int]:
    """Return when a fault begins, each time, ns since the start of the load."""
    if spec.at is not None:
        return [spec.at]
    assert spec.start is not None
    assert spec.to is not None
    assert spec.every is not None
    return list(range(spec.start, spec.to, spec.every))


def as_list(value: str | list[str]) -> list[str]:
    """Return one or several names as a list."""
    return [value] if isinstance(value, str) else value


def _duration(spec: FaultSpec) -> int:
    return DEFAULT_DURATION if spec.duration is None else spec.duration


def _draw_hosts(
    targets: Sequence[str], hosts: Sequence[str], source: random.Random
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the hosts and roles to hit, counted targets drawn, and the hosts that the draws left over.

    Beside a role none is left over: what a timeline names must tell drawn hosts from roles.
    """
    on: list[str] = []
    spare: list[str] = []
    majority = len(hosts) // 2 + 1
    counts = {"one": 1, "minority": max(1, len(hosts) - majority), "majority": majority, "all": len(hosts)}
    for target in targets:
        if target in counts:
            drawn = source.sample(list(hosts), len(hosts))
            on += sorted(drawn[: counts[target]])
            spare += drawn[counts[target] :]
        else:
            on.append(target)
    fixed = set(on) <= set(hosts)
    return tuple(on), tuple(spare) if fixed else ()
