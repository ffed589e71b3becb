"""Which faults hold on which targets, and what each occupies there.

Two faults that share no part of a target may hold on it at once. A host without power holds nothing new.
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from chaoskit.base.errors import ChaoskitError
from chaoskit.contract.faults.nemesis import Nemesis, OnDisk
from chaoskit.contract.faults.part import HostPart
from chaoskit.scenario.timeline import PlannedFault


@dataclass(frozen=True, slots=True)
class Claim:
    """What a fault wants of each of its targets.

    Attributes:
        index: number of the fault.
        kind: its kind.
        parts: the parts that it occupies.
        disk: the data disk, if it occupies one by name; empty for every disk.
        renews: whether it can be made again after a boot.
    """

    index: int
    kind: str
    parts: frozenset[HostPart]
    disk: str = ""
    renews: bool = True

    @classmethod
    def of(cls, number: int, kind: str, nemesis: Nemesis, parameters: Any) -> Claim:
        """Return what a fault with these validated parameters wants."""
        disk = parameters.disk if isinstance(parameters, OnDisk) else ""
        return cls(number, kind, frozenset(nemesis.occupies(parameters)), disk, nemesis.renews)

    def __str__(self) -> str:
        return f"{self.kind} (fault {self.index})"

    def shared(self, other: Claim) -> list[str]:
        """Return the parts that another fault wants, too."""
        both = set(self.parts & other.parts)
        if self.disk and other.disk and self.disk != other.disk:
            both.discard(HostPart.DISK)
        for one, beneath in ((self, other), (other, self)):
            if HostPart.POWER in one.parts and not beneath.renews:
                both.add(HostPart.POWER)
        return [str(part) for part in HostPart if part in both]


class Occupancy:
    """The claims on hosts and clients; safe for use by the threads of all faults.

    Args:
        hosts: the names of the hosts; only these count for limits.
    """

    def __init__(self, hosts: Collection[str]) -> None:
        self._hosts = frozenset(hosts)
        self._lock = threading.Lock()
        self._claims: dict[str, dict[int, Claim]] = {}
        self._waiting: set[int] = set()

    def take(self, claim: Claim, fault: PlannedFault, wanted: Sequence[str], dark: Collection[str]) -> list[str]:
        """Claim the targets of a fault, or those of its spare ones that are free; return them.

        Args:
            claim: what it occupies.
            fault: the fault; with a limit it gets all of its targets, or none.
            wanted: names of its targets.
            dark: names of hosts without power.

        Raises:
            ChaoskitError: no target is free, and the fault does not wait.
        """
        distinct = list(dict.fromkeys(wanted))
        with self._lock:
            refused = {name: self._refusal(name, claim, fault, dark) for name in (*distinct, *fault.spare)}
            chosen = [name for name, why in refused.items() if not why][: len(distinct)]
            if fault.at_most is None and not chosen:
                raise ChaoskitError(f"already under a fault: {'; '.join(refused[name] for name in distinct)}")
            if fault.at_most is not None and (
                len(chosen) < len(distinct) or not self._within(fault.at_most, self._hosts.intersection(chosen))
            ):
                return []
            for name in chosen:
                self._claims.setdefault(name, {})[claim.index] = claim
        return chosen

    def release(self, index: int) -> None:
        """Drop the claims of a fault that is over."""
        with self._lock:
            self._waiting.discard(index)
            for claims in self._claims.values():
                claims.pop(index, None)

    def is_its_turn(self, index: int) -> bool:
        """Return whether a fault that waits for the others on its targets to end may go on: none holds any more, or all
        of them wait, too, and it was the first."""
        with self._lock:
            self._waiting.add(index)
            claims = [claim for claim in self._claims.values() if index in claim]
            others = {other for claim in claims for other in claim if other != index}
            return all(other in self._waiting and index < other for other in others)

    def has_room(self, at_most: int | None) -> bool:
        """Return whether a fault on one more host stays within the limit."""
        with self._lock:
            return at_most is None or self._within(at_most, {""})

    def beside(self, name: str, index: int) -> Mapping[str, Collection[HostPart]]:
        """Return the other faults that hold on a target now, each with the parts that it occupies."""
        with self._lock:
            claims = [claim for other, claim in self._claims.get(name, {}).items() if other != index]
        return {str(claim): claim.parts for claim in claims}

    def _refusal(self, name: str, claim: Claim, fault: PlannedFault, dark: Collection[str]) -> str:
        """Return why a fault may not hit a target now; empty if it may."""
        claims = list(self._claims.get(name, {}).values())
        if name in dark:
            return f"{name} has no power"
        if claims and not fault.overlap:
            return f"{name} (by {claims[0]})"
        for other in claims:
            if shared := claim.shared(other):
                return f"{name} (by {other}, sharing {', '.join(shared)})"
        return ""

    def _within(self, at_most: int, chosen: Collection[str]) -> bool:
        """Return whether a fault on these hosts stays within the limit; a fault on its own may exceed it."""
        busy = {name for name in self._hosts if self._claims.get(name)}
        return not busy or not chosen or len(busy.union(chosen)) <= at_most
