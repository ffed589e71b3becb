"""The settings of one client: what the scenario gives for its role, with its own numbers in them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from chaoskit.contract.workloads.workload import CONSUMER, PRODUCER, Task


def settings_of(task: Task, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of a client; in strings, `{producer}` or `{consumer}` and `{incarnation}` are replaced.

    >>> settings_of(Task(CONSUMER, 2), {"group.instance.id": "member-{consumer}", "check.crcs": True})
    {'group.instance.id': 'member-2', 'check.crcs': True}
    """
    own = task.role if task.role in (PRODUCER, CONSUMER) else ""
    numbers = {f"{{{own}}}": str(task.index), "{incarnation}": str(task.incarnation)}

    def filled(value: Any) -> Any:
        if isinstance(value, str):
            for name, number in numbers.items():
                value = value.replace(name, number)
        return value

    return {key: filled(value) for key, value in given.items()}
