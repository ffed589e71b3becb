"""Drivers of the OpenMessaging Benchmark (OMB): its configuration files of a system, in a scenario's words."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

from chaoskit.base.errors import BadInput, nearest


@dataclass(frozen=True, slots=True)
class Driven:
    """What a driver's file says.

    Attributes:
        attach: `cluster.attach`: where the system runs.
        cluster: further keys of `cluster`.
        workload: keys of `workload`, such as `producer` and `consumer`.
        hosts: the least number of hosts of a lab.
        lab: further keys of `cluster` of a lab, that make it fit to be measured.
        ignored: what the clients of Python have no counterpart for, each with the reason.
    """

    attach: Mapping[str, Any]
    cluster: Mapping[str, Any]
    workload: Mapping[str, Any]
    hosts: int
    lab: Mapping[str, Any]
    ignored: tuple[str, ...] = field(default=())


def check_keys(system: str, given: Mapping[str, Any], known: Collection[str], prefix: str = "") -> None:
    """Reject keys that OMB's driver of a system does not have.

    Raises:
        BadInput: names the first one, and what may have been meant.
    """
    for key in given:
        if key not in known:
            raise BadInput(f"{prefix}{key}: OMB's driver of {system} has no such key; {nearest(key, known)}")


@runtime_checkable
class Benchmarked(Protocol):
    """Optional power of a system: run what a driver of OMB describes.

    Attributes:
        driver_class: the driver's `driverClass`, without its package.
    """

    @property
    def driver_class(self) -> str: ...

    def driven(self, content: Mapping[str, Any], *, java: bool) -> Driven:
        """Translate a driver's file, for the system's own (Java) client or for that of Python programs.

        Raises:
            BadInput: names the key and the remedy, without the file.
        """
        ...
