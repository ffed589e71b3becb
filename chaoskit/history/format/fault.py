"""A fault, as it is recorded: from its beginning, step by step, until it is proved healed."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from chaoskit.base.reading import shaped
from chaoskit.model.place import Place

_ON, _FOR, _DAMAGED, _DELETED, _RESET = "on", "for_ns", "damaged", "deleted", "reset"
"""Keys of the column `parameters` that are not the nemesis's own."""


@dataclass(slots=True)
class Fault:
    """One fault of a run. Times are ns since the start of the run.

    Attributes:
        number: its number in the run.
        kind: kind of the fault.
        start_ns: when it began.
        on: what the scenario names as its targets.
        for_ns: how long it was to last; None: it does not last.
        parameters: the nemesis's own keys, as in the scenario.
        targets: names of the hosts or clients that it hit; empty if it never began.
        damaged: the partitions, by the workload's names, that it damaged, if it damaged nothing else.
        deleted: what it had deleted on purpose: before which position of each partition, by the workload's names.
        reset: where it had a group go on on purpose, for each partition, by the workload's names: instead of which
            position, at which one.
        effective_ns: when its effect was proved; None if it was not.
        heal_ns: when it began to be undone.
        healed_ns: when it was proved healed; None if it was not.
        evidence: what was measured.
    """

    number: int
    kind: str
    start_ns: int
    on: tuple[str, ...] = ()
    for_ns: int | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict)
    targets: tuple[str, ...] = ()
    damaged: tuple[Place, ...] = ()
    deleted: Mapping[Place, int] = field(default_factory=dict)
    reset: Mapping[Place, tuple[int, int]] = field(default_factory=dict)
    effective_ns: int | None = None
    heal_ns: int | None = None
    healed_ns: int | None = None
    evidence: str = ""

    @classmethod
    def read(cls, row: Mapping[str, Any]) -> Fault:
        """Return the fault of a row of schema FAULTS.

        Raises:
            ValueError: its parameters are damaged.
        """
        own = shaped(json.loads(row["parameters"]), dict[str, Any])
        on = shaped(own.pop(_ON, ()), str | tuple[str, ...])
        return cls(
            number=row["fault"],
            kind=row["kind"],
            start_ns=row["start_ns"],
            on=(on,) if isinstance(on, str) else on,
            for_ns=own.pop(_FOR, None),
            damaged=shaped(own.pop(_DAMAGED, ()), tuple[Place, ...]),
            deleted={
                (topic, number): before
                for topic, number, before in shaped(own.pop(_DELETED, ()), tuple[tuple[str, int, int], ...])
            },
            reset={
                (topic, number): (before, after)
                for topic, number, before, after in shaped(own.pop(_RESET, ()), tuple[tuple[str, int, int, int], ...])
            },
            parameters=own,
            targets=tuple(row["targets"]),
            effective_ns=row["effective_ns"],
            heal_ns=row["heal_ns"],
            healed_ns=row["healed_ns"],
            evidence=row["evidence"],
        )

    def row(self) -> dict[str, Any]:
        """Return it as a row of schema FAULTS."""
        parameters = {_ON: self.on, _FOR: self.for_ns, **self.parameters}
        if self.damaged:
            parameters[_DAMAGED] = sorted(set(self.damaged))
        if self.deleted:
            parameters[_DELETED] = sorted((*place, before) for place, before in self.deleted.items())
        if self.reset:
            parameters[_RESET] = sorted((*place, *move) for place, move in self.reset.items())
        return {
            "fault": self.number,
            "kind": self.kind,
            "targets": list(self.targets),
            "parameters": json.dumps(parameters),
            "start_ns": self.start_ns,
            "effective_ns": self.effective_ns,
            "heal_ns": self.heal_ns,
            "healed_ns": self.healed_ns,
            "evidence": self.evidence,
        }

    def say(self, text: str) -> None:
        """Add to the evidence."""
        self.evidence = "; ".join(filter(None, [self.evidence, text]))
