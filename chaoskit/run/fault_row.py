"""The row of a fault in the history, filled in step by step."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from chaoskit.history.format.audits import Place
from chaoskit.scenario.timeline import PlannedFault


class FaultRow:
    """The row of one fault.

    Attributes:
        index: its number.
        content: the columns so far.
    """

    def __init__(self, index: int, fault: PlannedFault, start_ns: int) -> None:
        self.index = index
        self.content: dict[str, Any] = {
            "fault": index,
            "kind": fault.kind,
            "targets": [],
            "parameters": json.dumps({"on": fault.on, "for_ns": fault.for_ns, **fault.parameters}),
            "start_ns": start_ns,
            "effective_ns": None,
            "heal_ns": None,
            "healed_ns": None,
            "evidence": "",
        }

    def damaged(self, partitions: Sequence[Place]) -> None:
        """Add the partitions that it damaged, and nothing else, to its parameters."""
        if partitions:
            parameters = json.loads(self.content["parameters"])
            self.content["parameters"] = json.dumps({**parameters, "damaged": sorted(set(partitions))})

    def say(self, text: str) -> None:
        """Add to the evidence."""
        self.content["evidence"] = "; ".join(filter(None, [self.content["evidence"], text]))
