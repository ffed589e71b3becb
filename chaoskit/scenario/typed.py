"""The keys of scenarios as types, for editors and type checkers of those who write scenarios in Python.

The keys of a system, a workload or a kind of fault are its own: they are checked before anything starts, and described
by `chaoskit schema`. So each of these can also be any other mapping.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeAlias, TypedDict


class ClusterKeys(TypedDict, total=False):
    """The keys of `cluster` that all systems share; see `chaoskit.scenario.model.ClusterSpec`."""

    system: str
    version: str
    hosts: int
    seats: int
    zones: Mapping[str, Sequence[str]]
    config: Mapping[str, Any]
    topic: Mapping[str, Any]
    disk: Mapping[str, Any]
    attach: Mapping[str, Any]
    inventory: Mapping[str, Any] | str
    prefix: str
    max_rate: float
    max_bytes: str | int
    provider: str
    ready_within: str
    sync: bool


class WorkloadKeys(TypedDict, total=False):
    """The keys of `workload` that most workloads share; see `chaoskit.scenario.model.WorkloadSpec`."""

    kind: str
    duration: str
    drivers: Sequence[str]
    topics: int
    partitions: int
    replication: int
    producers: int
    consumers: int
    rate: float
    message_size: int | str
    producer: Mapping[str, Any]
    consumer: Mapping[str, Any]


FaultKeys = TypedDict(
    "FaultKeys",
    {
        "inject": str | Mapping[str, Any] | Sequence[str | Mapping[str, Any]],
        "id": str,
        "on": str | Sequence[str],
        "at": str | Sequence[str],
        "for": str | Sequence[str],
        "after": Mapping[str, Any],
        "when": Mapping[str, Any],
        "within": str,
        "from": str,
        "to": str,
        "every": str | Sequence[str],
        "quiet": Sequence[Sequence[str]],
        "at_most": int,
        "overlap": bool,
        "expect": Mapping[str, str],
    },
    total=False,
)
"""The keys that all faults share; see `chaoskit.scenario.model.FaultSpec`."""


class MoreKeys(TypedDict, total=False):
    """The further keys of a scenario; see `chaoskit.scenario.model.Scenario`."""

    name: str
    seed: int
    accept: Sequence[str]
    recovery: str
    stop_when: Mapping[str, Any]
    record: Literal["history", "latency"]


Cluster: TypeAlias = ClusterKeys | Mapping[str, Any]
Workload: TypeAlias = WorkloadKeys | Mapping[str, Any]
Fault: TypeAlias = FaultKeys | Mapping[str, Any]
Expect: TypeAlias = Mapping[str, "int | str"]
"""By anomaly `none`, `some` or a number; by measured time a bound, such as `< 5s`."""
